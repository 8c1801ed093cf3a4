"""The part that lends its rows to a part without its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def lender(evaluate: Callable[..., list[dict[str, Any]]], parts: dict[str, dict[str, Any]], **rows: str) -> str | None:
    """Return the lender of rows for eager to `asked`; parts are given by bandwidth, peak of a unit and architecture."""
    found = evaluate(
        "lending_part",
        shipped_part=[
            {
                "hardware": name,
                "architecture": part.get("architecture", "die"),
                "dram_byte_per_s": part["bandwidth"],
                "unit_ops_per_s": part.get("unit_ops", 8.0),
            }
            for name, part in parts.items()
        ],
        efficiency=[{"scope": f"hardware:{name}", "backend": backend, "kernel_class": "*"} for name, backend in rows.items()],
    )
    names = [row["lender"] for row in found if row["hardware"] == "asked" and row["backend"] in ("eager", "*")]
    assert len(names) <= 1
    return names[0] if names else None


ASKED = {"bandwidth": 100.0}


@pytest.mark.parametrize(
    ("parts", "rows", "expected"),
    [
        # 160 is 1.6 times as much, 60 is 1.67 times less.
        ({"far": {"bandwidth": 60.0}, "near": {"bandwidth": 160.0}}, {"far": "eager", "near": "eager"}, "near"),
        # The nearer part has only rows of another backend.
        ({"far": {"bandwidth": 60.0}, "near": {"bandwidth": 160.0}}, {"far": "eager", "near": "xla"}, "far"),
        # Equally near: the first by name.
        ({"b": {"bandwidth": 50.0}, "a": {"bandwidth": 200.0}}, {"a": "eager", "b": "eager"}, "a"),
        # Another die.
        ({"near": {"bandwidth": 100.0, "architecture": "other"}}, {"near": "eager"}, None),
        # Its units do 1.25 times as much, and more: 8 against 6.4 and 6.
        ({"near": {"bandwidth": 100.0, "unit_ops": 6.4}}, {"near": "eager"}, "near"),
        ({"near": {"bandwidth": 100.0, "unit_ops": 6.0}}, {"near": "eager"}, None),
        # It has no tensor cores.
        ({"near": {"bandwidth": 100.0, "unit_ops": None}}, {"near": "eager"}, None),
        # Its own rows apply.
        ({"near": {"bandwidth": 100.0}}, {"near": "eager", "asked": "eager"}, None),
        ({"near": {"bandwidth": 100.0}}, {"near": "eager", "asked": "xla"}, "near"),
        # A part file states its shares for every backend.
        ({"near": {"bandwidth": 100.0}, "far": {"bandwidth": 60.0}}, {"near": "*", "far": "eager"}, "far"),
    ],
)
def test_nearest_sibling(
    evaluate: Callable[..., list[dict[str, Any]]],
    parts: dict[str, dict[str, Any]],
    rows: dict[str, str],
    expected: str | None,
) -> None:
    """The lender has the same die and unit rate, and the nearest bandwidth."""
    assert lender(evaluate, {"asked": ASKED, **parts}, **rows) == expected
