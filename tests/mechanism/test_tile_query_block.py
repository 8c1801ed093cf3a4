"""PyTorch's attention on processors: each unit takes adjacent blocks of queries."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SCORES = {
    "is_product": True, "product_count": 2, "m": 10.0, "n": 10.0, "k": 5.0, "gemm_count": 2.0,
    "flops": 2000.0,  # 2 x 2 x 10 x 10 x 5
    "query_count": 10.0, "query_heads": 2.0,
}  # fmt: skip
SOFTMAX = {"is_product": False, "product_count": 2, "flops": 1000.0, "query_count": 10.0, "query_heads": 2.0}
TILE = {
    "dataflow": "query_block", "is_matrix": True, "executed_precision": "bf16", "vector_precision": "fp32",
    "op_j": 1e-12, "vector_op_j": 2e-12, "listed_m": 4.0, "listed_n": 512.0, "listed_k": 512.0, "stages": 1.0,
    "element_byte": 2.0, "lanes": 8.0, "fill_k": 2.0, "sustained_fraction": 0.5, "tile_unit_count": 2.0,
    "peak_ops_per_s": 512.0, "vector_ops_per_s": 200.0, "from_m": 0.0, "below_m": None,
}  # fmt: skip
"""Two units of 256 operations per second; half of it is sustained."""


def test_two_units(check: Callable[..., None]) -> None:
    """Two heads of ten queries are 2 x 3 blocks of four, four and two: each unit takes one head."""
    expected = {
        "tile_m": 4.0,
        # Ten keys in whole vectors of eight.
        "tile_n": 16.0,
        "tile_k": 5.0,
        "tile_count": 6.0,
        "units_allocated": 2.0,
        "waves": 3.0,
        "is_matrix": True,
        "executed_precision": "bf16",
        "unit_ops_per_s": 256.0,
        "peak_ops_per_s": 512.0,
        "op_j": 1e-12,
        # Ten rows, and two for each of three blocks to reorder keys and values: 16 rows.
        "pipelining_fraction": 10 / 16,
        # 2 x 16 rows x 16 keys x 5 = 2,560 operations at 256 / 2; at the peak 2,000 / 512 = 3.9.
        "ideal_s": 20.0,
        # 2 bytes x 2 heads x (10 x 5 once + 5 x 10 for each of three blocks).
        "reload_byte": 2 * 2 * (50.0 + 150.0),
        # 4 x 5 and 5 x 16 elements of 2 bytes, and 4 x 16 results of 4.
        "tile_byte": 2 * 100 + 256.0,
    }
    check("tile_step", expected, shape_step=SCORES, arithmetic_tile=TILE)


def test_four_units(check: Callable[..., None]) -> None:
    """Six blocks on four units: two units take two blocks of four queries, 8 rows and 2 x 2 to reorder."""
    tile = TILE | {"tile_unit_count": 4.0, "peak_ops_per_s": 1024.0, "vector_ops_per_s": 400.0}
    # 2 x 12 x 16 x 5 = 1,920 at 128 per second.
    check(
        "tile_step",
        {"waves": 2.0, "ideal_s": 15.0, "pipelining_fraction": 8 / 12},
        shape_step=SCORES,
        arithmetic_tile=tile,
    )
    # The busiest unit gets 8 of 20 rows of queries: 8 / 20 of 1,000 operations at 100 per second.
    check("tile_step", {"ideal_s": 4.0}, shape_step=SOFTMAX, arithmetic_tile=tile)


def test_whole_heads_and_part_of_one(check: Callable[..., None]) -> None:
    """Three heads of 10 queries in two blocks of eight and two, on one unit and on two: six blocks, three for each, one whole head of ten
    rows and a block of eight."""
    step = SCORES | {"query_heads": 3.0, "gemm_count": 3.0, "flops": 3000.0}
    tile = TILE | {"listed_m": 8.0}
    # 18 rows and 3 x 2: 2 x 24 x 16 x 5 = 3,840 at 128 per second.
    check("tile_step", {"tile_count": 6.0, "waves": 3.0, "ideal_s": 30.0}, shape_step=step, arithmetic_tile=tile)
    # One unit takes all: 30 rows and 6 x 2, 2 x 42 x 16 x 5 = 6,720 at 128 per second.
    tile |= {"tile_unit_count": 1.0, "peak_ops_per_s": 256.0}
    check("tile_step", {"waves": 6.0, "ideal_s": 52.5}, shape_step=step, arithmetic_tile=tile)


def test_what_is_no_product_stays_with_its_block(check: Callable[..., None]) -> None:
    """The step runs on the vector units, distributed as the products are."""
    expected = {
        "tile_m": None,
        "is_matrix": False,
        "executed_precision": "fp32",
        "unit_ops_per_s": 100.0,
        "op_j": 2e-12,
        "pipelining_fraction": 1.0,
        "reload_byte": 0.0,
        "tile_byte": 0.0,
        # Ten of twenty rows: half of 1,000 operations at 100 per second; at the peak 1,000 / 200 as well.
        "ideal_s": 5.0,
    }
    check("tile_step", expected, shape_step=SOFTMAX, arithmetic_tile=TILE)


@pytest.mark.parametrize(
    ("queries", "count"), [(191.0, 0), (192.0, 1), (767.0, 1), (768.0, 0), (None, 0)]
)  # fmt: skip
def test_blocks_by_the_number_of_queries(
    evaluate: Callable[..., list[object]], queries: float | None, count: int
) -> None:
    """From 192 queries on, below 768; steps outside attention have none."""
    tile = TILE | {"from_m": 192.0, "below_m": 768.0}
    assert len(evaluate("tile_query_block", shape_step=[SCORES | {"query_count": queries}], arithmetic_tile=[tile])) == count
