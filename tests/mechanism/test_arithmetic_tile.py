"""A listed tile with its rates and memories on a part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

RATE = {
    "family": "gpu", "matrix_instruction": "mma", "element_byte": 2.0, "unit_count": 10.0, "vector_unit_count": 10.0, "lanes": 8.0,
    "tile_memory_byte": 65_536.0, "tile_memory_byte_per_s": 500.0, "clock_hz": 100.0, "matrix_ops_per_s": 8000.0,
    "matrix_precision": "fp16", "matrix_unit_count": 5.0, "matrix_array_rows": 4.0, "matrix_array_columns": 2.0,
    "matrix_op_j": 1.0, "vector_ops_per_s": 2000.0, "vector_precision": "fp32", "vector_op_j": 2.0,
    "block_threads": 256.0,
}  # fmt: skip
TILE = {
    "strategy": "blocks", "family": "gpu", "dataflow": "output_stationary", "tile_m": 16, "tile_n": 8, "tile_k": 4,
    "divisor": 1, "split_k": 1, "stages": 2, "fill_k": 3.0, "fill_clock": 50.0, "exposed_fill": 1.0, "latency_clock": 20.0,
    "wave_quantization_fraction": 0.5, "efficiency_fraction": 0.5,
}  # fmt: skip


def test_listed_tile(check: Callable[..., None]) -> None:
    """Matrix units reach 8,000 operations per second on ten units."""
    expected = {
        "dataflow": "listed",
        "strategy": "blocks",
        "is_matrix": True,
        "executed_precision": "fp16",
        "op_j": 1.0,
        "tile_unit_count": 10.0,
        "peak_ops_per_s": 8000.0,
        "unit_ops_per_s": 800.0,
        "step_k": 4.0,
        "longest_fill_s": 0.5,  # 50 clocks at 100 per second
        "start_s": 0.2,
        "filled_fraction": 0.5,
        "sustained_fraction": 0.5,
        "vector_ops_per_s": 2000.0,
    }
    check("arithmetic_tile", expected, arithmetic_rate=RATE, part_strategy=TILE)
    check("arithmetic_tile", {"step_k": 2.0}, arithmetic_rate=RATE, part_strategy=TILE | {"step_k": 2})


def test_where_tiles_are_loaded_from(check: Callable[..., None]) -> None:
    """Tiles load from the memory next to the units, else from the last-level cache."""
    beside, without = {"load_byte_per_s": 500.0}, {"load_byte_per_s": 300.0, "tile_memory_byte_per_s": None}
    check("arithmetic_tile", {"tile_memory_byte_per_s": 500.0}, arithmetic_rate=RATE | beside, part_strategy=TILE)
    check("arithmetic_tile", {"tile_memory_byte_per_s": 300.0}, arithmetic_rate=RATE | without, part_strategy=TILE)


@pytest.mark.parametrize(
    ("tile", "rate", "level"),
    [
        # Results of 16 x 8 x 4 = 512 bytes; a step of 4 x (16 + 8) elements of 2 bytes is 192.
        ({}, {"register_byte": 512.0, "tile_memory_byte": 704.0}, None),
        ({}, {"tile_memory_byte": 703.0}, "tile"),
        # Units with a tile instruction keep the results in registers.
        ({"matrix_instruction": "mma"}, {"register_byte": 512.0, "tile_memory_byte": 192.0}, None),
        ({"matrix_instruction": "mma"}, {"register_byte": 512.0, "tile_memory_byte": 191.0}, "tile"),
        ({"matrix_instruction": "mma"}, {"register_byte": 511.0}, "register"),
        # If nothing is known, nothing is refused; a fitted size fits.
        ({}, {"tile_memory_byte": None}, None),
        ({"tile_m": 0}, {"tile_memory_byte": 1.0}, None),
    ],
)
def test_what_no_level_holds(
    check: Callable[..., None], tile: dict[str, Any], rate: dict[str, Any], level: str | None
) -> None:
    """A listed tile names the level that it overflows."""
    check("arithmetic_tile", {"overflowing_level": level}, arithmetic_rate=RATE | rate, part_strategy=TILE | tile)


@pytest.mark.parametrize(
    ("memory_byte", "rows", "level"), [(80.0, 2.0, None), (79.0, 1.0, None), (55.0, 0.0, "tile"), (None, None, None)]
)
def test_rows_beside_the_weights(
    check: Callable[..., None], memory_byte: float | None, rows: float | None, level: str | None
) -> None:
    """Two arrays of 4 x 2 weights of 2 bytes are 32 bytes; a row is twice 4 of 2 bytes and 2 results of 4: 24."""
    tile = TILE | {"dataflow": "weight_stationary"}
    expected = {"held_rows": rows, "overflowing_level": level}
    tile |= {"tile_m": 0, "tile_n": 0, "tile_k": 0}
    check("arithmetic_tile", expected, arithmetic_rate=RATE | {"tile_memory_byte": memory_byte}, part_strategy=tile)
    # With accumulators for five rows, only two arrays of weights and twice 4 of 2 bytes a row need room.
    keeping = RATE | {"tile_memory_byte": memory_byte, "accumulator_rows": 5.0}
    fitting = 5.0 if memory_byte is None else min(5.0, (memory_byte - 32) // 16)
    check("arithmetic_tile", {"held_rows": fitting}, arithmetic_rate=keeping, part_strategy=tile)
    check(
        "arithmetic_tile", {"held_rows": 1.0}, arithmetic_rate=keeping | {"accumulator_rows": 1.0}, part_strategy=tile
    )
    # Three columns are more than the array has.
    wide = tile | {"tile_n": 3}
    check("arithmetic_tile", {"overflowing_level": "array"}, arithmetic_rate=RATE, part_strategy=wide)


@pytest.mark.parametrize(
    ("fed_macs", "sustained"),
    [
        # Its units need 8,000 / (2 x 16) x 2 bytes = 500 per second, all that the memory next to them provides: half
        # the peak.
        (16.0, 0.5),
        # With 250 of 500 the loss is halved: 0.5 / (0.5 + 0.5 / 2).
        (32.0, 2 / 3),
        # Never more than the full loss.
        (8.0, 0.5),
    ],
)
def test_small_tiles_on_units_that_can_be_fed(check: Callable[..., None], fed_macs: float, sustained: float) -> None:
    """Slower units lose less."""
    tile = TILE | {"fed_macs": fed_macs}
    check("arithmetic_tile", {"sustained_fraction": sustained, "filled_fraction": 0.5}, arithmetic_rate=RATE, part_strategy=tile)


@pytest.mark.parametrize(
    ("divisor", "byte", "block"),
    [
        # 2 x 64^2 x (2 + 2 + 4) bytes are 65,536.
        (1, 65_536.0, 64.0),
        (2, 65_536.0, 32.0),
        # 3 does not divide 64 into whole vectors of 8: floor(64 / 24) x 8.
        (3, 65_536.0, 16.0),
        # One byte less is one vector less.
        (1, 65_535.0, 56.0),
        # Never below a vector.
        (16, 65_536.0, 8.0),
        (1, 1.0, 8.0),
    ],
)
def test_square_block(check: Callable[..., None], divisor: int, byte: float, block: float) -> None:
    """2 T^2 (b_A + b_B + b_acc) fit the core's own cache."""
    tile = TILE | {"tile_m": 0, "tile_n": 0, "tile_k": 0, "divisor": divisor}
    expected = {"dataflow": "square", "square_block": block}
    check("arithmetic_tile", expected, arithmetic_rate=RATE | {"stated_tile_memory_byte": byte}, part_strategy=tile)


