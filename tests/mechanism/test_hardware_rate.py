"""The peak that an element type runs at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

PRECISIONS = [
    {"precision": "fp32", "fallback": None, "bits": 32},
    {"precision": "fp16", "fallback": "fp32", "bits": 16},
    {"precision": "int8", "fallback": "fp16", "bits": 8},
    {"precision": "int4", "fallback": "int8", "bits": 4},
]
ARRAY = {"cluster": "all", "unit_count": 10.0, "array_rows": 1.0, "array_columns": 1.0}


def peak(precision: str, unit: str, ops: float, accumulator: str = "fp32", cluster: str = "all") -> dict[str, Any]:
    """Make a row of `hardware_peak`."""
    return {"precision": precision, "unit": unit, "peak_ops_per_s": ops, "accumulator": accumulator, "cluster": cluster}


def rate(evaluate: Callable[..., list[dict[str, Any]]], precision: str, **given: Any) -> dict[str, Any]:
    """Return the row of one element type."""
    rows = evaluate("hardware_rate", **{"precision": PRECISIONS, "part_array": [ARRAY], **given})
    (row,) = [row for row in rows if row["precision"] == precision]
    return row


@pytest.mark.parametrize(
    ("precision", "matrix", "vector", "is_native"),
    [
        ("fp32", (None, None), (5e12, "fp32"), True),
        ("fp16", (8e12, "fp16"), (5e12, "fp32"), True),  # on the vector units one fallback away
        ("int8", (8e12, "fp16"), (5e12, "fp32"), False),  # one away, and two
        ("int4", (8e12, "fp16"), (5e12, "fp32"), False),  # two away, and three
    ],
)
def test_fallback(
    evaluate: Callable[..., list[dict[str, Any]]],
    precision: str,
    matrix: tuple[float | None, str | None],
    vector: tuple[float, str],
    is_native: bool,
) -> None:
    """Matrix units for fp16, vector units for fp32."""
    row = rate(evaluate, precision, part_peak=[peak("fp16", "matrix", 8e12), peak("fp32", "vector", 5e12)])
    assert (row["matrix_ops_per_s"], row["matrix_precision"]) == matrix
    assert (row["vector_ops_per_s"], row["vector_precision"]) == vector
    assert row["is_native"] is is_native


@pytest.mark.parametrize(("wider", "found"), [(None, (8e12, "bf16")), ("fp16", (None, None)), ("fp32", (None, None))])
def test_half_precision_on_a_part_that_has_only_bf16(
    evaluate: Callable[..., list[dict[str, Any]]], wider: str | None, found: tuple[float | None, str | None]
) -> None:
    """A matrix unit of int8 and bf16 computes fp16 in bf16, unless vector units have fp16 or fp32."""
    kinds = {"int8": "integer", "int4": "integer"}
    types = [t | {"kind": kinds.get(t["precision"], "float")} for t in (*PRECISIONS, {"precision": "bf16", "fallback": "fp32", "bits": 16})]
    peaks = [peak("int8", "matrix", 16e12), peak("bf16", "matrix", 8e12)] + ([peak(wider, "vector", 1e12)] if wider else [])
    rows = {r["precision"]: r for r in evaluate("hardware_rate", precision=types, part_array=[ARRAY], part_peak=[*peaks, peak("bf16", "vector", 2e12)])}
    assert (rows["fp16"]["matrix_ops_per_s"], rows["fp16"]["matrix_precision"]) == found
    assert (rows["int8"]["matrix_ops_per_s"], rows["int8"]["vector_ops_per_s"]) == (16e12, 1e12 if wider else 2e12)


def test_a_type_that_takes_several_operations_of_another(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """An int64 operation takes four of int32, which takes two of fp32: an eighth of 8e12, and eight times the energy."""
    types = [
        {"precision": "fp32", "fallback": None, "bits": 32},
        {"precision": "int32", "fallback": "fp32", "fallback_operations": 2.0, "bits": 32},
        {"precision": "int64", "fallback": "int32", "fallback_operations": 4.0, "bits": 64},
    ]
    energy = [{"what": "op", "key": f"fp32.{unit}", "value": 1e-12} for unit in ("vector", "matrix")]
    peaks = [peak("fp32", "vector", 8e12), peak("fp32", "matrix", 16e12)]
    rows = evaluate("hardware_rate", precision=types, part_array=[ARRAY], part_peak=peaks, part_energy=energy)
    found = {
        row["precision"]: (row["vector_ops_per_s"], row["matrix_ops_per_s"], row["vector_op_j"], row["matrix_op_j"]) for row in rows
    }
    assert found == {"fp32": (8e12, 16e12, 1e-12, 1e-12), "int32": (4e12, 8e12, 2e-12, 2e-12), "int64": (1e12, 2e12, 8e-12, 8e-12)}


def test_sums_in_half_precision(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Matrix units never accumulate in half precision; for vector units both rates are known. Peaks are those of the default power mode,
    half the clock."""
    peaks = [
        peak("fp16", "matrix", 16e12, "fp16"), peak("fp16", "matrix", 8e12), peak("fp16", "vector", 4e12, "fp16"),
        peak("fp32", "vector", 2e12),
    ]  # fmt: skip
    modes = [{"is_default": True, "clock_fraction": 0.5}]
    row = rate(evaluate, "fp16", part_peak=peaks, hardware_power=modes)
    assert (row["matrix_ops_per_s"], row["vector_ops_per_s"], row["single_vector_ops_per_s"]) == (4e12, 2e12, 1e12)
    assert (row["vector_precision"], row["single_vector_precision"]) == ("fp16", "fp32")


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_of_two_peaks_the_higher(evaluate: Callable[..., list[dict[str, Any]]], precision: str) -> None:
    """The higher peak wins at any fallback distance and in any order of rows, with the units that reach it."""
    clusters = [
        {"cluster": "fast", "unit_count": 4, "array_rows": 8, "array_columns": 2},
        {"cluster": "slow", "unit_count": 6, "array_rows": 4, "array_columns": 4},
    ]
    peaks = [peak("fp32", "matrix", 3e12, "fp32", "fast"), peak("fp32", "matrix", 2e12, "default", "slow")]
    for order in (peaks, peaks[::-1]):
        row = rate(evaluate, precision, part_peak=order, part_array=clusters)
        assert (row["matrix_ops_per_s"], row["matrix_unit_count"]) == (3e12, 4.0)
        assert (row["matrix_array_rows"], row["matrix_array_columns"]) == (8.0, 2.0)


def test_energy_of_an_operation(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """The energy is that of the element type in which the units compute."""
    energies = [
        {"what": "op", "key": key, "value": value, "scope": "board"}
        for key, value in (("fp16.matrix", 1.0), ("fp16.vector", 2.0), ("fp32.vector", 3.0))
    ]
    peaks = [peak("fp16", "matrix", 8e12), peak("fp32", "vector", 2e12)]
    row = rate(evaluate, "int8", part_peak=peaks, energy_profile=energies)
    assert (row["matrix_op_j"], row["vector_op_j"], row["single_vector_op_j"]) == (1.0, 3.0, 3.0)
    # Without vector units, the matrix units' element type counts.
    row = rate(evaluate, "int8", part_peak=peaks[:1], energy_profile=energies)
    assert (row["vector_ops_per_s"], row["vector_op_j"]) == (None, 2.0)
