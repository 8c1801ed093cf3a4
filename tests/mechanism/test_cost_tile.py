"""The products of a shape with the tile they run with."""

from __future__ import annotations

from collections.abc import Callable

SHAPE = {"step_count": 2, "unit_count": 8.0, "vector_units_allocated": 3.0}
CHOSEN = {
    "candidate": 7, "matrix_ideal_s": 4.0, "direct_ideal_s": 1.0, "matrix_op_s": 0.5, "direct_op_s": 0.25,
    "matrix_naive_s": 2.0, "direct_naive_s": 0.125, "product_energy_j": 6.0, "reload_byte": 9.0, "units_allocated": 5.0,
}  # fmt: skip


def test_with_products(check: Callable[..., None]) -> None:
    """One row of one winner; the wider of products and other steps allocates units."""
    check("cost_tile", CHOSEN, cost_border=SHAPE, tile_choice=CHOSEN)
    check(
        "cost_tile", {"units_allocated": 6.0}, cost_border=SHAPE | {"vector_units_allocated": 6.0}, tile_choice=CHOSEN
    )
    check("cost_tile", {"product_energy_j": None}, cost_border=SHAPE, tile_choice=CHOSEN | {"product_energy_j": None})


def test_without_products(check: Callable[..., None]) -> None:
    """Nothing, on the units of the other steps, or on all where there are no steps at all."""
    nothing = dict.fromkeys(CHOSEN, 0.0) | {"candidate": 0, "units_allocated": 3.0}
    check("cost_tile", nothing, cost_border=SHAPE)
    check(
        "cost_tile",
        nothing | {"units_allocated": 8.0},
        cost_border=SHAPE | {"step_count": 0, "vector_units_allocated": 0.0},
    )
