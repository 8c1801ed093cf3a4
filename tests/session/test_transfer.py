"""Transfer of the input over the host's link as a condition."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import charz
from charz.schema.errors import CharzError
from charz.session import Session

ASKED = {"batch": 8, "precision": "fp32", "backend": "eager"}


@pytest.fixture(scope="module")
def db(file: Path) -> Iterator[Session]:
    with charz.open(file) as session:
        yield session


def test_inputs_come_over_the_link_before_a_run(db: Session) -> None:
    """The time is the link's latency and the bytes over its bandwidth: inputs of the generated network are 640 fp32 elements a
    sample."""
    ((count,),) = (
        db.connection().execute("SELECT count(*) FROM tensor WHERE model = 'small' AND role = 'input'").fetchall()
    )
    query = "SELECT link_byte_per_s, link_s FROM part_link WHERE hardware = 't4' AND interconnect = 'pcie'"
    ((byte_per_s, link_s),) = db.connection().execute(query).fetchall()
    (plain,) = db.report("small", on="t4", **ASKED).to_dicts()
    (moved,) = db.report("small", on="t4", **ASKED, include_transfer=True).to_dicts()
    assert count > 0
    assert moved["latency_s"] - plain["latency_s"] == pytest.approx(link_s + count * 8 * 640 * 4 / byte_per_s, rel=1e-6)
    assert moved["overhead_s"] > plain["overhead_s"]


def test_a_processor_has_its_inputs(db: Session) -> None:
    plain, moved = (db.compare("small", on="i7_13700k", **ASKED, include_transfer=is_so) for is_so in (False, True))
    assert moved["latency_s"].to_list() == pytest.approx(plain["latency_s"].to_list(), rel=1e-12)


@pytest.mark.parametrize("section", ["run", "price", "saturation"])
def test_a_part_without_a_link_is_left_out(db: Session, section: Any) -> None:
    with pytest.warns(UserWarning, match="left out: kpu_t64, which state no link to the host"):
        found = db.compare("small", on="kpu_t64,t4", batch=8, include_transfer=True, section=section)
    assert set(found["hardware"]) == {"t4"}
    with pytest.raises(CharzError, match="no link to the host is stated: kpu_t64"):
        db.compare("small", on="kpu_t64", batch=8, include_transfer=True, section=section)


def test_a_stored_scenario_says_so(db: Session) -> None:
    fractions = db.sql("SELECT DISTINCT input_host_fraction FROM model_cost WHERE model = 'small' AND hardware = 't4'")
    assert fractions["input_host_fraction"].to_list() == [0.0]
