"""Time of all products of a shape with each candidate tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MATRIX = {
    "is_product": True, "is_matrix": True, "ideal_s": 3.0, "flops": 100.0, "unit_ops_per_s": 4.0, "peak_ops_per_s": 50.0,
    "op_j": 0.5, "reload_byte": 7.0, "units_allocated": 2.0, "tile_unit_count": 4.0,
}  # fmt: skip
VECTOR = MATRIX | {"is_matrix": False, "ideal_s": 5.0, "unit_ops_per_s": 2.0, "op_j": 0.25, "units_allocated": 3.0}


def steps(*records: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the records as steps of one shape, under the relation of listed tiles."""
    return {"tile_step": [{"step_id": i, **record} for i, record in enumerate(records)]}


def test_one_product(check: Callable[..., None]) -> None:
    """Its row, by the kind of unit."""
    expected = {
        "matrix_ideal_s": 3.0,
        "direct_ideal_s": 0.0,
        "matrix_op_s": 0.25,  # 1 / 4
        "direct_op_s": 0.0,
        "matrix_naive_s": 2.0,  # 100 / 50
        "direct_naive_s": 0.0,
        "product_energy_j": 50.0,  # 100 x 0.5
        "reload_byte": 7.0,
        "units_allocated": 2.0,
    }
    check("tile_time", expected, **steps(MATRIX | {"product_count": 1}))
    expected |= {"matrix_ideal_s": 0.0, "direct_ideal_s": 5.0, "matrix_op_s": 0.0, "direct_op_s": 0.5}
    expected |= {"matrix_naive_s": 0.0, "direct_naive_s": 2.0, "product_energy_j": 25.0, "units_allocated": 3.0}
    check("tile_time", expected, **steps(VECTOR | {"product_count": 1}))


def test_products_add_up(check: Callable[..., None]) -> None:
    """Two on the matrix units, each with its half_work; two on the vector units, whose slowest step counts."""
    slow = VECTOR | {"unit_ops_per_s": 1.0}
    expected = {
        "matrix_ideal_s": 6.0,
        "direct_ideal_s": 10.0,
        "matrix_op_s": 0.5,  # 0.25 + 0.25
        "direct_op_s": 1.0,  # the larger of 0.5 and 1
        "matrix_naive_s": 4.0,
        "direct_naive_s": 4.0,
        "product_energy_j": 150.0,  # 2 x 50 + 2 x 25
        "reload_byte": 28.0,
        "units_allocated": 3.0,
    }
    four = [record | {"product_count": 4} for record in (MATRIX, MATRIX, VECTOR, slow)]
    check("tile_time", expected, **steps(*four))


def test_softmax_between_two_products_counts(check: Callable[..., None]) -> None:
    """A step other than a product runs in the same blocks of queries (`tile_query_block`)."""
    softmax = VECTOR | {"is_product": False, "product_count": 2}
    product = MATRIX | {"product_count": 2}
    check("tile_time", {"matrix_ideal_s": 6.0, "direct_ideal_s": 5.0}, **steps(product, softmax, product))


def test_a_tile_must_suit_every_product(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Candidate 1 suits one of two products: it is excluded."""
    product = MATRIX | {"product_count": 2}
    rows = evaluate("tile_time", **steps(product, product, product | {"candidate": 1}))
    assert [row["candidate"] for row in rows] == [0]


def test_unknown_energy_stays_unknown(check: Callable[..., None]) -> None:
    """One coefficient is missing: the others are not summed."""
    product = MATRIX | {"product_count": 2}
    check("tile_time", {"product_energy_j": None, "matrix_ideal_s": 6.0}, **steps(product, product | {"op_j": None}))


def test_nothing_to_compute_costs_no_half_work(check: Callable[..., None]) -> None:
    """The product has no operations."""
    check(
        "tile_time", {"matrix_op_s": 0.0, "product_energy_j": 0.0}, **steps(MATRIX | {"product_count": 1, "flops": 0.0})
    )
