"""Chains of efficiency rows that parts and backends share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def test_parts_that_take_the_same_rows_share_a_chain(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Scopes without rows for the backend distinguish nothing; rows of the part, a sibling or a backend do."""
    parts = ("own", "lent", "plain", "twin")
    rows = evaluate(
        "part_backend",
        hardware=[{"hardware": part, "architecture": "die", "family": "gpu"} for part in parts],
        lending_part=[{"hardware": "lent", "lender": "own"}],
        supported_backend=[
            {"hardware": part, "backend": backend, "row_backend": backend}
            for part in parts
            for backend in ("eager", "other")
        ],
        efficiency=[
            {"scope": "*", "backend": "*"},
            {"scope": "architecture:die", "backend": "eager"},
            {"scope": "architecture:elsewhere", "backend": "*"},
            {"scope": "hardware:own", "backend": "eager"},
        ],
    )
    assert {(row["hardware"], row["backend"]): row["efficiency_chain"] for row in rows} == {
        **{(part, "other"): "*" for part in parts},
        **{(part, "eager"): "* architecture:die/eager hardware:own/eager" for part in ("own", "lent")},
        **{(part, "eager"): "* architecture:die/eager" for part in ("plain", "twin")},
    }


def test_a_part_without_rows_is_there(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    (row,) = evaluate("part_backend", hardware=[{}], supported_backend=[{}], efficiency=[])
    assert row["efficiency_chain"] == "none"
