"""The hourly price of a part, and its basis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

RENT = {"price_usd_per_hour": 0.5, "confidence": "assumed", "dated": "2025-06"}
BOUGHT = {"list_price_usd": 250.0, "sold_as": "card", "confidence": "vendor_doc", "dated": "2024-12"}
FROM_LIST = "list price of a card over 1000 h, vendor_doc, 2024-12"


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"price": [RENT], "list_price": [BOUGHT]}, (0.5, "assumed, 2025-06", "rent", 250.0)),
        ({"price": [RENT]}, (0.5, "assumed, 2025-06", "rent", None)),
        ({"list_price": [BOUGHT]}, (0.25, FROM_LIST, "purchase", 250.0)),
        ({}, (None, None, None, None)),
        # An impossible rent does not count, and the list price replaces it.
        (
            {"price": [RENT], "list_price": [BOUGHT], "part_fault": [{"kind": "price", "is_possible": False}]},
            (0.25, FROM_LIST, "purchase", 250.0),
        ),
        ({"price": [RENT], "part_fault": [{"kind": "price", "is_possible": True}]}, (0.5, "assumed, 2025-06", "rent", None)),
        ({"list_price": [BOUGHT], "part_fault": [{"kind": "list_price", "is_possible": False}]}, (None, None, None, None)),
    ],
)
def test_rent_or_list_price(
    evaluate: Callable[..., list[dict[str, Any]]], tables: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    (row,) = evaluate(
        "part_price", hardware=[{}], library_constant=[{"library_constant": "owned_h", "value": 1000.0}], **tables
    )
    assert (row["price_usd_per_hour"], row["price_basis"], row["price_kind"], row["list_price_usd"]) == expected


@pytest.mark.parametrize("hours", [0.0, -1.0, float("nan")])
def test_hours_that_cannot_be(evaluate: Callable[..., list[dict[str, Any]]], hours: float) -> None:
    constant = [{"library_constant": "owned_h", "value": hours}]
    (row,) = evaluate("part_price", hardware=[{}], library_constant=constant, list_price=[BOUGHT])
    assert (row["price_usd_per_hour"], row["price_basis"], row["price_kind"], row["list_price_usd"]) == (None, None, None, 250.0)
