"""A part's numbers in one row: totals over clusters, memory levels, the memory that tiles must fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

FAMILIES = [
    {"family": "gpu", "tiles_second_level": False, "is_staged": False},
    {"family": "cpu", "tiles_second_level": True, "is_staged": False},
    {"family": "kpu", "tiles_second_level": True, "is_staged": True},
]
GPU = {"family": "gpu", "vendor": "maker", "architecture": "die", "status": "shipping"}
CLUSTER = {"cluster": "sm", "unit_count": 10, "lanes": 64.0, "clock_boost_hz": 2e9}
SHARED = {"level": "scratchpad", "depth": 1, "scope": "unit", "capacity_byte": 100.0, "bandwidth_byte_per_s": 8.0}
CACHE = {"level": "l2", "depth": 2, "scope": "chip", "capacity_byte": 5000.0, "bandwidth_byte_per_s": 40.0}
DRAM = {
    "level": "dram", "depth": 3, "scope": "chip", "capacity_byte": 1e6, "bandwidth_byte_per_s": 20.0,
    "unit_bandwidth_byte_per_s": 6.0,
}  # fmt: skip


def test_memory_levels(check: Callable[..., None]) -> None:
    """A level that each unit has counts ten times; the deepest above main memory is the last-level cache."""
    expected = {
        "unit_count": 10.0,
        "lanes": 64.0,
        "array_rows": 1.0,
        "tile_memory_level": "scratchpad",
        "tile_memory_byte": 100.0,
        "tile_memory_byte_per_s": 80.0,  # 10 x 8
        "cache_level": "l2",
        "cache_byte": 5000.0,
        "cache_byte_per_s": 40.0,
        "dram_byte": 1e6,
        "dram_byte_per_s": 20.0,
        "unit_dram_byte_per_s": 6.0,
        "team_overhead_s": 0.0,
        "clock_hz": 2e9,
        "clock_fraction": 1.0,
        "tdp_w": None,
        "part_kernel_gap_s": 0.0,
        "matrix_instruction": "mma",
        "is_simulated": False,
        "guess_count": 0,
    }
    check(
        "part",
        expected,
        hardware=GPU,
        hardware_family=FAMILIES,
        hardware_cluster=CLUSTER,
        part_memory=[SHARED, CACHE, DRAM],
    )


@pytest.mark.parametrize(
    ("family", "levels", "expected"),
    [
        # A processor tiles for the second level of each core; the ten are its last-level cache.
        (
            "cpu",
            [SHARED, CACHE | {"scope": "unit"}, DRAM],
            {
                "tile_memory_level": "l2",
                "tile_memory_byte": 5000.0,
                "tile_memory_byte_per_s": 400.0,
                "cache_byte": 50_000.0,
                "cache_byte_per_s": 400.0,
                "stream_level": None,
                "is_staged": False,
            },
        ),
        # A domain-flow part does too, fed from there through the first.
        (
            "kpu",
            [SHARED | {"level": "l1"}, CACHE | {"scope": "unit"}, DRAM],
            {
                "tile_memory_level": "l2",
                "tile_memory_byte": 5000.0,
                "stream_level": "l1",
                "stream_memory_byte": 100.0,
                "stream_memory_byte_per_s": 80.0,
                "is_staged": True,
            },
        ),
        # A shared second level is not a core's own: the first is.
        (
            "cpu",
            [SHARED | {"level": "l1"}, CACHE, DRAM],
            {"tile_memory_level": "l1", "tile_memory_byte": 100.0, "tile_memory_byte_per_s": 80.0},
        ),
        # With only a shared cache, a tenth of it is a core's.
        ("cpu", [CACHE, DRAM], {"tile_memory_level": None, "tile_memory_byte": 500.0, "tile_memory_byte_per_s": None}),
        # Without any cache.
        ("gpu", [DRAM], {"cache_level": None, "cache_byte": 0.0, "cache_byte_per_s": None, "tile_memory_byte": None}),
        # An unstated bandwidth stays unknown, even if a nearer level has one.
        (
            "gpu",
            [SHARED, CACHE | {"bandwidth_byte_per_s": None}, DRAM],
            {"cache_level": "l2", "cache_byte_per_s": None},
        ),
        # A level of unstated size is skipped.
        ("gpu", [SHARED, CACHE | {"capacity_byte": None}, DRAM], {"cache_level": "scratchpad", "cache_byte": 1000.0}),
    ],
    ids=[
        "own second level",
        "domain flow",
        "shared second level",
        "shared cache alone",
        "no cache",
        "unknown bandwidth",
        "unknown size",
    ],
)
def test_which_level_is_which(
    check: Callable[..., None], family: str, levels: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    """The family and the part's levels decide."""
    part = GPU | {"family": family}
    check("part", expected, hardware=part, hardware_family=FAMILIES, hardware_cluster=CLUSTER, part_memory=levels)


