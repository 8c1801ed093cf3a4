"""The buffers between the memories next to the units and the arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "stream_byte": 2000.0, "stream_s": 4.0, "stream_level": "l1", "stream_j_per_byte": 0.125,
    "is_staged": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 2,000 x 0.125 J.
        pytest.param(
            {},
            {
                "staged_stream_s": 4.0,
                "feed_s": 0.0,
                "stream_energy_j": 250.0,
            },
            id="a memory",
        ),
        # Loads that bypass it are part of their instructions.
        pytest.param({"is_staged": False}, {"staged_stream_s": 0.0, "feed_s": 4.0}, id="a bound"),
        pytest.param({"stream_j_per_byte": None}, {"stream_energy_j": None}, id="unknown energy"),
        pytest.param(
            {"stream_level": None, "stream_byte": 0.0, "stream_s": 0.0, "stream_j_per_byte": None},
            {"stream_energy_j": 0.0},
            id="no such buffers",
        ),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_stream", expected, cost_reload=SHAPE | shape)
