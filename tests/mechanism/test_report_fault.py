"""Impossible and implausible numbers of rules that only reports use."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

Evaluate = Callable[..., list[dict[str, Any]]]

RANGES = [
    {"kind": "cost_rule", "quantity": quantity, "row_kind": kind, "of_family": "*", "least": 0.0, "most": most,
     "plausible_least": 10.0, "plausible_most": 90.0}
    for quantity in ("value", "cheap_value", "dear_value") for kind, most in (("*", 1000.0), ("share", 50.0))
]  # fmt: skip


def faulty(evaluate: Evaluate, quantity: str, value: float | None) -> list[tuple[Any, ...]]:
    """Return the faults of a rule with one end as given and sound others."""
    row = {"cost_rule": "a", "quantity": quantity, "value": 20.0, "cheap_value": 20.0, "dear_value": value}
    found = evaluate("report_fault", cost_rule=[row], number_rule=RANGES)
    return [(fault["field"], fault["value"], fault["rule"], fault["is_possible"]) for fault in found]


@pytest.mark.parametrize("value", [10.0, 20.0, 90.0])
def test_a_sound_number(evaluate: Evaluate, value: float) -> None:
    assert faulty(evaluate, "wafer_usd", value) == []


@pytest.mark.parametrize("value", [0.0, 9.0, 91.0, 1000.0])
def test_a_number_that_hardly_can_be(evaluate: Evaluate, value: float) -> None:
    assert faulty(evaluate, "wafer_usd", value) == [("cost_rule.a.dear_value", value, "expected 10.0 to 90.0", True)]


@pytest.mark.parametrize("value", [-1.0, 1001.0, math.inf, None])
def test_a_number_that_cannot_be(evaluate: Evaluate, value: float | None) -> None:
    ((field, found, rule, is_possible),) = faulty(evaluate, "wafer_usd", value)
    assert (field, found, is_possible) == ("cost_rule.a.dear_value", value, False)
    assert rule == ("a number from 0.0 to 1000.0" if value is not None else "expected 10.0 to 90.0")


def test_the_range_of_its_quantity_goes_before_the_others(evaluate: Evaluate) -> None:
    assert faulty(evaluate, "share", 60.0) == [("cost_rule.a.dear_value", 60.0, "a number from 0.0 to 50.0", False)]
