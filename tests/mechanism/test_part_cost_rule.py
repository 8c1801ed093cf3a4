"""The cost rules of a part."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from typing import Any

import pytest

from charz.hardware_catalog import loader

Evaluate = Callable[..., list[dict[str, Any]]]


def rule(quantity: str, key: str, value: float, cheap: float, dear: float) -> dict[str, Any]:
    return {
        "cost_rule": f"{quantity}.{key}", "quantity": quantity, "row_key": key, "value": value, "cheap_value": cheap,
        "dear_value": dear,
    }  # fmt: skip


RULES = [
    rule("wafer_usd", "16", 4000.0, 3000.0, 5000.0), rule("wafer_usd", "10", 6000.0, 5000.0, 7000.0),
    rule("defect_per_cm2", "16", 0.1, 0.05, 0.2), rule("yield_cluster", "*", 10.0, 3.0, 20.0),
    rule("wafer_mm", "*", 300.0, 300.0, 300.0), rule("edge_loss_mm", "*", 5.0, 3.0, 5.0),
    rule("join_yield_fraction", "*", 0.99, 1.0, 0.98), rule("join_yield_fraction", "HBM3", 0.95, 0.97, 0.9),
    rule("memory_usd_per_gbyte", "*", 0.0, 0.0, 0.0), rule("memory_usd_per_gbyte", "HBM3", 15.0, 10.0, 20.0),
]  # fmt: skip


NUMBER = {
    "kind": "cost_rule", "row_kind": "*", "of_family": "*", "least": 0.0, "most": 1e30, "plausible_least": 0.01, "plausible_most": 9e4,
}  # fmt: skip
"""Range of all three numbers of a rule."""


def resolved(evaluate: Evaluate, process_nm: float, technology: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    memory = [{"level": "dram", "technology": technology, "capacity_byte": 8e9}, {"level": "l2", "technology": "SRAM"}]
    ranges = [NUMBER | {"quantity": quantity} for quantity in ("value", "cheap_value", "dear_value")]
    found = evaluate(
        "part_cost_rule", part_silicon=[{"process_nm": process_nm}], part_memory=memory, cost_rule=rules, number_rule=ranges
    )
    return {row["band"]: row for row in found}


def test_rules_of_a_part(evaluate: Evaluate) -> None:
    """13 nm is as near to 16 as to 10: the finer is taken, and the only one of defects. 8 GB of HBM3 at 10, 15 and 20 USD."""
    found = resolved(evaluate, 13.0, "HBM3", RULES)
    assert [found[band]["wafer_usd"] for band in ("cheap", "middle", "dear")] == [5000, 6000, 7000]
    assert [found[band]["memory_usd"] for band in ("cheap", "middle", "dear")] == [80, 120, 160]
    assert [found[band]["used_mm"] for band in ("cheap", "middle", "dear")] == [294, 290, 290]
    assert (found["middle"]["join_yield_fraction"], found["middle"]["defect_density"]) == (0.95, 0.1)
    host = resolved(evaluate, 16.0, "DDR5", RULES)["middle"]
    assert (host["memory_usd"], host["wafer_usd"], host["join_yield_fraction"]) == (0, 4000, 0.99)


def test_rules_of_every_part_and_of_a_technology(evaluate: Evaluate) -> None:
    """Each rule by its name; a carrier of HBM3 is dearer than others."""
    usual = {
        "yield_cluster": 10.0, "scribe_mm": 0.1, "reticle_mm2": 800.0, "join_area_factor": 1.1, "package_usd": 3.0,
        "package_usd_per_mm2": 0.02, "board_ratio": 0.2, "join_yield_fraction": 0.99,
    }  # fmt: skip
    rules = [rule(quantity, "*", value, value, value) for quantity, value in usual.items()]
    rules += [rule("package_usd_per_mm2", "HBM3", 0.4, 0.4, 0.4), *RULES[:3]]
    found = resolved(evaluate, 16.0, "DDR5", rules)["middle"]
    columns = {
        "yield_cluster": "yield_cluster", "scribe_mm": "scribe_mm", "reticle_mm2": "reticle_mm2", "package_usd": "case_usd",
        "join_area_factor": "join_area_factor", "package_usd_per_mm2": "carrier_price", "board_ratio": "board_ratio",
        "join_yield_fraction": "join_yield_fraction",
    }  # fmt: skip
    assert {name: found[column] for name, column in columns.items()} == usual
    assert resolved(evaluate, 16.0, "HBM3", rules)["middle"]["carrier_price"] == 0.4


def test_each_part_pays_for_its_own_memory(evaluate: Evaluate) -> None:
    """One part with 8 GB of HBM3 at 15 USD, and one without."""
    ranges = [NUMBER | {"quantity": quantity} for quantity in ("value", "cheap_value", "dear_value")]
    found = evaluate(
        "part_cost_rule", part_silicon=[{"hardware": "a", "process_nm": 16.0}, {"hardware": "b", "process_nm": 16.0}],
        part_memory=[{"hardware": "a", "level": "dram", "technology": "HBM3", "capacity_byte": 8e9}], cost_rule=RULES,
        number_rule=ranges,
    )  # fmt: skip
    paid = {(row["hardware"], row["band"]): row["memory_usd"] for row in found}
    assert (paid["a", "middle"], paid["b", "middle"], len(paid)) == (120, 0, 6)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_price_that_cannot_be_is_none(evaluate: Evaluate, value: float) -> None:
    impossible = [row | {"value": value} if row["quantity"] == "wafer_usd" else row for row in RULES]
    found = resolved(evaluate, 16.0, "HBM3", impossible)
    assert found["middle"]["wafer_usd"] is None and found["cheap"]["wafer_usd"] == 3000


def test_rules_that_ship_stand_between_their_ends() -> None:
    """Every number makes parts dearer when it grows, except the share of dies that survive bonding."""
    with (loader.ROOT / "tables/cost_rule.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 60
    for row in rows:
        cheap, value, dear = (float(row[name]) for name in ("cheap_value", "value", "dear_value"))
        is_share = row["quantity"] == "join_yield_fraction"
        assert dear <= value <= cheap if is_share else cheap <= value <= dear, row["cost_rule"]
