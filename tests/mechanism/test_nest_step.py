"""Steps of the arrays in a loop nest."""

from __future__ import annotations

from collections.abc import Callable

HOP = {
    "gemm_count": 1.0, "trips_m": 2.0, "trips_n": 3.0, "trips_k": 4.0, "split_k": 1.0, "k": 20.0, "array_count": 5.0, "row_folds": 2.0,
    "column_folds": 1.0, "streamed_steps": 10.0, "matrix_array_rows": 8.0, "matrix_array_columns": 4.0, "outer_kept": "output",
    "inner_kept": "output",
}  # fmt: skip


def test_arrays_of_weights_share_the_depth(check: Callable[..., None]) -> None:
    """24 inner tiles on 5 arrays are 5 rounds of 2 folds, each of 10 steps; 8 + 4 - 2 fill and drain."""
    check("nest_step", {"folds": 10.0, "cycles": 10 * 10 + 10.0}, nest_hop=HOP | {"dataflow": "weight_stationary"})


def test_few_rows_wait_for_the_weights(check: Callable[..., None]) -> None:
    """Three rows stream past while 8 rows of weights are loaded."""
    check("nest_step", {"cycles": 10 * 8 + 10.0}, nest_hop=HOP | {"dataflow": "weight_stationary", "streamed_steps": 3.0})


def test_results_that_stay_leave_once(check: Callable[..., None]) -> None:
    """6 tiles of results on 5 arrays are 2 rounds through a depth of 4 tiles; each of 2 x 2 folds streams the depth of 20."""
    check("nest_step", {"folds": 16.0, "cycles": 4 * 20 + 10.0}, nest_hop=HOP | {"dataflow": "output_stationary"})


def test_results_that_leave_after_each_tile_of_the_depth(check: Callable[..., None]) -> None:
    """16 folds of 10 steps each."""
    check("nest_step", {"cycles": 16 * 10 + 10.0}, nest_hop=HOP | {"dataflow": "output_stationary", "outer_kept": "input"})
