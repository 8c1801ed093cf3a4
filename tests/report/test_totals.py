"""Totals of a run by module and by memory level, the run's call included."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Gives = Callable[..., None]


@pytest.mark.parametrize(("energy", "call_j", "call_js"), [(8.0, 2.0, 14.0), (None, None, None)])
def test_the_call_is_a_row_of_the_modules(gives: Gives, energy: float | None, call_j: float | None, call_js: float | None) -> None:
    """A call of 2 s at 1 W takes 2 of 8 J and (2 * 6 + 2 * 8) / 2 of 48 J s; the root module has the other 4 s, 6 J and 34 J s."""
    gives(
        "run_module",
        [
            {"module": "", "depth": 0, "latency_s": 4.0, "energy_j": 6.0, "edp_js": 34.0, "operator_count": 3},
            {"module": "(run call)", "depth": 0, "latency_s": 2.0, "energy_j": call_j, "edp_js": call_js, "operator_count": 0},
        ],
        by=["module"],
        module_edp=[{"module": "", "depth": 0, "latency_s": 4.0, "energy_j": 6.0, "edp_js": 34.0, "operator_count": 3}],
        model_cost=[{"latency_s": 6.0, "energy_j": energy, "run_call_s": 2.0, "static_w": 1.0}],
    )


@pytest.mark.parametrize("unknown", [False, True])
def test_levels_of_classes_and_of_all(gives: Gives, unknown: bool) -> None:
    """Two borders at l2 are one level. An unknown energy of one kernel leaves its class and `all` unknown, but not their bytes."""
    level = {"kernel_id": 1, "kernel_class": "conv", "border": "dram", "level": "dram", "level_byte": 10.0, "level_j": 1.0}
    levels = [
        level,
        {**level, "border": "cache", "level": "l2", "level_byte": 20.0, "level_j": 2.0},
        {**level, "border": "tile", "level": "l2", "level_byte": 40.0, "level_j": 4.0},
        {**level, "kernel_id": 2, "kernel_class": "linear", "level_byte": 80.0, "level_j": None if unknown else 8.0},
    ]
    energies = [
        {"kernel_id": 1, "kernel_class": "conv", "compute_energy_j": 16.0, "static_energy_j": 32.0},
        {"kernel_id": 2, "kernel_class": "linear", "compute_energy_j": 64.0, "static_energy_j": 128.0},
    ]
    expected = [
        ("conv", "dram", 10.0, 1.0), ("conv", "l2", 60.0, 6.0), ("conv", "arithmetic", None, 16.0), ("conv", "static", None, 32.0),
        ("linear", "dram", 80.0, None if unknown else 8.0), ("linear", "arithmetic", None, 64.0), ("linear", "static", None, 128.0),
        ("(run call)", "static", None, 6.0),
        ("all", "dram", 90.0, None if unknown else 9.0), ("all", "l2", 60.0, 6.0), ("all", "arithmetic", None, 80.0), ("all", "static", None, 166.0),
    ]  # fmt: skip
    gives(
        "level_total",
        [dict(zip(("kernel_class", "level", "level_byte", "level_j"), row, strict=True)) for row in expected],
        by=["kernel_class", "level"],
        kernel_level=levels,
        kernel_energy=energies,
        model_cost=[{"latency_s": 6.0, "energy_j": 300.0, "run_call_s": 2.0, "static_w": 3.0}],
    )
