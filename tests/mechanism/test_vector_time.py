"""Time of all steps of a shape other than products."""

from __future__ import annotations

from collections.abc import Callable

STEP = {
    "ideal_s": 8.0,
    "flops": 800.0,
    "unit_ops_per_s": 50.0,
    "peak_ops_per_s": 100.0,
    "op_j": 0.5,
    "units_allocated": 2.0,
    "stream_byte": 30.0,
    "stream_s": 3.0,
}
SLOW = {
    "step_id": 1,
    "ideal_s": 20.0,
    "flops": 100.0,
    "unit_ops_per_s": 5.0,
    "peak_ops_per_s": 10.0,
    "op_j": 0.25,
    "stream_byte": 5.0,
    "stream_s": 1.0,
}


def test_steps_add_up(check: Callable[..., None]) -> None:
    """The widest step allocates units, the slowest decides the time of an operation."""
    expected = {
        "vector_ideal_s": 28.0,
        "vector_op_s": 0.2,  # the larger of 1 / 50 and 1 / 5
        "vector_naive_s": 18.0,  # 800 / 100 + 100 / 10
        "vector_energy_j": 425.0,  # 800 x 0.5 + 100 x 0.25
        "vector_units_allocated": 2.0,
        "vector_stream_byte": 35.0,
        "vector_stream_s": 4.0,
    }
    check("vector_time", expected, vector_step=[STEP, SLOW | {"units_allocated": 1.0}])


def test_without_arithmetic_an_operation_takes_no_time(check: Callable[..., None]) -> None:
    """The step only moves data."""
    check("vector_time", {"vector_op_s": 0.02, "vector_naive_s": 8.0}, vector_step=[STEP, SLOW | {"flops": 0.0}])


def test_unknown_energy_stays_unknown(check: Callable[..., None]) -> None:
    """One coefficient is missing."""
    check("vector_time", {"vector_energy_j": None, "vector_ideal_s": 28.0}, vector_step=[STEP, SLOW | {"op_j": None}])
