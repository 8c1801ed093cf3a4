"""All terms of a shape together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "compute_s": 8.0, "memory_s": 4.0, "overlap_fraction": 0.75, "exposed_s": 2.0, "power_s": 5.0, "kernel_gap_s": 0.5,
    "feed_s": 0.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 8 s, a quarter of 4 that does not overlap, and 2 in a row.
        pytest.param(
            {},
            {"serial_s": 1.0, "unlimited_s": 11.0, "busy_s": 11.0, "device_s": 11.5, "is_power_bound": False},
            id="arithmetic",
        ),
        pytest.param({"memory_s": 12.0}, {"serial_s": 2.0, "unlimited_s": 16.0, "busy_s": 16.0}, id="memory"),
        pytest.param({"overlap_fraction": 1.0}, {"serial_s": 0.0, "busy_s": 10.0}, id="all overlaps"),
        pytest.param(
            {"power_s": 20.0},
            {"unlimited_s": 11.0, "busy_s": 20.0, "device_s": 20.5, "is_power_bound": True},
            id="power",
        ),
        pytest.param({"power_s": 11.0}, {"busy_s": 11.0, "is_power_bound": False}, id="power just met"),
        # The first level feeds it in 9 s, as long as the arithmetic and what does not overlap; in 12 longer.
        pytest.param({"feed_s": 9.0}, {"unlimited_s": 11.0}, id="fed in time"),
        pytest.param({"feed_s": 12.0}, {"serial_s": 1.0, "unlimited_s": 14.0, "busy_s": 14.0}, id="fed slowly"),
        pytest.param({"power_s": None}, {"busy_s": 11.0, "is_power_bound": False}, id="power unknown"),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """What one number changes."""
    check("shape_cost", expected, cost_power=SHAPE | shape)
