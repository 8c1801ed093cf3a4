"""Blocks of a domain-flow product, and the levels too small for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

STEP = {"is_product": True, "product_count": 1, "m": 20.0, "n": 12.0, "k": 30.0, "gemm_count": 1.0}
TILE = {
    "dataflow": "wavefront", "matrix_array_rows": 4.0, "matrix_array_columns": 4.0, "stages": 2.0, "element_byte": 1.0,
    "tile_memory_byte": 400.0, "stream_memory_byte": 64.0, "listed_m": 0.0, "listed_n": 0.0, "listed_k": 0.0, "split_k": 1.0,
}  # fmt: skip
"""Arrays of 4 x 4: a step takes 2 x (4 + 4) of 64 bytes; the tile memory has room for 25 of them."""


@pytest.mark.parametrize(
    ("tile", "expected"),
    [
        # An array's own tile streams: slabs as deep as fit in 400 bytes, without results.
        pytest.param(
            {},
            {"tile_m": 4.0, "tile_n": 4.0, "tile_k": 25.0, "block_tiles": 1.0, "slab_count": 1.0, "slab_k": 30.0,
             "kept_result_byte": 0.0, "block_byte": 400.0, "step_byte": 16.0, "product_count_m": 5.0, "product_count_n": 3.0,
             "overflowing_level": None},
            id="array",
        ),
        pytest.param({"tile_memory_byte": None}, {"tile_k": 30.0, "overflowing_level": None}, id="unknown size"),
        pytest.param({"tile_memory_byte": 16.0}, {"tile_k": 1.0, "overflowing_level": None}, id="one step"),
        pytest.param({"tile_memory_byte": 15.0}, {"overflowing_level": "tile"}, id="not one step"),
        pytest.param({"stream_memory_byte": 15.0}, {"overflowing_level": "stream"}, id="not one step of the buffers"),
        # Half the reduction per unit.
        pytest.param({"split_k": 2.0}, {"slice_k": 15.0, "tile_k": 15.0, "slab_k": 15.0}, id="split"),
        # 2 x (8 + 8) x 30 bytes of both operands at once are too many.
        pytest.param(
            {"listed_m": 8.0, "listed_n": 8.0},
            {"block_tiles": 4.0, "tile_k": 30.0, "slab_count": 1.0, "block_byte": 960.0, "overflowing_level": "tile"},
            id="whole reduction",
        ),
        # 2 x (8 + 8) x 4 and 64 results of 4: 384 of 400. Thirty steps are eight slabs of 3.75.
        pytest.param(
            {"listed_m": 8.0, "listed_n": 8.0, "listed_k": 4.0},
            {"block_tiles": 4.0, "slab_count": 8.0, "slab_k": 3.75, "kept_result_byte": 256.0, "block_byte": 384.0,
             "overflowing_level": None},
            id="slabs",
        ),
        # A step more is 416.
        pytest.param({"listed_m": 8.0, "listed_n": 8.0, "listed_k": 5.0}, {"overflowing_level": "tile"}, id="slabs too deep"),
        # 20 rows are two blocks of 8 and half of one: two, two and one tiles of the array; 6 rows take two tiles of
        # four.
        pytest.param({"listed_m": 8.0}, {"block_tiles": 2.0, "product_count_m": 5.0}, id="part of a block"),
        pytest.param({"listed_m": 6.0}, {"block_tiles": 2.0, "product_count_m": 7.0}, id="part of an array"),
        # A block larger than the product has the tiles of the product.
        pytest.param({"listed_n": 64.0}, {"block_tiles": 3.0, "product_count_n": 3.0}, id="part of a product"),
        # Four rows of 14 steps and twice four columns fit in 64 bytes, 15 steps do not.
        pytest.param({"split_k": 2.0, "stream_memory_byte": 68.0}, {"slab_k": 15.0, "holds_rows": True}, id="rows stay"),
        pytest.param({"split_k": 2.0, "stream_memory_byte": 67.0}, {"holds_rows": False}, id="rows do not"),
    ],
)  # fmt: skip
def test_each_term(check: Callable[..., None], tile: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("tile_block", expected, shape_step=STEP, arithmetic_tile=TILE | tile)
