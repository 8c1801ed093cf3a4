"""Columns of folds for which a unit fetches its part of the stream once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

STEP = {"is_product": True, "product_count": 1, "m": 10.0, "n": 20.0, "k": 6.0, "gemm_count": 1.0}
TILE = {
    "dataflow": "weight_stationary", "is_matrix": True, "matrix_array_rows": 4.0, "matrix_array_columns": 8.0, "divisor": 1.0,
    "stages": 2.0, "element_byte": 1.0, "tile_unit_count": 2.0, "listed_m": 0.0, "listed_n": 0.0, "listed_k": 0.0,
    "accumulator_rows": 4096.0, "tile_memory_byte": 1000.0,
}  # fmt: skip
"""Two arrays of 4 x 8: 20 columns of weights are three columns of two folds, two columns on one array and one on the other."""


@pytest.mark.parametrize(
    ("tile", "expected"),
    [
        # Two stages of 6 x (10 + 8) bytes fit: 216.
        ({}, 2.0),
        ({"tile_memory_byte": 216.0, "accumulator_rows": 10.0}, 2.0),
        # Else accumulators keep 10 rows of each of two columns, and two stages of 4 x (10 + 2 x 8) bytes fit: 208.
        ({"tile_memory_byte": 215.0, "accumulator_rows": 20.0}, 2.0),
        ({"tile_memory_byte": 215.0, "accumulator_rows": 19.0}, 1.0),
        ({"tile_memory_byte": 207.0, "accumulator_rows": 20.0}, 1.0),
        # Without accumulators 10 x 8 partial results of 4 bytes are next to the operands: 216 + 320.
        ({"tile_memory_byte": 536.0, "accumulator_rows": 0.0}, 2.0),
        ({"tile_memory_byte": 535.0, "accumulator_rows": 0.0}, 1.0),
        # Six arrays take a column each, one array all three; two parts of the stream are six columns.
        ({"tile_unit_count": 6.0}, 1.0),
        ({"tile_unit_count": 1.0}, 3.0),
        ({"divisor": 2.0}, 3.0),
    ],
)
def test_columns_that_share_a_fetch(check: Callable[..., None], tile: dict[str, object], expected: float) -> None:
    check("tile_fold", {"kept_columns": expected, "column_folds": 3.0}, shape_step=STEP, arithmetic_tile=TILE | tile)
