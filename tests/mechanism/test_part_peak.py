"""Peaks with structured sparsity: by the architecture's ratio to the dense peak of matrix units, or as the part states them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PRECISIONS = [
    {"precision": "fp16", "fallback": "fp32"},
    {"precision": "fp16_sparse", "fallback": "fp16"},
    {"precision": "bf16_sparse", "fallback": "bf16"},
]
RULES = [{"quantity": "sparse_ratio", "row_key": "fp16_sparse", "value": 2.0}]


def dense(unit: str, ops: float, precision: str = "fp16", accumulator: str = "fp32") -> dict[str, Any]:
    """Make a row of `stated_peak`."""
    return {"precision": precision, "unit": unit, "accumulator": accumulator, "cluster": "all", "peak_ops_per_s": ops}


def sparse(evaluate: Callable[..., list[dict[str, Any]]], *peaks: dict[str, Any], rules: Any = RULES) -> list[float]:
    """Return the peaks of sparse products in fp16."""
    derived = evaluate("derived_sparse", stated_peak=list(peaks), precision=PRECISIONS, part_rule=rules)
    found = evaluate("part_peak", stated_peak=list(peaks), derived_vector=[], derived_sparse=derived)
    assert len(found) == len(peaks) + len(derived)
    return sorted(row["peak_ops_per_s"] for row in found if row["precision"] == "fp16_sparse")


def test_twice_the_dense_peak_of_matrix_units(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """8 and 6 tera-operations accumulated in single and half precision; vector units and other formats have no sparse peak."""
    peaks = [dense("matrix", 8e12), dense("matrix", 6e12, accumulator="fp16"), dense("vector", 1e12), dense("matrix", 8e12, "bf16")]
    assert sparse(evaluate, *peaks) == [12e12, 16e12]


def test_without_a_rule_there_is_none(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    assert sparse(evaluate, dense("matrix", 8e12), rules=[]) == []


def test_what_a_part_states_counts(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    assert sparse(evaluate, dense("matrix", 8e12), dense("matrix", 15e12, "fp16_sparse")) == [15e12]


def test_a_part_with_a_stated_pace_needs_no_rule(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    assert sparse(evaluate, dense("matrix", 8e12), dense("matrix", 12e12, "fp16_sparse"), rules=[]) == [12e12]
