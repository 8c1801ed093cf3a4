"""Steps that are no products join what does not depend on the tile."""

from __future__ import annotations

from collections.abc import Callable

VECTOR = {
    "vector_ideal_s": 4.0, "vector_op_s": 0.5, "vector_naive_s": 3.0, "vector_energy_j": 2.0, "vector_units_allocated": 5.0,
}  # fmt: skip


def test_with_steps(check: Callable[..., None]) -> None:
    """As they are; an unknown energy stays unknown."""
    check("cost_border", VECTOR, last_link={}, vector_time=VECTOR)
    check("cost_border", {"vector_energy_j": None}, last_link={}, vector_time=VECTOR | {"vector_energy_j": None})


def test_without_steps(check: Callable[..., None]) -> None:
    """Nothing, and no energy: known, not unknown."""
    check("cost_border", dict.fromkeys(VECTOR, 0.0), last_link={}, vector_time=VECTOR | {"shape_id": 1})
