"""Steps other than products join the costs that do not depend on the tile."""

from __future__ import annotations

from collections.abc import Callable

VECTOR = {
    "vector_ideal_s": 4.0, "vector_op_s": 0.5, "vector_naive_s": 3.0, "vector_energy_j": 2.0, "vector_units_allocated": 5.0,
    "vector_stream_byte": 6.0, "vector_stream_s": 1.0,
}  # fmt: skip


def test_with_steps(check: Callable[..., None]) -> None:
    """The values pass unchanged; an unknown energy stays unknown."""
    check("cost_border", VECTOR, cost_untiled={}, vector_time=VECTOR)
    check("cost_border", {"vector_energy_j": None}, cost_untiled={}, vector_time=VECTOR | {"vector_energy_j": None})


def test_elements_of_a_kernel_without_products(check: Callable[..., None]) -> None:
    """Five elements of 0.5 J each and the 2 J of the steps; the first crossing of a product's operands is part of its loads."""
    loop = {"macs": 0.0, "loop_elements": 5.0, "element_j": 0.5}
    check("cost_border", {"vector_energy_j": 4.5}, cost_untiled=loop, vector_time=VECTOR)
    check("cost_border", {"vector_energy_j": 2.5}, cost_untiled=loop, vector_time=VECTOR | {"shape_id": 1})
    check("cost_border", {"vector_energy_j": 2.0}, cost_untiled=loop | {"macs": 1.0}, vector_time=VECTOR)


def test_without_steps(check: Callable[..., None]) -> None:
    """Time and energy are 0, not unknown."""
    check("cost_border", dict.fromkeys(VECTOR, 0.0), cost_untiled={}, vector_time=VECTOR | {"shape_id": 1})


def test_what_passes_every_level(check: Callable[..., None]) -> None:
    """1,200 bytes at the slower side of each border: 1,200 / 300 and 1,200 / 600."""
    rates = {"cache_byte_per_s": 300.0, "tile_memory_byte_per_s": 600.0, "stream_memory_byte_per_s": 800.0}
    part = {"moved_byte": 1200.0, "is_staged": True, "stream_level": "l1"} | rates
    check(
        "cost_border",
        {"staged_byte": 1200.0, "staged_load_s": 4.0, "passing_byte": 1200.0, "passing_s": 2.0},
        cost_untiled=part,
    )
    # A cache's loads bypass the tile memory and pass the first level at its own rate: 1,200 / 800.
    beside = {"staged_byte": 0.0, "staged_load_s": 0.0, "passing_byte": 1200.0, "passing_s": 1.5}
    check("cost_border", beside, cost_untiled=part | {"is_staged": False})
    check("cost_border", {"passing_byte": 0.0, "staged_byte": 1200.0}, cost_untiled=part | {"stream_level": None})
    unknown = part | dict.fromkeys(rates)
    check("cost_border", {"staged_load_s": 0.0, "passing_s": 0.0}, cost_untiled=unknown)
