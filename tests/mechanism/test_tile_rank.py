"""The time and energy of a shape with each candidate tile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "matrix_half_ops": 10.0, "matrix_fraction": 0.5, "vector_half_ops": 0.0, "vector_fraction": 0.5, "vector_ideal_s": 1.0,
    "vector_op_s": 0.0, "vector_naive_s": 0.5, "vector_energy_j": 3.0, "untiled_s": 4.0, "exposed_s": 1.0,
    "overlap_fraction": 0.75, "tile_memory_level": "scratchpad", "tile_j_per_byte": 0.25, "stream_level": "l1",
    "stream_j_per_byte": 0.0, "staged_byte": 0.0, "staged_load_s": 0.0, "passing_byte": 64.0, "passing_s": 2.0,
    "vector_stream_byte": 0.0, "vector_stream_s": 0.0, "untiled_energy_j": 2.0,
}  # fmt: skip
TILE = {
    "matrix_ideal_s": 3.0, "direct_ideal_s": 0.0, "matrix_op_s": 0.1, "direct_op_s": 0.0, "matrix_naive_s": 2.0,
    "direct_naive_s": 0.0, "product_energy_j": 10.0, "reload_byte": 20.0, "reload_s": 1.0, "stream_byte": 0.0,
    "stream_s": 0.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "tile", "expected"),
    [
        # (3 + 10 x 0.1) / 0.5 s of arithmetic, a quarter of 4 s of memory, 1 s more; 10 + 20 x 0.25 + 2 + 3 J.
        pytest.param(
            {}, {},
            {"compute_s": 8.0, "slowest_memory_s": 4.0, "dynamic_energy_j": 20.0, "first_level_s": 2.0, "unlimited_s": 10.0},
            id="all",
        ),
        # From the cache, without a memory next to the units: 10 + (20 - 8) x 0.5 + 2 + 3 J.
        pytest.param(
            {"tile_memory_level": None, "cache_level": "l2", "cache_j_per_byte": 0.5, "moved_byte": 8.0}, {}, {"dynamic_energy_j": 21.0},
            id="from the cache",
        ),
        # Fetches from a shared memory: 30 bytes at 5 a second, 22 of them again: 22 x 0.5 J.
        pytest.param(
            {"cache_byte_per_s": 5.0, "cache_j_per_byte": 0.5, "moved_byte": 8.0}, {"fetch_byte": 30.0},
            {"slowest_memory_s": 6.0, "unlimited_s": 10.5, "dynamic_energy_j": 31.0}, id="fetches",
        ),
        pytest.param({}, {"reload_s": 6.0}, {"slowest_memory_s": 6.0, "unlimited_s": 10.5}, id="loads"),
        # The power limit acts on the run, not on a tile.
        pytest.param({}, {"product_energy_j": 110.0}, {"dynamic_energy_j": 120.0, "unlimited_s": 10.0}, id="no limit"),
        # A first level that instructions wait for bounds them; one that software manages is a memory.
        pytest.param({}, {"stream_s": 12.0}, {"slowest_memory_s": 4.0, "unlimited_s": 13.0}, id="bound"),
        pytest.param({"is_staged": True}, {"stream_s": 12.0}, {"slowest_memory_s": 12.0, "unlimited_s": 15.0}, id="memory"),
    ],
)  # fmt: skip
def test_each_term(
    check: Callable[..., None], shape: dict[str, object], tile: dict[str, object], expected: dict[str, object]
) -> None:
    """Each case changes one number."""
    check("tile_rank", expected, cost_border=SHAPE | shape, tile_time=TILE | tile)