def test_clusters_of_two_kinds(check: Callable[..., None]) -> None:
    """30 tiles of 16 x 16 and 10 of 32 x 8 keep their processing elements: rows of sqrt((30 x 256 + 10 x 1024) / 40)."""
    clusters = [
        CLUSTER | {"cluster": "a", "unit_count": 30, "lanes": 4.0, "array_rows": 16, "array_columns": 16},
        CLUSTER
        | {"cluster": "b", "unit_count": 10, "lanes": 8.0, "array_rows": 32, "array_columns": 8, "clock_boost_hz": 3e9},
    ]
    expected = {
        "unit_count": 40.0,
        "lanes": 8.0,
        "array_rows": 448**0.5,  # 17,920 / 40
        "array_columns": 208**0.5,  # (30 x 256 + 10 x 64) / 40
        "clock_hz": 3e9,
    }
    check("part", expected, hardware=GPU, hardware_family=FAMILIES, hardware_cluster=clusters, part_memory=DRAM)


def test_power_mode_overheads_and_energy(check: Callable[..., None]) -> None:
    """The default mode halves the clock; one of four coefficients is assumed."""
    modes = [
        {"mode": "default", "is_default": True, "tdp_w": 15.0, "clock_fraction": 0.5},
        {"mode": "maxn", "is_default": False, "tdp_w": 60.0, "clock_fraction": 1.0},
    ]
    seconds = {"kernel_gap": 1e-6, "memory_latency": 5e-7, "norm_block": 3e-6, "team": 2e-6}
    overheads = [{"overhead": name, "overhead_s": overhead_s} for name, overhead_s in seconds.items()]
    energies = [
        {"what": what, "key": key, "value": value, "scope": "board", "confidence": confidence}
        for what, key, value, confidence in (
            ("byte", "dram", 4.0, "paper"), ("byte", "l2", 2.0, "paper"), ("byte", "scratchpad", 1.0, "paper"),
            ("static", "chip", 9.0, "assumed"),
        )
    ]  # fmt: skip
    expected = {
        "tdp_w": 15.0,
        "clock_hz": 1e9,
        "clock_fraction": 0.5,
        "part_kernel_gap_s": 1e-6,
        "memory_latency_s": 5e-7,
        "norm_block_s": 3e-6,
        "team_overhead_s": 2e-6,
        "dram_j_per_byte": 4.0,
        "cache_j_per_byte": 2.0,
        "tile_j_per_byte": 1.0,
        "static_w": 9.0,
        "energy_scope": "board",
        "guess_count": 1,
        "matrix_instruction": "wgmma",
        "is_simulated": True,
    }
    check(
        "part",
        expected,
        hardware=GPU | {"status": "simulated", "compute_capability": "9.0"},
        hardware_family=FAMILIES,
        hardware_cluster=CLUSTER,
        part_memory=[SHARED, CACHE, DRAM],
        hardware_power=modes,
        part_overhead=overheads,
        energy_profile=energies,
        confidence=[{"confidence": "paper", "is_guess": False}, {"confidence": "assumed", "is_guess": True}],
        cuda_limit={"compute_capability": "9.0", "matrix_instruction": "wgmma"},
    )


@pytest.mark.parametrize(
    ("status", "lacks"),
    [("shipping", False), ("retired", False), ("internal", False), ("announced", True), ("simulated", True)],
)
def test_a_part_that_nobody_can_have_measured(check: Callable[..., None], status: str, lacks: bool) -> None:
    """An announced part has no silicon yet."""
    part = GPU | {"status": status}
    check(
        "part",
        {"is_simulated": lacks},
        hardware=part,
        hardware_family=FAMILIES,
        hardware_cluster=CLUSTER,
        part_memory=[DRAM],
    )
