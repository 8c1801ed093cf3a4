"""Square blocks fitted to a core's own cache."""

from __future__ import annotations

from collections.abc import Callable

import pytest

STEP = {
    "is_product": True, "product_count": 1, "m": 40.0, "n": 20.0, "k": 64.0, "gemm_count": 2.0,
    "flops": 204_800.0,  # 2 x 2 x 40 x 20 x 64
}  # fmt: skip
TILE = {
    "dataflow": "square", "strategy": "blocks", "is_matrix": False, "executed_precision": "fp32", "op_j": 1e-12,
    "square_block": 32.0, "lanes": 8.0, "stages": 2.0, "element_byte": 4.0, "tile_unit_count": 3.0,
    "peak_ops_per_s": 192.0, "unit_ops_per_s": 64.0, "sustained_fraction": 0.75, "wave_quantization_fraction": 1.0,
}  # fmt: skip


def test_blocks_in_whole_waves(check: Callable[..., None]) -> None:
    """Two products of 2 x 1 blocks on three cores."""
    expected = {
        # A block of 32 x 32 x 32, no wider than the 20 columns in whole vectors of 8.
        "tile_m": 32.0,
        "tile_n": 24.0,
        "tile_k": 32.0,
        "tile_count": 4.0,
        "units_allocated": 3.0,
        "waves": 2.0,
        "pipelining_fraction": 1.0,
        # 4 bytes x 2 products x (40 x 64 once + 64 x 20 for each of two rows of blocks).
        "reload_byte": 4 * 2 * (2560.0 + 2560.0),
        # Two stages of 32 x 32 and 32 x 24 elements of 4 bytes, and 32 x 24 results of 4.
        "tile_byte": 2 * 4 * (1024 + 768) + 3072.0,
        # Two waves of 2 x 32 x 24 x 64 = 98,304 operations at 64 x 0.75 = 48 a second; at the peak 204,800 / 192 = 1,067.
        "ideal_s": 4096.0,
    }
    check("tile_step", expected, shape_step=STEP, arithmetic_tile=TILE)


@pytest.mark.parametrize(
    ("step", "tile", "expected"),
    [
        # A block of 8 in a product of 4 rows and 3 columns, half a vector wide: 2 x 4 x 8 x 64 / 48, one wave of two blocks.
        pytest.param(
            {"m": 4.0, "n": 3.0, "flops": 1536.0 * 2},
            {"square_block": 8.0},
            {
                "tile_m": 4.0,
                "tile_n": 8.0,
                "tile_k": 8.0,
                "tile_count": 2.0,
                "units_allocated": 2.0,
                "ideal_s": 4096 / 48,
            },
            id="small product",
        ),
        # Half of the waves wait: 0.5 x 2 + 0.5 x 4 / 3 = 5 / 3 of 2,048 s.
        pytest.param({}, {"wave_quantization_fraction": 0.5}, {"ideal_s": 2048 * 5 / 3}, id="part of a wave"),
        # Blocks of 16 in the first level: 4 bytes x 2 x (40 x 64 for each of two columns + 64 x 20 for each of three rows).
        pytest.param(
            {}, {"stream_memory_byte": 9000.0, "stream_block": 16.0, "stream_memory_byte_per_s": 512.0},
            {"stream_byte": 71_680.0, "stream_s": 140.0}, id="first level",
        ),
        # No larger than the block they are part of, 32 x 24.
        pytest.param(
            {}, {"stream_memory_byte": 9000.0, "stream_block": 64.0}, {"stream_byte": 40_960.0, "stream_s": 0.0},
            id="large first level",
        ),
        # Never below the peak: 204,800 / 20.
        pytest.param({}, {"peak_ops_per_s": 20.0}, {"ideal_s": 10_240.0}, id="peak"),
    ],
)  # fmt: skip
def test_each_term(
    check: Callable[..., None], step: dict[str, object], tile: dict[str, object], expected: dict[str, object]
) -> None:
    """Each case changes one number."""
    check("tile_step", expected, shape_step=STEP | step, arithmetic_tile=TILE | tile)


@pytest.mark.parametrize(("cuts_queries", "count"), [(True, 0), (False, 1)])
def test_attention_goes_by_queries_where_these_are_cut(
    evaluate: Callable[..., list[object]], cuts_queries: bool, count: int
) -> None:
    """`tile_query_block` places it."""
    rows = evaluate(
        "tile_square", shape_step=[STEP | {"query_count": 40.0}], arithmetic_tile=[TILE | {"cuts_queries": cuts_queries}]
    )
    assert len(rows) == count


def test_rounds_that_follow_one_upon_another_share_no_wave(check: Callable[..., None]) -> None:
    """The same two products, the second of which waits for the first: each takes its 2 blocks in a separate wave."""
    check(
        "tile_step",
        {"waves": 2.0, "tile_count": 4.0, "ideal_s": 4096.0},
        shape_step=STEP | {"rounds": 2.0},
        arithmetic_tile=TILE,
    )
    # On four cores all blocks of both would fit into one wave if they were independent.
    wide = TILE | {"tile_unit_count": 4.0, "peak_ops_per_s": 256.0}
    check("tile_step", {"waves": 1.0, "ideal_s": 2048.0}, shape_step=STEP, arithmetic_tile=wide)
    check("tile_step", {"waves": 2.0, "ideal_s": 4096.0}, shape_step=STEP | {"rounds": 2.0}, arithmetic_tile=wide)
