"""All terms of a shape together, at full clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {"compute_s": 8.0, "memory_s": 4.0, "overlap_fraction": 0.75, "exposed_s": 2.0, "feed_s": 0.0}


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 8 s, a quarter of 4 that does not overlap, and 2 in sequence.
        pytest.param({}, {"serial_s": 1.0, "unlimited_s": 11.0}, id="arithmetic"),
        pytest.param({"memory_s": 12.0}, {"serial_s": 2.0, "unlimited_s": 16.0}, id="memory"),
        pytest.param({"overlap_fraction": 1.0}, {"serial_s": 0.0, "unlimited_s": 10.0}, id="all overlaps"),
        pytest.param(
            {"fault": "energy.op.fp16"}, {"compute_s": None, "unlimited_s": None}, id="a number that cannot be"
        ),
        # The first level feeds it in 9 s, as long as the arithmetic and the part that does not overlap; in 12 longer.
        pytest.param({"feed_s": 9.0}, {"unlimited_s": 11.0}, id="fed in time"),
        pytest.param({"feed_s": 12.0}, {"serial_s": 1.0, "unlimited_s": 14.0}, id="fed slowly"),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("shape_cost", expected, cost_power=SHAPE | shape)