@pytest.mark.parametrize(
    ("divisor", "now_byte", "block", "overflowing"),
    [
        # A cache four times as large fits blocks of twice the side, and the former ones too.
        (0.5, 4 * 65_536.0, 128.0, None),
        (1, 4 * 65_536.0, 64.0, None),
        (0.5, 4 * 65_536.0 - 1, 128.0, "tile"),
        # A cache a quarter as large fits half the side.
        (1, 16_384.0, 64.0, "tile"),
        (2, 16_384.0, 32.0, None),
        # A vector always fits.
        (8, 1.0, 8.0, None),
    ],
)
def test_square_blocks_of_another_cache(
    check: Callable[..., None], divisor: float, now_byte: float, block: float, overflowing: str | None
) -> None:
    """Block sizes follow the cache stated in the part's file; a block too large for the current cache is refused."""
    tile = TILE | {"tile_m": 0, "tile_n": 0, "tile_k": 0, "divisor": divisor}
    rate = RATE | {"stated_tile_memory_byte": 65_536.0, "tile_memory_byte": now_byte}
    expected = {"square_block": block, "overflowing_level": overflowing}
    check("arithmetic_tile", expected, arithmetic_rate=rate, part_strategy=tile)


def test_systolic_array(check: Callable[..., None]) -> None:
    """Five arrays of 4 x 2 do 80 operations per step: a hundred steps per second at the peak."""
    tile = TILE | {"family": "*", "dataflow": "weight_stationary", "tile_m": 0, "tile_n": 0, "tile_k": 0}
    expected = {
        "dataflow": "weight_stationary",
        "is_matrix": True,
        "tile_unit_count": 5.0,
        "unit_ops_per_s": 1600.0,
        "array_clock_hz": 100.0,  # 8,000 / (2 x 4 x 2 x 5)
    }
    check("arithmetic_tile", expected, arithmetic_rate=RATE, part_strategy=tile)


