"""An array that keeps weights of the array's size while rows stream through, or inputs while columns do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

STEP = {
    "is_product": True, "product_count": 1, "m": 10.0, "n": 20.0, "k": 6.0, "gemm_count": 1.0,
    "flops": 2400.0,  # 2 x 10 x 20 x 6
}  # fmt: skip
TILE = {
    "dataflow": "weight_stationary", "is_matrix": True, "matrix_array_rows": 4.0, "matrix_array_columns": 8.0,
    "array_clock_hz": 100.0, "filled_fraction": 0.5, "divisor": 1.0, "stages": 2.0, "element_byte": 1.0,
    "tile_unit_count": 4.0, "listed_m": 0.0, "listed_n": 0.0, "listed_k": 0.0,
    "peak_ops_per_s": 25_600.0, "unit_ops_per_s": 6400.0, "wave_quantization_fraction": 1.0,
    "accumulator_rows": 4096.0,
}  # fmt: skip
"""Four arrays of 4 x 8, 50 cycles per second: peak 2 x 4 x 8 x 4 x 100."""


def test_passes_over_the_array(check: Callable[..., None]) -> None:
    """The reduction of 6 takes two arrays, the 20 columns three: six tiles of all ten rows."""
    expected = {
        "tile_m": 10.0,
        "tile_n": 8.0,
        "tile_k": 4.0,
        "tile_count": 6.0,
        "units_allocated": 4.0,
        "waves": 2.0,
        # Two waves of max(10, 4) cycles, and 4 + 8 - 2 = 10 to fill: 30 at 50 a second.
        "ideal_s": 0.6,
        "pipelining_fraction": 20 / 30,
        # 10 x 6 for each of three column tiles, 6 x 20 once.
        "reload_byte": 180.0 + 120.0,
        # Two stages of 10 x 4 and 4 x 8 elements of a byte; the results are in the accumulators.
        "tile_byte": 2 * 72.0,
    }
    check("tile_step", expected, shape_step=STEP, arithmetic_tile=TILE)


@pytest.mark.parametrize(
    ("step", "tile", "expected"),
    [
        # Rows in four parts of ceil(10 / 4) = 3: 24 tiles in 6 waves, each as long as loading the 4 rows of weights.
        pytest.param(
            {},
            {"divisor": 4.0},
            {"tile_m": 3.0, "tile_count": 24.0, "waves": 6.0, "ideal_s": 34 / 50},
            id="parts of the rows",
        ),
        # Four rows stay with their weights. Ten rows halved twice are four parts of three: twelve columns of folds, three a unit. Weights
        # are read for each part.
        pytest.param(
            {},
            {"held_rows": 4.0},
            {"tile_m": 3.0, "tile_count": 24.0, "waves": 6.0, "ideal_s": 0.68, "reload_byte": 180.0 + 480.0},
            id="rows held",
        ),
        # Four listed rows make eighteen tiles in five waves of four, and read weights for each of three parts. Four units take two of nine
        # columns of folds each and share the two folds of the ninth: its part of 200 results crosses once, 4 bytes out and in.
        pytest.param(
            {},
            {"held_rows": 4.0, "listed_m": 4.0},
            {"tile_m": 4.0, "tile_count": 18.0, "waves": 5.0, "ideal_s": 0.6, "reload_byte": 180.0 + 360.0 + 1600.0 / 9},
            id="rows listed",
        ),
        # Nine of ten rows would leave one: two parts of five.
        pytest.param({}, {"held_rows": 9.0}, {"tile_m": 5.0, "tile_count": 12.0, "waves": 3.0, "ideal_s": 0.5}, id="equal parts"),
        # Tiles of 5 x 4 x 3 on the same arrays: two by two by five.
        pytest.param(
            {},
            {"listed_m": 5.0, "listed_n": 4.0, "listed_k": 3.0},
            {"tile_m": 5.0, "tile_n": 4.0, "tile_k": 3.0, "tile_count": 20.0, "waves": 5.0, "ideal_s": 35 / 50},
            id="listed sizes",
        ),
        # Eight products: 48 tiles, 12 waves of 10 cycles.
        pytest.param({"gemm_count": 8.0}, {}, {"tile_count": 48.0, "ideal_s": 130 / 50}, id="several products"),
        # 6 tiles are 1.5 waves if they need not be whole: 15 + 10 cycles.
        pytest.param({}, {"wave_quantization_fraction": 0.0}, {"ideal_s": 0.5}, id="no whole waves"),
        # One tile on four arrays takes a wave of ten cycles.
        pytest.param(
            {"n": 8.0, "k": 4.0},
            {"wave_quantization_fraction": 0.0},
            {"tile_count": 1.0, "ideal_s": 0.4},
            id="less than a wave",
        ),
        # Half of it: 1.75 waves.
        pytest.param({}, {"wave_quantization_fraction": 0.5}, {"ideal_s": 27.5 / 50}, id="half of whole waves"),
        # Row by row.
        pytest.param({}, {"listed_m": 1.0}, {"tile_m": 1.0, "tile_count": 60.0}, id="one row"),
        # Never below the peak.
        pytest.param({"flops": 51_200.0}, {}, {"ideal_s": 2.0}, id="peak"),
    ],
)
def test_each_term(
    check: Callable[..., None], step: dict[str, object], tile: dict[str, object], expected: dict[str, object]
) -> None:
    """Each case changes one number."""
    check("tile_step", expected, shape_step=STEP | step, arithmetic_tile=TILE | tile)


def test_inputs_stay(check: Callable[..., None]) -> None:
    """The product is transposed: ten rows take two arrays of eight columns, the reduction of 6 two of four rows; all 20 columns stream."""
    expected = {
        "tile_m": 8.0,
        "tile_n": 20.0,
        "tile_k": 4.0,
        "tile_count": 4.0,
        "waves": 1.0,
        # One wave of max(20, 4) cycles, and 10 to fill: 30 at 50 a second.
        "ideal_s": 0.6,
        "pipelining_fraction": 20 / 30,
        # Inputs of 10 x 6 once, weights of 6 x 20 for each of two tiles of rows, and 200 results from one half of the
        # depth to the other, 4 bytes out and in.
        "reload_byte": 60.0 + 240.0 + 1600.0,
        # Two stages of 8 x 4 and 4 x 20 elements.
        "tile_byte": 2 * 112.0,
    }
    check("tile_step", expected, shape_step=STEP, arithmetic_tile=TILE | {"dataflow": "input_stationary"})


@pytest.mark.parametrize(
    ("tile", "expected"),
    [
        # Ten columns per part, twice as many tiles: two waves of ten.
        pytest.param({"divisor": 2.0}, {"tile_n": 10.0, "tile_count": 8.0, "ideal_s": 0.6}, id="parts of the columns"),
        # Five columns stay next to the inputs: inputs are read again for each of four parts.
        pytest.param({"held_rows": 5.0}, {"tile_n": 5.0, "reload_byte": 240.0 + 240.0}, id="columns held"),
        # Tiles of 5 x 10 x 3: two by two by two.
        pytest.param(
            {"listed_m": 5.0, "listed_n": 10.0, "listed_k": 3.0},
            {"tile_m": 5.0, "tile_n": 10.0, "tile_k": 3.0, "tile_count": 8.0},
            id="listed sizes",
        ),
    ],
)
def test_each_term_of_inputs(check: Callable[..., None], tile: dict[str, object], expected: dict[str, object]) -> None:
    check("tile_step", expected, shape_step=STEP, arithmetic_tile=TILE | {"dataflow": "input_stationary"} | tile)


@pytest.mark.parametrize("rows", [0.0, None])
def test_without_accumulators_partial_results_pass_through_the_tile_memory(check: Callable[..., None], rows: float | None) -> None:
    """The depth takes two folds, so that 10 x 20 results of 4 bytes leave once more and return; at a time, 10 x 8 are in the memory."""
    expected = {"reload_byte": 300.0 + 2 * 4 * 200.0, "tile_byte": 2 * 72 + 4 * 80.0}
    check("tile_step", expected, shape_step=STEP, arithmetic_tile=TILE | {"accumulator_rows": rows})
    # A depth of 4 takes one fold.
    shallow = STEP | {"k": 4.0, "flops": 1600.0}
    check("tile_step", {"reload_byte": 120.0 + 80.0}, shape_step=shallow, arithmetic_tile=TILE | {"accumulator_rows": rows})


MOVED = TILE | {"is_staged": True, "accumulator_rows": 0.0, "load_unit_byte_per_s": 10.0, "stream_unit_byte_per_s": 20.0}
"""A part on which software moves every byte."""


def test_where_software_moves_every_byte(check: Callable[..., None]) -> None:
    """Six tiles on four units, two turns: one unit takes both folds of the depth, so partial results meet there."""
    expected = {
        # Six tiles as above, and 10 x 20 results.
        "reload_byte": 300.0 + 200.0,
        # Three of four units are busy on average: 6 tiles in 2 turns of 10 bytes per second each.
        "reload_s": 500 / 30,
        # 10 x 6 for each of three column tiles, 6 x 20 once, 200 results, and as many out and in again, 4 bytes each.
        "stream_byte": 180.0 + 120.0 + 200.0 + 1600.0,
        "stream_s": 2100 / 60,
    }
    check("tile_step", expected, shape_step=STEP, arithmetic_tile=MOVED)
    # On six units each tile has its own: partial results cross from one to another, whether or not software moves the
    # other bytes.
    check("tile_step", {"reload_byte": 300.0 + 1600.0}, shape_step=STEP, arithmetic_tile=TILE | {"tile_unit_count": 6.0})
    check("tile_step", {"reload_byte": 500.0 + 1600.0}, shape_step=STEP, arithmetic_tile=MOVED | {"tile_unit_count": 6.0})
    # Accumulators keep the results of both folds from the stream.
    check("tile_step", {"stream_byte": 500.0}, shape_step=STEP, arithmetic_tile=MOVED | {"accumulator_rows": 10.0})
    # Inputs stay: 20 x 6 for each of two tiles of rows, 10 x 6 once; one turn on four units, so that halves of the
    # depth cross.
    expected = {"reload_byte": 300.0 + 200.0 + 1600.0, "stream_byte": 240.0 + 60.0 + 200.0 + 1600.0}
    check("tile_step", expected, shape_step=STEP, arithmetic_tile=MOVED | {"dataflow": "input_stationary"})


OWN = TILE | {"has_own_memory": True, "fetches_tiles": True, "tile_unit_count": 2.0, "tile_memory_byte": 1000.0}
"""Two arrays, each with a memory of its own next to one that both share."""


@pytest.mark.parametrize(
    ("step", "tile", "expected"),
    [
        # Three columns of two folds: a unit takes two columns and fetches the 10 x 6 rows once for both, the other unit again; the
        # weights of 6 x 20 cross once. One column is shared, and its 10 x 20 / 3 results cross from one unit to the other.
        pytest.param({}, {}, 2 * 60.0 + 120.0 + 1600 / 3, id="rows once per unit"),
        # Two stages of 6 x (10 + 8) bytes do not fit, nor do 20 rows of results of two columns in the accumulators.
        pytest.param({}, {"tile_memory_byte": 215.0, "accumulator_rows": 19.0}, 3 * 60.0 + 120.0 + 1600 / 3, id="rows again"),
        # Windows of four taps share half of the pixels: the fetch counts each once.
        pytest.param({"taps": 4, "image": 30.0}, {}, 2 * 30.0 + 120.0 + 1600 / 3, id="shared pixels"),
        # Inputs stay: weights of 6 x 20 stream past two columns of inputs, one on each unit.
        pytest.param({}, {"dataflow": "input_stationary"}, 60.0 + 2 * 120.0, id="inputs stay"),
        pytest.param({}, {"fetches_tiles": False}, 0.0, id="no shared memory"),
    ],
)
def test_what_units_fetch_from_a_shared_memory(
    check: Callable[..., None], step: dict[str, object], tile: dict[str, object], expected: float
) -> None:
    check("tile_step", {"fetch_byte": expected}, shape_step=STEP | step, arithmetic_tile=OWN | tile)


def test_an_array_streams_a_matrix_from_its_own_memory(check: Callable[..., None]) -> None:
    """10 x 6 for each of three column tiles, though windows share pixels, 6 x 20 once, and the results that cross: 300 + 1,600 / 3."""
    images = STEP | {"taps": 4, "image": 30.0}
    check("tile_step", {"reload_byte": 300.0 + 1600 / 3}, shape_step=images, arithmetic_tile=OWN)
    check("tile_step", {"reload_byte": 210.0 + 1600 / 3}, shape_step=images, arithmetic_tile=OWN | {"has_own_memory": False})
