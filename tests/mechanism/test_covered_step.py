"""Tiles cover more than a product, by dataflow."""

from __future__ import annotations

from collections.abc import Callable

import pytest

STEP = {
    "is_product": True, "is_matrix": True, "tile_m": 64.0, "tile_n": 32.0, "tile_k": 8.0, "tile_count": 6.0, "tile_unit_count": 4.0,
    "waves": 2.0, "flops": 100.0, "ideal_s": 2.0, "peak_ops_per_s": 80.0, "pipelining_fraction": 1.0,
}  # fmt: skip
PRODUCT = {"m": 70.0, "n": 33.0, "k": 30.0, "threads": 2310.0, "query_count": 70.0, "query_heads": 1.0}
TILE = {
    "matrix_array_rows": 16.0, "matrix_array_columns": 8.0, "listed_m": 0.0, "split_k": 4.0, "step_k": 5.0, "divisor": 2.0,
    "filled_fraction": 0.5, "sustained_fraction": 0.75, "fed_array_hz": 1.0, "array_clock_hz": 4.0, "wave_quantization_fraction": 1.0,
}  # fmt: skip

PASSES = {"weight_stationary": {"tile_m": 35.0}, "input_stationary": {"tile_n": 17.0}}
"""Halves of the streamed dimension."""


@pytest.mark.parametrize(
    ("dataflow", "expected"),
    [
        # Rows in blocks of 16: four of a whole tile and one for the 6 left; columns in blocks of 8: four and one. Depth
        # in fours. The array's input feeds it at a quarter of its clock.
        ("wavefront", {"covered_rows": 80.0, "covered_columns": 40.0, "covered_depth": 32.0, "fed_fraction": 0.25}),
        # Two tiles of 35 rows; two of 32 columns on 8 columns of the array; four of the depth, each on 16 rows.
        (
            "weight_stationary",
            {"covered_rows": 70.0, "covered_columns": 16.0, "covered_depth": 64.0, "fed_fraction": 0.5},
        ),
        # Inputs stay: two tiles of 64 rows on 8 columns of the array; columns in two parts of 17; depth as above.
        (
            "input_stationary",
            {"covered_rows": 16.0, "covered_columns": 34.0, "covered_depth": 64.0, "fed_fraction": 0.5},
        ),
        # Two tiles of 64 rows, two of 32 columns; depth in steps of 5 by 4.
        ("listed", {"covered_rows": 128.0, "covered_columns": 64.0, "covered_depth": 40.0, "fed_fraction": 0.75}),
        ("square", {"covered_rows": 128.0, "covered_columns": 64.0, "covered_depth": 30.0, "fed_fraction": 0.75}),
    ],
)
def test_each_dataflow(check: Callable[..., None], dataflow: str, expected: dict[str, float]) -> None:
    """The product is 70 x 33 x 30."""
    shared = {"dataflow": dataflow, "utilization_fraction": 0.625, "busy_fraction": 0.75}  # 100 / (80 x 2), 6 / (4 x 2)
    check(
        "covered_step",
        shared | expected,
        tile_step=STEP | PRODUCT | PASSES.get(dataflow, {}),
        arithmetic_tile=TILE | {"dataflow": dataflow},
        vector_step=[],
    )


@pytest.mark.parametrize(
    ("step", "tile", "busy"),
    [
        pytest.param({"tile_count": 8.0}, {}, 1.0, id="full waves"),
        pytest.param({"tile_count": 2.0, "waves": 1.0}, {}, 0.5, id="units without a tile"),
        # Half of the rounding of waves counts: 6 / (4 x (0.5 x 2 + 0.5 x 1.5)).
        pytest.param({}, {"wave_quantization_fraction": 0.5}, 6 / 7, id="waves partly quantized"),
    ],
)
def test_places_of_units(
    check: Callable[..., None], step: dict[str, float], tile: dict[str, float], busy: float
) -> None:
    given = {
        "tile_step": STEP | PRODUCT | step,
        "arithmetic_tile": TILE | {"dataflow": "square"} | tile,
        "vector_step": [],
    }
    check("covered_step", {"busy_fraction": busy}, **given)


@pytest.mark.parametrize(
    ("dataflow", "product", "tile", "loaded"),
    [
        # 49 rows through an array of 64 rows of weights.
        ("weight_stationary", {"m": 49.0}, {"tile_m": 49.0}, 64.0),
        ("weight_stationary", {"m": 64.0}, {"tile_m": 64.0}, None),
        # Seven parts of 58 rows cover 406 of 400: 64 / 58 is more than 406 / 400.
        ("weight_stationary", {"m": 400.0}, {"tile_m": 58.0}, 64.0),
        # Parts of 2, 2 and 1 rows cover 6 of 5.
        ("weight_stationary", {"m": 5.0}, {"tile_m": 2.0}, 64.0),
        # Two parts of 63 columns cover 126 of 125: 64 / 63 is more than 126 / 125.
        ("input_stationary", {"n": 125.0}, {"tile_n": 63.0}, 64.0),
        # Rows are not the stream of stationary inputs.
        ("input_stationary", {"m": 49.0, "n": 100.0}, {"tile_n": 100.0}, None),
        ("square", {"m": 49.0}, {"tile_m": 49.0}, None),
    ],
)
def test_rows_that_an_array_loads(
    check: Callable[..., None], dataflow: str, product: dict[str, float], tile: dict[str, float], loaded: float | None
) -> None:
    """Loading counts if an array has more rows than stream past, and costs more than a partly empty last part."""
    offered = TILE | {"dataflow": dataflow, "matrix_array_rows": 64.0}
    given = {"tile_step": STEP | PRODUCT | product | tile, "arithmetic_tile": offered, "vector_step": []}
    check("covered_step", {"loaded_rows": loaded}, **given)
