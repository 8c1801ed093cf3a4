"""`doctor` reports faults of a file and repairs those that it can."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pytest

import charz
from charz.session import Session
from charz.sql import triggers


def wrong(db: Session, **options: bool) -> dict[str, str]:
    """Return the findings that are not well, by name."""
    found = db.doctor(**options).filter(~pl.col("is_well"))
    return dict(found.select("what", "found").iter_rows())


@pytest.mark.slow
def test_the_doctor_names_each_fault_and_mends_what_can_be(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "sick.duckdb"
    path.write_bytes(file.read_bytes())
    with charz.open(path) as db:
        assert wrong(db) == {}
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"INSERT INTO {triggers.WRITING} VALUES (TRUE)")
        connection.execute("UPDATE arithmetic_rate SET clock_hz = 1 WHERE hardware = 't4'")
        connection.execute(f"DELETE FROM {triggers.WRITING}")
        connection.execute("CREATE VIEW mine AS SELECT 1 AS i")
        connection.execute("INSERT INTO operator SELECT * FROM operator WHERE model = 'small' AND operator_id = 1")
    with charz.open(path) as db:
        found = wrong(db)
        assert found["maintained table"].startswith("arithmetic_rate ")
        assert found["foreign object"] == "view main.mine"
        assert found["key"] == "operator 1"
    with charz.open(path, trust=True) as db:
        left = wrong(db, repair=True)
        assert set(left) - {"invariant"} == {"foreign object", "key"}


@pytest.mark.slow
def test_the_doctor_names_what_is_gone_and_puts_it_back(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "gone.duckdb"
    path.write_bytes(file.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute("DROP VIEW model_report; DELETE FROM view_catalog; DELETE FROM maintenance_trigger")
    with charz.open(path) as db:
        assert wrong(db) == {
            "missing object": "view main.model_report, rows of view_catalog, rows of maintenance_trigger"
        }
        assert wrong(db, repair=True) == {}


@pytest.mark.slow
def test_the_doctor_reads_the_catalog_as_the_lints_do(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "linted.duckdb"
    path.write_bytes(file.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE efficiency SET maximum_fraction = 1.5 WHERE efficiency_id = 1")
    with charz.open(path) as db:
        assert "maximum_fraction: 1.5: a share of a peak" in wrong(db)["catalog lint"]
