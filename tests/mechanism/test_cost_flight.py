"""Loads that resident threads keep in flight."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {"loop_elements": 1000.0, "element_s": 0.01, "flight_fraction": 0.5, "block_s": 2.0, "macs": 0.0, "follows_strides": True}


@pytest.mark.parametrize(
    ("shape", "flight_s"),
    [
        # 1,000 elements at 0.01 / 0.5 s, then the blocks of 2 s.
        ({}, 22.0),
        # Bandwidth limits kernels without a row.
        ({"flight_fraction": None}, 0.0),
        # The number of threads is unknown.
        ({"element_s": None}, 2.0),
        ({"follows_strides": False}, 0.0),
        # The row of a convolution is for its conversion (`cost_reorder`).
        ({"macs": 5.0}, 0.0),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], flight_s: float) -> None:
    """Each case changes one number."""
    check("cost_flight", {"flight_s": flight_s}, cost_row=SHAPE | shape)
