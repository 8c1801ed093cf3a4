"""The buffers between the memories next to the units and the arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "stream_byte": 2000.0, "stream_s": 4.0, "stream_level": "l1", "stream_j_per_byte": 0.125,
    "memory_s": 3.0, "memory_level": "l2", "memory_energy_j": 10.0,
    "is_staged": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 2,000 x 0.125 J.
        pytest.param(
            {},
            {
                "memory_s": 4.0,
                "memory_level": "l1",
                "feed_s": 0.0,
                "stream_energy_j": 250.0,
                "memory_energy_j": 260.0,
            },
            id="slowest level",
        ),
        # Loads that pass it are part of their instructions.
        pytest.param({"is_staged": False}, {"memory_s": 3.0, "memory_level": "l2", "feed_s": 4.0}, id="a bound"),
        pytest.param({"memory_s": 4.0}, {"memory_s": 4.0, "memory_level": "l2"}, id="not slower"),
        pytest.param(
            {"stream_j_per_byte": None}, {"stream_energy_j": None, "memory_energy_j": None}, id="unknown energy"
        ),
        pytest.param(
            {"stream_level": None, "stream_byte": 0.0, "stream_s": 0.0, "stream_j_per_byte": None},
            {"memory_s": 3.0, "stream_energy_j": 0.0, "memory_energy_j": 10.0},
            id="no such buffers",
        ),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """What one number changes."""
    check("cost_stream", expected, cost_reload=SHAPE | shape)
