"""All memory levels with the tile, summed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "dram_s": 3.0, "cache_s": 2.0, "latency_bound_s": 1.0, "thread_s": 0.5, "flight_s": 0.25, "row_s": 0.0, "untiled_s": 3.0, "reload_s": 2.5, "stream_s": 1.5,
    "is_staged": True, "cache_level": "l2", "tile_memory_level": "scratchpad", "stream_level": "l1", "untiled_energy_j": 70.0,
    "reload_byte": 10.0, "tile_j_per_byte": 0.5, "stream_byte": 100.0, "stream_j_per_byte": 0.25,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 70 + 10 x 0.5 + 100 x 0.25.
        pytest.param({}, {"memory_s": 3.0, "memory_level": "dram", "memory_energy_j": 100.0}, id="main memory"),
        pytest.param({"cache_s": 4.0, "untiled_s": 4.0}, {"memory_s": 4.0, "memory_level": "l2"}, id="cache"),
        pytest.param({"cache_s": 3.0}, {"memory_s": 3.0, "memory_level": "dram"}, id="cache as slow"),
        pytest.param(
            {"latency_bound_s": 4.0, "untiled_s": 4.0}, {"memory_s": 4.0, "memory_level": "latency"}, id="latency"
        ),
        pytest.param({"thread_s": 4.0, "untiled_s": 4.0}, {"memory_s": 4.0, "memory_level": "thread"}, id="threads"),
        pytest.param({"row_s": 4.0, "untiled_s": 4.0}, {"memory_s": 4.0, "memory_level": "row"}, id="rows"),
        pytest.param({"flight_s": 4.0, "untiled_s": 4.0}, {"memory_s": 4.0, "memory_level": "flight"}, id="loads in flight"),
        pytest.param({"reload_s": 4.0}, {"memory_s": 4.0, "memory_level": "scratchpad"}, id="memory of the tiles"),
        pytest.param({"reload_s": 3.0}, {"memory_s": 3.0, "memory_level": "dram"}, id="that as slow"),
        # Units fetch from the cache what a memory of their own keeps: 6 more bytes at 2 J.
        pytest.param(
            {"fetch_byte": 10.0, "moved_byte": 4.0, "cache_j_per_byte": 2.0, "cache_byte_per_s": 2.5},
            {"memory_s": 4.0, "memory_level": "l2", "memory_energy_j": 112.0}, id="fetches",
        ),
        # Without a memory next to the units, tiles load from the cache: 70 + (10 - 4) x 2 + 100 x 0.25.
        pytest.param(
            {"reload_s": 4.0, "tile_memory_level": None, "moved_byte": 4.0, "cache_j_per_byte": 2.0},
            {"memory_s": 4.0, "memory_level": "l2", "memory_energy_j": 107.0},
            id="tiles from the cache",
        ),
        pytest.param({"stream_s": 4.0}, {"memory_s": 4.0, "memory_level": "l1"}, id="first level"),
        # If instructions wait for it, it is not a memory, and its energy is part of theirs.
        pytest.param({"stream_s": 4.0, "is_staged": False}, {"memory_s": 3.0, "memory_level": "dram"}, id="a bound"),
        pytest.param(
            dict.fromkeys(("cache_s", "latency_bound_s", "thread_s", "untiled_s", "reload_s", "stream_s"), 0.0)
            | {"dram_s": None},
            {"memory_s": 0.0, "memory_level": "dram"},
            id="nothing known",
        ),
        pytest.param({"untiled_energy_j": None}, {"memory_energy_j": None}, id="unknown energy"),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_memory", expected, cost_tile=SHAPE | shape)
