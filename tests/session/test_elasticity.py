"""The effect of doubling a number equals the answer of a design space with that number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from charz.schema.errors import CharzError
from charz.session import Messages, Session


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def db(file: Path, said: list[str]) -> Iterator[Session]:
    with Session(file, messages=Messages(remark=said.append)) as session:
        yield session


RATIOS = {
    "time_ratio": "latency_s", "energy_ratio": "energy_j", "area_ratio": "area_mm2", "rest_ratio": "rest_w", "usd_ratio": "part_usd",
}  # fmt: skip


def rows(db: Session, **asked: Any) -> dict[str, dict[str, Any]]:
    return {row["number"]: row for row in db.elasticity("small", on="t4", batch=8, **asked).to_dicts()}


@pytest.mark.parametrize(
    ("number", "vary"),
    [("units", "units=40,80"), ("memory.dram.bandwidth_byte_per_s", "dram=320GB/s,640GB/s")],
)
def test_a_ratio_is_that_of_two_points(number: str, vary: str, db: Session) -> None:
    """Twice the 40 units of a T4, and twice its 320 GB/s."""
    found = rows(db)[number]
    points = db.explore(base="t4", vary=vary, models="small", batch=8, every_point=True).to_dicts()
    before, after = sorted(points, key=lambda point: point["point"])
    assert found["doubled_value"] == 2 * found["value"]
    for ratio, column in RATIOS.items():
        assert found[ratio] == pytest.approx(after[column] / before[column], rel=1e-9), ratio


@pytest.mark.parametrize(("side", "size"), [("array_rows", "256x128"), ("array_columns", "128x256")])
def test_an_array_twice_as_large_is_that_of_a_design_space(side: str, size: str, db: Session) -> None:
    """The TPU v4's array of 128 x 128 with twice its rows or columns; peaks follow, and the area of its units grows."""
    found = {row["number"]: row for row in db.elasticity("small", on="tpu_v4", batch=8).to_dicts()}[f"cluster.mxu.{side}"]
    assert (found["value"], found["doubled_value"], found["unit"]) == (128, 256, "")
    points = db.explore(base="tpu_v4", vary=f"array=128x128,{size}", models="small", batch=8, every_point=True).to_dicts()
    before, after = sorted(points, key=lambda point: point["array"] != "128x128")
    for ratio, column in RATIOS.items():
        assert found[ratio] == pytest.approx(after[column] / before[column], rel=1e-9), ratio
    assert found["area_ratio"] > 1.2


def test_every_kind_of_number_is_asked_and_sorted_by_time(db: Session, said: list[str]) -> None:
    found = rows(db)
    assert {"units", "clock", "memory.l2.capacity_byte", "memory.dram.capacity_byte", "power.default.tdp_w"} <= set(
        found
    )
    assert {name.split(".")[0] for name in found} >= {"units", "clock", "memory", "peak", "power", "interconnect"}
    times = [row["time_ratio"] for row in found.values()]
    assert times == sorted(times)
    assert said[-1].startswith(f"twice {next(iter(found))} takes ") or said[-1].startswith("no doubled number")


def test_without_limits_nothing_is_slower_for_having_more(db: Session) -> None:
    found = rows(db, unlimited=True)
    assert "power.default.tdp_w" not in found
    assert max(row["time_ratio"] for row in found.values()) <= 1 + 1e-9
    assert min(row["time_ratio"] for row in found.values()) < 0.999
    assert max(row["area_ratio"] for row in found.values()) > 1.5


def test_a_memory_costs_dollars_and_watts_alone(db: Session) -> None:
    """16 GiB more of GDDR6 change no area, and no time without a power limit."""
    found = rows(db, unlimited=True)["memory.dram.capacity_byte"]
    assert (found["time_ratio"], found["area_ratio"]) == pytest.approx((1, 1))
    assert found["usd_ratio"] > 1.2 and found["rest_ratio"] > 1.1


def test_a_part_that_is_not_there(db: Session) -> None:
    with pytest.raises(CharzError, match="unknown part"):
        db.elasticity("small", on="nopart")
    with pytest.raises(CharzError, match="unknown model"):
        db.elasticity("nomodel", on="t4")
