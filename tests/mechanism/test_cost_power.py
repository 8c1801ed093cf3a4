"""Effects of a lower clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "compute_energy_j": 300.0, "memory_energy_j": 100.0, "cache_energy_j": 20.0, "reload_energy_j": 30.0, "cache_s": 2.0,
    "reload_s": 3.0, "stream_energy_j": 0.0, "staged_stream_s": 0.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 50 J of the traffic are main memory's.
        ({}, {"dynamic_energy_j": 400.0, "clocked_energy_j": 350.0, "clocked_memory_s": 3.0}),
        ({"cache_s": 4.0}, {"clocked_memory_s": 4.0}),
        # A first level that software manages is a memory too; 40 J of the traffic are main memory's.
        ({"staged_stream_s": 5.0, "stream_energy_j": 10.0}, {"clocked_energy_j": 360.0, "clocked_memory_s": 5.0}),
        ({"fetch_s": 6.0, "fetch_energy_j": 5.0}, {"clocked_energy_j": 355.0, "clocked_memory_s": 6.0}),
        ({"cache_energy_j": None, "memory_energy_j": None}, {"dynamic_energy_j": None, "clocked_energy_j": None}),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_power", expected, cost_compute=SHAPE | shape)
