"""Loops of nests, their folds over an array, and overlapping windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Evaluate = Callable[..., list[dict[str, Any]]]
Record = dict[str, Any]

RATE = {
    "element_byte": 1.0, "unit_count": 8.0, "matrix_unit_count": 4.0, "matrix_array_rows": 4.0, "matrix_array_columns": 8.0, "accumulator_byte": 4.0,
    "matrix_ops_per_s": 1e9, "tile_memory_byte": 100.0, "tile_memory_pool_byte": 1600.0,
}  # fmt: skip
PART = {"cache_level": "l3", "tile_memory_level": "l2", "cache_byte": 1e6}
NEST = {
    "m": 50, "n": 60, "k": 70, "gemm_count": 1, "dataflow": "output_stationary", "outer_m": 25, "outer_n": 40, "outer_k": 70,
    "inner_m": 10, "inner_n": 20, "inner_k": 36, "outer_kept": "output", "inner_kept": "output",
}  # fmt: skip


def trip(evaluate: Evaluate, rate: Record = RATE, part: Record = PART, **nest: Any) -> Record:
    (row,) = evaluate("nest_trip", loop_nest=[NEST | nest], part_rate=[rate], part=[part])
    return row


def test_trips(evaluate: Evaluate) -> None:
    """50 / 25, 60 / 40 and 70 / 70 outer ones, 25 / 10, 40 / 20 and 70 / 36 inner ones, each rounded up."""
    row = trip(evaluate)
    assert [row[f"outer_trips_{d}"] for d in "mnk"] == [2, 2, 1]
    assert [row[f"inner_trips_{d}"] for d in "mnk"] == [3, 2, 2]


@pytest.mark.parametrize(
    ("dataflow", "row_folds", "column_folds", "streamed"),
    # Inner tiles of 10 x 20 x 36 on 4 rows and 8 columns.
    [
        ("output_stationary", 3, 3, 36), ("wavefront", 3, 3, 36), ("weight_stationary", 9, 3, 10), ("input_stationary", 9, 2, 20),
    ],
)  # fmt: skip
def test_folds(evaluate: Evaluate, dataflow: str, row_folds: int, column_folds: int, streamed: int) -> None:
    row = trip(evaluate, dataflow=dataflow)
    assert (row["row_folds"], row["column_folds"], row["streamed_steps"]) == (row_folds, column_folds, streamed)


def test_memories(evaluate: Evaluate) -> None:
    """Four arrays with 100 bytes next to each, or a share of a pool. A cache that is the tile memory itself is not an outer level unless
    several arrays share it; the arrays draw from a shared one, or from any level if none has its own memory."""
    row = trip(evaluate)
    assert (row["array_count"], row["inner_capacity_byte"], row["outer_capacity_byte"]) == (4, 100, 1e6)
    pooled = trip(evaluate, RATE | {"tile_memory_byte": None, "matrix_unit_count": None})
    assert (pooled["array_count"], pooled["inner_capacity_byte"]) == (8, 200)
    own = RATE | {"tile_memory_pool_byte": None}
    nearest = PART | {"cache_level": "l2"}
    for rate, part, outer, draws in (
        (RATE, PART, 1e6, False),
        (own, nearest, None, False),
        (RATE, nearest, 1e6, True),
        (RATE | {"matrix_unit_count": 1.0}, nearest, None, False),
        (own, nearest | {"tile_memory_level": None}, 1e6, True),
        (own, {"cache_level": None, "tile_memory_level": None, "cache_byte": 0.0}, None, False),
    ):
        row = trip(evaluate, rate, part)
        assert (row["outer_capacity_byte"], row["draws_from_outer"]) == (outer, draws), part


def test_parts_without_an_array_have_no_rows(evaluate: Evaluate) -> None:
    for lacking in ("matrix_array_rows", "matrix_ops_per_s"):
        rate = RATE | {lacking: None}
        assert evaluate("nest_trip", loop_nest=[NEST], part_rate=[rate], part=[PART]) == []


@pytest.mark.parametrize(
    ("taps", "inner_k", "fraction"),
    # A tile of 25 results of a 3 x 3 window, 5 x 5, reads 7 x 7 pixels of 25 x 9; with stride 2, 11 x 11. One of fewer
    # taps than a window has, or without a window, reads all.
    [(9, 9, 49 / 225), (9, 8, 1.0), (1, 9, 1.0), (None, 9, 1.0)],
)
def test_windows(evaluate: Evaluate, taps: int | None, inner_k: int, fraction: float) -> None:
    image = 100 if taps is None else 100 * 36 // taps
    row = trip(evaluate, m=100, k=36, taps=taps, image=image, outer_m=100, outer_k=36, inner_m=25, inner_k=inner_k)
    assert row["inner_halo_fraction"] == pytest.approx(fraction)


def test_a_stride_spreads_windows(evaluate: Evaluate) -> None:
    """Four times the pixels: windows of 9 taps two apart, 11 x 11 of 225; of the whole, 10 x 10 results, the image of 20 x 20. Two groups
    share the image."""
    row = trip(evaluate, m=100, k=36, taps=9, image=1600, outer_m=100, outer_k=36, inner_m=25, inner_k=36)
    assert row["inner_halo_fraction"] == pytest.approx(121 / 225)
    # 1,600 elements in four channels, of 100 x 36 columns.
    assert row["outer_halo_fraction"] == pytest.approx(1600 / 3600)
    both = trip(evaluate, m=100, k=36, taps=9, image=3200, gemm_count=2, outer_m=100, outer_k=36, inner_m=25, inner_k=36)
    assert both["inner_halo_fraction"] == pytest.approx(121 / 225)


def test_windows_never_read_more_than_all(evaluate: Evaluate) -> None:
    """Windows of 9 taps nine apart share nothing."""
    row = trip(evaluate, m=100, k=36, taps=9, image=100 * 4 * 81, outer_m=100, outer_k=36, inner_m=25, inner_k=36)
    assert row["inner_halo_fraction"] == 1
