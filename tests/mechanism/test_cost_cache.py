"""The last-level cache."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "moved_byte": 1000.0, "cache_byte_per_s": 500.0, "memory_fraction": 0.5, "cache_level": "l2", "cache_j_per_byte": 0.125,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 1,000 bytes at 500 x 0.5 per second.
        pytest.param(
            {},
            {"cache_s": 4.0, "cache_energy_j": 125.0},
            id="traffic over bandwidth",
        ),
        pytest.param({"cache_byte_per_s": None}, {"cache_s": 0.0}, id="unknown bandwidth"),
        pytest.param({"cache_j_per_byte": None}, {"cache_energy_j": None}, id="unknown energy"),
        pytest.param(
            {"cache_level": None, "cache_byte_per_s": None, "cache_j_per_byte": None},
            {"cache_s": 0.0, "cache_energy_j": 0.0},
            id="no cache",
        ),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_cache", expected, cost_dram=SHAPE | shape)
