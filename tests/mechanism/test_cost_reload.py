"""The memories next to the units."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "reload_byte": 1000.0, "reload_s": 4.0, "tile_memory_level": "scratchpad", "tile_j_per_byte": 0.125,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 1,000 x 0.125 J.
        pytest.param(
            {},
            {
                "reload_s": 4.0,
                "reload_energy_j": 125.0,
            },
            id="energy",
        ),
        pytest.param({"tile_j_per_byte": None}, {"reload_energy_j": None}, id="unknown energy"),
        pytest.param(
            {"tile_memory_level": None, "reload_s": 0.0, "tile_j_per_byte": None},
            {"reload_s": 0.0, "reload_energy_j": 0.0},
            id="no such memory",
        ),
        # Tiles load 1,000 bytes from the last-level cache, and 600 of them cross it once: 400 x 0.5 J more.
        pytest.param(
            {"tile_memory_level": None, "tile_j_per_byte": None, "cache_level": "l2", "cache_j_per_byte": 0.5, "moved_byte": 600.0},
            {"reload_s": 4.0, "reload_energy_j": 200.0},
            id="from the cache",
        ),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_reload", expected, cost_tile=SHAPE | shape)
