"""Faults in the numbers of rules, and their messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Record = dict[str, Any]
Evaluate = Callable[..., list[Record]]

BOUNDS = {"least": 1.0, "most": 100.0, "plausible_least": 2.0, "plausible_most": 8.0, "is_needed": False}
NUMBER = {"kind": "derivation_rule", "row_key": "a", "row_kind": "overhead", "family": "gpu", "quantity": "value"}
RULE = {"kind": "derivation_rule", "quantity": "value", "row_kind": "*", "of_family": "*"} | BOUNDS


@pytest.mark.parametrize(
    ("value", "rule", "is_possible"),
    [
        (3.0, None, None),
        (9.0, "expected 2.0 to 8.0", True),
        (101.0, "a number from 1.0 to 100.0", False),
        (float("nan"), "a number from 1.0 to 100.0", False),
        (None, None, None),
    ],
)
def test_each_number_by_its_rule(
    value: float | None, rule: str | None, is_possible: bool | None, evaluate: Evaluate
) -> None:
    found = evaluate("rule_fault", rule_number=[NUMBER | {"value": value}], number_rule=[RULE])
    said = [(row["field"], row["rule"], row["is_possible"]) for row in found]
    assert said == ([] if rule is None else [("derivation_rule.a.value", rule, is_possible)])


def test_what_is_needed_and_missing_is_named(evaluate: Evaluate) -> None:
    (row,) = evaluate("rule_fault", rule_number=[NUMBER | {"value": None}], number_rule=[RULE | {"is_needed": True}])
    assert (row["rule"], row["is_possible"]) == ("expected 2.0 to 8.0", True)


def test_the_rule_of_the_rows_kind_comes_first(evaluate: Evaluate) -> None:
    rules = [RULE, RULE | {"row_kind": "overhead", "plausible_most": 20.0}, RULE | {"of_family": "gpu", "most": 9.5}]
    assert evaluate("rule_fault", rule_number=[NUMBER | {"value": 10.0}], number_rule=rules) == []


@pytest.mark.parametrize(
    ("begins", "ends", "faulty"),
    [
        ((0, 192, 768), (192, 768, None), []),
        # The second is offered together with the first for few queries.
        ((0, 0, 768), (192, 768, None), [0, 1]),
        ((0, 10, 768), (192, 768, None), [1]),
        ((0, None, 768), (192, 768, None), [1]),
        # No candidate starts where the first ends.
        ((0, 192, 768), (100, 768, None), [1]),
        ((192, 768, 1000), (768, 1000, None), [0]),
    ],
)
def test_blocks_of_queries_take_over_from_one_another(
    begins: tuple[int | None, ...], ends: tuple[int | None, ...], faulty: list[int], evaluate: Evaluate
) -> None:
    """Other dataflows and families have their own ranges."""
    shape = {"family": "cpu", "dataflow": "query_block"}
    blocks = [
        shape | {"candidate": i, "from_m": begin, "below_m": end}
        for i, (begin, end) in enumerate(zip(begins, ends, strict=True))
    ]
    others = [
        {"family": "cpu", "dataflow": "direct", "candidate": 9, "from_m": 10, "below_m": None},
        {"family": "npu", "dataflow": "query_block", "candidate": 0, "from_m": 0, "below_m": 10},
    ]
    numbers = [
        {"kind": "tiling_strategy", "row_key": f"{row['family']}.{row['candidate']}", "row_kind": "tiles",
         "family": row["family"], "quantity": "from_m", "value": row["from_m"]}
        for row in (*blocks, *others)
    ]  # fmt: skip
    rule = {"kind": "tiling_strategy", "quantity": "from_m", "row_kind": "*", "of_family": "*"}
    rule |= {"least": 0.0, "most": 1e9, "plausible_least": 0.0, "plausible_most": 1e5, "is_needed": False}
    found = evaluate("rule_fault", tiling_strategy=[*blocks, *others], rule_number=numbers, number_rule=[rule])
    assert sorted(row["row_key"] for row in found) == [f"cpu.{i}" for i in faulty]
    assert {(row["rule"], row["is_possible"]) for row in found} <= {
        ("each block of queries begins where another ends", True)
    }