NO_MATRIX = {"matrix_ops_per_s": None, "matrix_precision": None, "matrix_op_j": None}


def test_an_array_that_does_not_know_the_type(
    check: Callable[..., None], evaluate: Callable[..., list[dict[str, Any]]]
) -> None:
    """The whole product goes to the vector units, with one candidate however many divisors are listed."""
    tile = TILE | {"family": "*", "dataflow": "wavefront", "tile_m": 0, "tile_n": 0, "tile_k": 0}
    expected = {
        "dataflow": "direct",
        "strategy": None,
        "is_matrix": False,
        "executed_precision": "fp32",
        "peak_ops_per_s": 2000.0,
        "op_j": 2.0,
        "listed_n": None,
        "filled_fraction": 1.0,
        "sustained_fraction": 1.0,
    }
    rate = RATE | NO_MATRIX | {"matrix_unit_count": None}
    check("arithmetic_tile", expected, arithmetic_rate=rate, part_strategy=tile)
    assert not evaluate("arithmetic_tile", arithmetic_rate=[rate], part_strategy=[tile | {"divisor": 2}])


def test_blocks_on_vector_units(check: Callable[..., None]) -> None:
    """A part without tensor cores runs the same tiles at the vector units' peak."""
    expected = {
        "is_matrix": False,
        "executed_precision": "fp32",
        "peak_ops_per_s": 2000.0,
        "op_j": 2.0,
        "dataflow": "listed",
    }
    check("arithmetic_tile", expected, arithmetic_rate=RATE | NO_MATRIX, part_strategy=TILE)


@pytest.mark.parametrize(
    ("rate", "tile", "count"),
    [
        ({}, {}, 1),
        ({}, {"dataflow": "direct"}, 1),
        ({"vector_ops_per_s": None}, {"dataflow": "direct"}, 0),
        ({}, {"dataflow": "query_block"}, 0),
        ({"cuts_queries": True}, {"dataflow": "query_block"}, 1),
        ({"matrix_ops_per_s": 0.0}, {}, 0),
        (NO_MATRIX | {"vector_ops_per_s": None}, {}, 0),
    ],
)
def test_who_is_offered_what(
    evaluate: Callable[..., list[object]], rate: dict[str, Any], tile: dict[str, Any], count: int
) -> None:
    """Tiles depend on the dataflow and the part's units; a part without a peak gets none."""
    assert len(evaluate("arithmetic_tile", arithmetic_rate=[RATE | rate], part_strategy=[TILE | tile])) == count


def test_direct_never_uses_the_matrix_units(check: Callable[..., None]) -> None:
    """Narrow products run on vector units."""
    tile = TILE | {"dataflow": "direct", "tile_m": 0, "tile_n": 16, "tile_k": 0}
    expected = {
        "is_matrix": False,
        "peak_ops_per_s": 2000.0,
        "listed_n": 16.0,
        "dataflow": "direct",
        "strategy": "blocks",
    }
    check("arithmetic_tile", expected, arithmetic_rate=RATE, part_strategy=tile)
