"""The products of a shape with the tile they run with."""

from __future__ import annotations

from collections.abc import Callable

SHAPE = {
    "step_count": 2, "product_count": 1, "unit_count": 8.0, "vector_units_allocated": 3.0, "staged_byte": 0.0,
    "staged_load_s": 0.0, "passing_byte": 0.0, "passing_s": 0.0, "vector_stream_byte": 0.0, "vector_stream_s": 0.0,
}  # fmt: skip
CHOSEN = {
    "candidate": 7, "matrix_ideal_s": 4.0, "direct_ideal_s": 1.0, "matrix_op_s": 0.5, "direct_op_s": 0.25,
    "matrix_naive_s": 2.0, "direct_naive_s": 0.125, "product_energy_j": 6.0, "reload_byte": 9.0, "reload_s": 3.0,
    "fetch_byte": 11.0, "stream_byte": 7.0, "stream_s": 2.0, "units_allocated": 5.0,
}  # fmt: skip
RANKED = CHOSEN | {"rank_s": 1.0}


def test_with_products(check: Callable[..., None]) -> None:
    """The row of one winner; the wider of products and other steps allocates units."""
    check("cost_tile", CHOSEN, tile_rank=SHAPE | RANKED)
    check(
        "cost_tile", {"units_allocated": 6.0}, tile_rank=SHAPE | {"vector_units_allocated": 6.0} | RANKED
    )
    check("cost_tile", {"product_energy_j": None}, tile_rank=SHAPE | RANKED | {"product_energy_j": None})


def test_without_products(check: Callable[..., None]) -> None:
    """Costs are 0, on the units of the other steps, or on all units without any step."""
    nothing = dict.fromkeys(CHOSEN, 0.0) | {"candidate": 0, "units_allocated": 3.0}
    shape = SHAPE | {"product_count": 0}
    check("cost_tile", nothing | {"fault": None}, cost_border=shape)
    check(
        "cost_tile",
        nothing | {"units_allocated": 8.0},
        cost_border=shape | {"step_count": 0, "vector_units_allocated": 0.0},
    )


def test_what_no_tile_suits(check: Callable[..., None]) -> None:
    """A product without a tile has no cost, and the reason is given."""
    check("cost_tile", {"fault": "no tile fits"}, cost_border=SHAPE)
    check("cost_tile", {"fault": "clock"}, cost_border=SHAPE | {"number_fault": "clock"})


def test_what_passes_every_level(check: Callable[..., None]) -> None:
    """If software moves bytes, tiles load at least all bytes of the kernel; other steps stream in addition to the products."""
    shape = SHAPE | {"staged_byte": 8.0, "staged_load_s": 4.0, "passing_byte": 8.0, "passing_s": 1.0}
    expected = {"reload_byte": 9.0, "reload_s": 4.0, "stream_byte": 8.0, "stream_s": 2.0}
    check("cost_tile", expected, tile_rank=shape | RANKED)
    beside = shape | {"vector_stream_byte": 3.0, "vector_stream_s": 1.0}
    check("cost_tile", {"stream_byte": 10.0, "stream_s": 3.0}, tile_rank=beside | RANKED)


def test_a_step_that_the_part_has_no_rate_for(check: Callable[..., None]) -> None:
    """One of two other steps has a rate: the kernel has no cost. Blocks of queries include such steps themselves."""
    shape = SHAPE | {"step_count": 3, "vector_step_count": 1}
    check("cost_tile", {"fault": "no rate for a step"}, tile_rank=shape | RANKED)
    check("cost_tile", {"fault": None}, tile_rank=shape | {"vector_step_count": 2} | RANKED)
    check("cost_tile", {"fault": None}, tile_rank=shape | {"query_count": 196} | RANKED)
    check("cost_tile", {"fault": "clock"}, tile_rank=shape | {"number_fault": "clock"} | RANKED)
