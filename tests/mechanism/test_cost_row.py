"""Rows of a normalization, each a block of threads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {"row_count": 50.0, "norm_row_s": 0.25, "follows_strides": True}


@pytest.mark.parametrize(
    ("shape", "row_s"),
    [
        ({}, 12.5),
        # A compiler assigns several rows to a block.
        ({"follows_strides": False}, 0.0),
        ({"row_count": 0.0}, 0.0),
        # The part's number of threads is unknown.
        ({"norm_row_s": None}, 0.0),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], row_s: float) -> None:
    """Each case changes one number."""
    check("cost_row", {"row_s": row_s}, cost_latency_bound=SHAPE | shape)
