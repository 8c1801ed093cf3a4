"""The power limit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {"compute_energy_j": 300.0, "memory_energy_j": 100.0, "tdp_w": 120.0, "static_w": 20.0}


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 400 J in what 120 W leave beside 20.
        ({}, {"dynamic_energy_j": 400.0, "power_s": 4.0}),
        ({"tdp_w": None}, {"dynamic_energy_j": 400.0, "power_s": None}),
        ({"memory_energy_j": None}, {"dynamic_energy_j": None, "power_s": None}),
        ({"tdp_w": 20.0}, {"power_s": None}),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """What one number changes."""
    check("cost_power", expected, cost_compute=SHAPE | shape)
