"""`doctor`: what it finds wrong with a file, and that it mends what can be."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pytest

import charz
from charz.session import Session


def wrong(db: Session, **options: bool) -> dict[str, str]:
    """What is not well, by what it is."""
    found = db.doctor(**options).filter(~pl.col("is_well"))
    return dict(found.select("what", "found").iter_rows())


@pytest.mark.slow
def test_the_doctor_names_each_fault_and_mends_what_can_be(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "sick.duckdb"
    path.write_bytes(file.read_bytes())
    with charz.open(path) as db:
        assert wrong(db) == {}
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE part_rate SET clock_hz = 1 WHERE hardware = 't4'")
        connection.execute("CREATE VIEW mine AS SELECT 1 AS i")
        connection.execute("INSERT INTO operator SELECT * FROM operator WHERE model = 'small' AND operator_id = 1")
    with charz.open(path) as db:
        found = wrong(db)
        assert found["maintained table"].startswith("part_rate ")
        assert found["foreign object"] == "view main.mine"
        assert found["key"] == "operator 1"
    with charz.open(path, trust=True) as db:
        left = wrong(db, repair=True)
        assert set(left) - {"invariant"} == {"foreign object", "key"}
