"""The start and finish of a thread team."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "chunk_element": 100.0, "team_size": 4.0, "team_overhead_s": 0.5, "team_ratio": 1.5, "moved_byte": 1.0,
    "kernel_gap_s": 0.25, "memory_latency_s": 0.125,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "team_s"),
    [
        # One and a half times the part's own.
        ({}, 0.75),
        ({"team_size": 1.5}, 0.75),
        # Once for each of the rounds of a recurrence.
        ({"rounds": 20.0}, 15.0),
        # Two kernels per round on a GPU; if a unit has room for the weights, half of 8 bytes, two ways to memory.
        ({"family": "gpu", "rounds": 20.0, "weight_byte": 8.0, "tile_memory_byte": 3.0}, 40 * 0.25),
        ({"family": "gpu", "rounds": 20.0, "weight_byte": 8.0, "tile_memory_byte": 4.0}, 40 * 0.125),
        ({"family": "gpu", "rounds": 1.0, "team_size": 1.0}, 0.0),
        ({"team_size": 1.0}, 0.0),
        ({"chunk_element": None}, 0.0),
        ({"moved_byte": 0.0}, 0.0),
        ({"team_ratio": None}, 0.0),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], team_s: float) -> None:
    """Each case changes one number."""
    check("cost_team", {"team_s": team_s}, cost_thread=SHAPE | shape)
