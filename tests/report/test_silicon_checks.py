"""Silicon rules compared with published values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Evaluate = Callable[..., list[dict[str, Any]]]

DIE: dict[str, Any] = {
    "die": "D1", "die_area_mm2": 120.0, "other_mm2": 20.0, "transistor_count": 6e9, "unit_count": 20.0, "source_id": "s",
    "confidence": "secondary",
}  # fmt: skip


def test_die_check(evaluate: Evaluate) -> None:
    """Ten of twenty units: unit areas count twice, shared areas once. 2 * (20 + 5) + 30 against 100."""
    pieces = [
        {"silicon_piece": "unit.sm", "kind": "logic", "area_mm2": 20.0},
        {"silicon_piece": "memory.l1", "kind": "sram", "area_mm2": 5.0},
        {"silicon_piece": "memory.l2", "kind": "sram", "area_mm2": 10.0},
        {"silicon_piece": "uncore", "kind": "uncore", "area_mm2": 20.0},
    ]
    levels = [{"level": "l1", "scope": "unit"}, {"level": "l2", "scope": "chip"}]
    parts = ("full", "cut")
    rows = evaluate(
        "die_check", die=[DIE | {"hardware": part} for part in parts],
        part_area=[piece | {"hardware": part} for part in parts for piece in pieces],
        part_memory=[level | {"hardware": part} for part in parts for level in levels],
        part_unit=[{"hardware": "full", "unit_count": 20.0, "lanes": 4.0}, {"hardware": "cut", "unit_count": 10.0, "lanes": 4.0}],
    )  # fmt: skip
    found = {row["hardware"]: row for row in rows}
    assert (found["cut"]["printed_mm2"], found["cut"]["ruled_mm2"], found["cut"]["area_ratio"]) == (100.0, 80.0, 0.8)
    assert found["full"]["ruled_mm2"] == 55.0
    assert {part: row["stands_for_die"] for part, row in found.items()} == {"full": True, "cut": False}


@pytest.mark.parametrize(
    ("state", "ruled"),
    # 10 W leak, 8 of clocks at the reference, 2 of memory. At half the reference, 0.75 of the voltage: (10 + 4) *
    # 0.5625 + 2; at the floor 10 * 0.25 + 2; between them without memory 7.875 - 2.5.
    [("rest", 4.5), ("waiting", 9.875), ("clocks", 5.375)],
)
def test_rest_check(evaluate: Evaluate, state: str, ruled: float) -> None:
    (row,) = evaluate(
        "rest_check", rest_power=[{"state": state, "stated_w": 2 * ruled}],
        part_leakage=[{"leakage_w": 10.0, "clocking_w": 8.0, "memory_w": 2.0}],
        part=[{"reference_fraction": 0.5, "voltage_slope": 0.5, "voltage_floor": 0.5, "voltage_ceiling": 1.25, "clock_floor": 0.2}],
    )  # fmt: skip
    assert (row["ruled_w"], row["power_ratio"]) == pytest.approx((ruled, 0.5))


def test_silicon_check(evaluate: Evaluate) -> None:
    """Areas differ by 1.25, transistors per square millimetre 50 against 25 million, a lift of 3, rest powers differ by 1.6."""
    rows = evaluate(
        "silicon_check", die=[DIE | {"other_mm2": 0.0}], hardware=[{"process_nm": 7.0}],
        die_check=[{"printed_mm2": 100.0, "ruled_mm2": 80.0}], rest_check=[{"state": "rest", "stated_w": 16.0, "ruled_w": 10.0}],
        part_silicon=[{"circuit_j": 2e-12}],
        part_energy=[{"what": "op", "key": "fp16.matrix", "value": 1.5e-12, "is_stated": False}],
        part_rule=[
            {"quantity": "logic_mtr_per_mm2", "row_key": "7", "value": 25.0},
            {"quantity": "circuit_ratio", "row_key": "fp16", "value": 0.25},
        ],
    )  # fmt: skip
    factors = {row["quantity"]: (row["factor"], row["is_off"]) for row in rows}
    assert {name: factor for name, (factor, _) in factors.items()} == pytest.approx(
        {"area_mm2": 1.25, "density_mtr_per_mm2": 2.0, "lift": 3.0, "rest.rest": 1.6}
    )
    assert {name for name, (_, is_off) in factors.items() if is_off} == {"density_mtr_per_mm2", "lift", "rest.rest"}
