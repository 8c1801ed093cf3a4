"""The manufacturing cost of a part."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

Evaluate = Callable[..., list[dict[str, Any]]]

RULE: dict[str, Any] = {
    "band": "middle", "yield_cluster": 2.0, "used_mm": 200.0, "scribe_mm": 0.0, "reticle_mm2": 800.0, "join_area_factor": 1.0,
    "wafer_usd": 1000.0, "defect_density": 0.5, "join_yield_fraction": 0.5, "carrier_price": 0.01, "case_usd": 3.0,
    "memory_usd": 40.0, "board_ratio": 0.25,
}  # fmt: skip
BANDS = [RULE, RULE | {"band": "cheap", "memory_usd": 0.0}, RULE | {"band": "dear", "memory_usd": 140.0}]
WAFER = math.pi * 200**2 / 4
"""Area of a wafer within its rim: 31,416 mm2."""


def cost(evaluate: Evaluate, area_mm2: float, die_count: int | None = None, **changed: float) -> dict[str, Any]:
    rules = [band | changed for band in BANDS]
    leaking = [{"area_mm2": area_mm2, "rest_w": 7.0}]
    (found,) = evaluate("part_cost", part_leakage=leaking, hardware=[{"die_count": die_count}], part_cost_rule=rules)
    return found


def test_one_die(evaluate: Evaluate) -> None:
    """400 mm2, sides of 20 mm: 31,416 / 400 - pi * 200 / (20 * sqrt 2) = 78.54 - 22.21 = 56.33 dies. Two defects per die on average: 1 /
    (1 + 2 / 2)^2 = 0.25 are good, 14.08 per wafer, 71.01 USD each. A carrier of 3 + 4 USD; one of two packages is lost with its die: 7
    / 0.5 + 71.01 * (1 / 0.5 - 1) = 85.01. With 40 of memory 196.03, and a quarter of it for the board."""
    found = cost(evaluate, 400.0)
    dice = WAFER / 400 - math.pi * 200 / (20 * math.sqrt(2))
    assert dice == pytest.approx(56.33, abs=0.01)
    assert found["good_dice_per_wafer"] == pytest.approx(dice / 4)
    assert (found["die_count"], found["yield_fraction"], found["rest_w"]) == pytest.approx((1, 0.25, 7))
    assert found["die_usd"] == pytest.approx(71.01, abs=0.01)
    assert found["package_usd"] == pytest.approx(85.01, abs=0.01)
    assert found["board_usd"] == pytest.approx(49.01, abs=0.01)
    assert found["part_usd"] == pytest.approx(245.03, abs=0.02)
    assert found["low_usd"] == pytest.approx(found["part_usd"] - 50) and found["high_usd"] == pytest.approx(
        found["part_usd"] + 125
    )


def test_four_small_dice(evaluate: Evaluate) -> None:
    """Each of 100 mm2 and a tenth more for its links, in lanes of half a millimetre: 0.55 defects per die, 1 / 1.275^2 = 0.615 are good.
    One of 16 packages is good after joining four dies at a half each."""
    found = cost(evaluate, 400.0, 4, join_area_factor=1.1, scribe_mm=0.5)
    side = math.sqrt(110) + 0.5
    dice = WAFER / side**2 - math.pi * 200 / (side * math.sqrt(2))
    assert (found["die_count"], found["die_area_mm2"], found["area_mm2"]) == pytest.approx((4, 110, 400))
    assert found["yield_fraction"] == pytest.approx(1 / 1.275**2)
    assert found["die_usd"] == pytest.approx(4 * 1000 / (dice / 1.275**2))
    assert found["package_usd"] == pytest.approx((3 + 4.4) * 16 + found["die_usd"] * 15)


def test_what_no_scanner_exposes_is_cut(evaluate: Evaluate) -> None:
    """1,600 mm2 take 1,760 with links: three fields of 800 even if the part states two dies; if it states four, four."""
    assert [cost(evaluate, 1600.0, n, join_area_factor=1.1)["die_count"] for n in (None, 2, 4)] == [3, 3, 4]


def test_a_die_that_fits_no_wafer_has_no_cost(evaluate: Evaluate) -> None:
    """Sides of 150 mm on 200."""
    found = cost(evaluate, 22500.0, reticle_mm2=1e6)
    assert found["die_usd"] is None and found["part_usd"] is None
