"""Memory levels that a kernel's bytes cross, one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

KERNEL = {
    "dram_byte": 100.0, "reorder_byte": 20.0, "dram_s": 2.0, "reorder_s": 1.0, "dram_energy_j": 5.0, "reorder_energy_j": 1.0,
    "moved_byte": 300.0, "cache_level": "l3", "cache_s": 4.0, "cache_energy_j": 3.0, "reload_byte": 900.0,
    "tile_memory_level": "l2", "reload_s": 3.0, "reload_energy_j": 2.0, "stream_level": "l1", "stream_byte": 1000.0,
    "stream_s": 1.0, "stream_energy_j": 0.5, "memory_level": "l3", "cache_byte": 4096.0, "main_memory_byte": 1e9,
}  # fmt: skip
PART = {"tile_memory_byte": 64.0, "stream_memory_byte": 8.0, "unit_count": 4.0}


def test_a_row_a_level(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Reordered data counts as main-memory traffic; levels of units count once per unit."""
    rows = evaluate("kernel_level", kernel_time=[KERNEL], part=[PART])
    found = {r["border"]: (r["level"], r["level_byte"], r["level_s"], r["level_j"], r["capacity_byte"]) for r in rows}
    assert found == {
        "dram": ("dram", 120.0, 3.0, 6.0, 1e9),
        "cache": ("l3", 300.0, 4.0, 3.0, 4096.0),
        "tile": ("l2", 900.0, 3.0, 2.0, 256.0),
        "stream": ("l1", 1000.0, 1.0, 0.5, 32.0),
    }
    assert [r["border"] for r in rows if r["is_slowest"]] == ["cache"]


def test_fetches_by_the_units(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """The shared level gives the same bytes several times: 500 in 5 s, for 3 J and 1.5 more."""
    kernel = KERNEL | {"fetch_byte": 500.0, "fetch_s": 5.0, "fetch_energy_j": 1.5}
    rows = evaluate("kernel_level", kernel_time=[kernel], part=[PART])
    assert [(r["level_byte"], r["level_s"], r["level_j"]) for r in rows if r["border"] == "cache"] == [(500.0, 5.0, 4.5)]
    assert not evaluate("level_sum_mismatch", kernel_time=[kernel | {"memory_energy_j": 13.0}], part=[PART])


def test_levels_that_a_part_has_not(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Missing levels have no row; a level may be at two borders."""
    kernel = KERNEL | {"cache_level": "scratchpad", "tile_memory_level": "scratchpad", "stream_level": None}
    rows = evaluate("kernel_level", kernel_time=[kernel], part=[PART])
    assert {(r["border"], r["level"]) for r in rows} == {
        ("dram", "dram"),
        ("cache", "scratchpad"),
        ("tile", "scratchpad"),
    }


def test_levels_that_do_not_add_up(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """11.5 J; a memory energy of another amount is reported."""
    assert not evaluate("level_sum_mismatch", kernel_time=[KERNEL | {"memory_energy_j": 11.5}], part=[PART])
    assert evaluate("level_sum_mismatch", kernel_time=[KERNEL | {"memory_energy_j": 11.6}], part=[PART])
