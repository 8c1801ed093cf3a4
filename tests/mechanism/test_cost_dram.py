"""Main memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "moved_byte": 1000.0, "resident_byte": 200.0, "memory_half_byte": 50.0, "stated_unit_count": 4.0, "dram_byte_per_s": 400.0,
    "memory_fraction": 0.5, "dram_j_per_byte": 0.25,
}  # fmt: skip


def test_traffic_over_bandwidth(check: Callable[..., None]) -> None:
    """800 bytes and half the work of four units, 4 x 50, at 400 x 0.5 per second."""
    expected = {"dram_byte": 800.0, "dram_s": 5.0, "dram_energy_j": 200.0}
    check("cost_dram", expected, cost_traffic=SHAPE)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # The cache serves all of it: the half-work of small kernels remains.
        pytest.param(
            {"resident_byte": 1000.0}, {"dram_byte": 0.0, "dram_s": 1.0, "dram_energy_j": 0.0}, id="all cached"
        ),
        pytest.param({"moved_byte": 0.0, "resident_byte": 0.0}, {"dram_byte": 0.0, "dram_s": 0.0}, id="nothing moves"),
        pytest.param({"dram_byte_per_s": None}, {"dram_s": None}, id="unknown bandwidth"),
        pytest.param({"dram_j_per_byte": None}, {"dram_energy_j": None}, id="unknown energy"),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_dram", expected, cost_traffic=SHAPE | shape)
