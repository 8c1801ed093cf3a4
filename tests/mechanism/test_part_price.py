"""The hourly price of a part, and its basis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

RENT = {"price_usd_per_hour": 0.5, "confidence": "assumed", "dated": "2025-06"}
BOUGHT = {"list_price_usd": 250.0, "sold_as": "card", "confidence": "vendor_doc", "dated": "2024-12"}
FROM_LIST = "owned: list price of a card, vendor_doc, 2024-12; host, power, 50 % of 1000 h, assumed"
CONSTANTS = {"owned_h": 1000.0, "owned_use_fraction": 0.5, "host_usd": 100.0, "power_factor": 1.5, "electricity_usd_per_kwh": 0.1}


def constants(**changed: float | None) -> list[dict[str, Any]]:
    return [{"library_constant": name, "value": value} for name, value in (CONSTANTS | changed).items() if value is not None]


def priced(evaluate: Callable[..., list[dict[str, Any]]], **tables: Any) -> tuple[Any, ...]:
    power = tables.pop("hardware_power", [{"tdp_w": 200.0, "is_default": True}, {"tdp_w": 900.0, "is_default": False}])
    rules = tables.pop("library_constant", constants())
    (row,) = evaluate("part_price", hardware=[{}], library_constant=rules, hardware_power=power, **tables)
    usd = row["price_usd_per_hour"]
    return (None if usd is None else pytest.approx(usd), row["price_basis"], row["price_kind"], row["list_price_usd"])


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"price": [RENT], "list_price": [BOUGHT]}, (0.5, "assumed, 2025-06", "rent", 250.0)),
        ({"price": [RENT]}, (0.5, "assumed, 2025-06", "rent", None)),
        ({"list_price": [BOUGHT]}, (0.73, FROM_LIST, "owned", 250.0)),
        ({}, (None, None, None, None)),
        # An impossible rent does not count, and the list price replaces it.
        (
            {"price": [RENT], "list_price": [BOUGHT], "part_fault": [{"kind": "price", "is_possible": False}]},
            (0.73, FROM_LIST, "owned", 250.0),
        ),
        ({"price": [RENT], "part_fault": [{"kind": "price", "is_possible": True}]}, (0.5, "assumed, 2025-06", "rent", None)),
        ({"list_price": [BOUGHT], "part_fault": [{"kind": "list_price", "is_possible": False}]}, (None, None, None, None)),
    ],
)
def test_rent_or_cost_of_owning(
    evaluate: Callable[..., list[dict[str, Any]]], tables: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    """A card of 250 dollars with its host of 100 works 500 of 1,000 hours: 0.70 dollars an hour. 200 W become 300 W, at 0.1 dollars a kWh 0.03."""
    assert priced(evaluate, **tables) == expected


def test_a_kit_has_no_host(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """250 dollars over 500 hours, and no power limit is known."""
    kit = BOUGHT | {"sold_as": "developer kit"}
    basis = "owned: list price of a developer kit, vendor_doc, 2024-12; without power, 50 % of 1000 h, assumed"
    assert priced(evaluate, list_price=[kit], hardware_power=[]) == (0.5, basis, "owned", 250.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("owned_h", 0.0), ("owned_h", -1.0), ("owned_h", float("nan")), ("owned_h", None), ("owned_use_fraction", 0.0),
        ("owned_use_fraction", 1.5), ("host_usd", -1.0), ("power_factor", 0.0), ("electricity_usd_per_kwh", -0.1), ("host_usd", None),
    ],
)  # fmt: skip
def test_constants_that_cannot_be(evaluate: Callable[..., list[dict[str, Any]]], name: str, value: float | None) -> None:
    rules = constants(**{name: value})
    assert priced(evaluate, library_constant=rules, list_price=[BOUGHT]) == (None, None, None, 250.0)
