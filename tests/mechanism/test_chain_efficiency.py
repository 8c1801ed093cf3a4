"""The most specific row of `efficiency` wins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

ROW = {
    "scope": "*", "backend": "*", "kernel_class": "*", "operator_name": "*", "precision_class": "*", "memory_format": "*",
    "resource": "memory", "half_work": 0.0,
}  # fmt: skip
GIVEN = {
    "hardware": [{"architecture": "die", "family": "gpu"}],
    "supported_backend": [{}],
    "operator_class": [{"operator_class": "norm"}, {"operator_class": "softmax"}],
}
NARROWER = [
    # Each row is more specific than the one before it.
    {},
    {"memory_format": "nhwc"},
    {"precision_class": "fp16"},
    {"precision_class": "fp16", "memory_format": "nhwc"},
    {"backend": "inductor"},
    {"backend": "eager"},
    {"kernel_class": "norm"},
    {"kernel_class": "norm", "backend": "eager", "precision_class": "fp16", "memory_format": "nhwc"},
    {"kernel_class": "norm", "operator_name": "aten.layer_norm"},
    {"scope": "family:gpu"},
    {"scope": "architecture:die"},
    {"scope": "hardware:sibling", "backend": "eager"},
    {"scope": "hardware:chip"},
    {"scope": "hardware:chip", "kernel_class": "norm", "operator_name": "aten.layer_norm", "backend": "eager"},
]


def chosen(evaluate: Callable[..., list[dict[str, Any]]], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the row chosen for layer normalizations of fp16 in nhwc under eager."""
    given = GIVEN | {
        "supported_backend": [{"efficiency_backend": "inductor"}],
        "lending_part": [{"lender": "sibling"}],
        # The element types and operators exist independently of the rows under test.
        "efficiency": [
            *rows,
            ROW | {"resource": "thread", "precision_class": "fp16", "maximum_fraction": 1.0, "efficiency_id": 99},
            ROW
            | {"resource": "thread", "kernel_class": "norm", "operator_name": "aten.layer_norm", "efficiency_id": 98},
        ],
    }
    (row,) = [
        row
        for row in evaluate("chain_efficiency", **given)
        if (row["kernel_class"], row["operator_name"], row["precision_class"], row["layout"])
        == ("norm", "aten.layer_norm", "fp16", "nhwc")
    ]
    return row


@pytest.mark.parametrize("count", range(1, len(NARROWER) + 1))
def test_specificity(evaluate: Callable[..., list[dict[str, Any]]], count: int) -> None:
    """The last of the first `count` rows wins, in any order of rows, with its half-work and its number."""
    rows = [
        ROW | narrower | {"maximum_fraction": 0.01 * i, "half_work": 10.0 * i, "efficiency_id": i}
        for i, narrower in enumerate(NARROWER[:count], start=1)
    ]
    for order in (rows, rows[::-1]):
        row = chosen(evaluate, order)
        assert row["memory_efficiency_id"] == count
        assert (row["memory_fraction"], row["memory_half_byte"]) == (0.01 * count, 10.0 * count)


@pytest.mark.parametrize(
    "other",
    [
        {"scope": "family:cpu"},
        {"scope": "architecture:other"},
        {"scope": "hardware:other"},
        # A sibling lends the rows of one backend only.
        {"scope": "hardware:sibling"},
        {"backend": "xla"},
        {"kernel_class": "softmax"},
        {"kernel_class": "norm", "operator_name": "aten.batch_norm"},
        {"precision_class": "bf16"},
        {"memory_format": "nchw"},
        {"resource": "vector"},
    ],
)
def test_rows_of_others(evaluate: Callable[..., list[dict[str, Any]]], other: dict[str, str]) -> None:
    """Rows of other scopes do not apply, however specific."""
    rows = [
        ROW | {"maximum_fraction": 0.5, "efficiency_id": 1},
        ROW | other | {"maximum_fraction": 0.9, "efficiency_id": 2},
    ]
    row = chosen(evaluate, rows)
    assert (row["memory_fraction"], row["memory_efficiency_id"]) == (0.5, 1)


def test_each_resource_has_its_own(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Eight resources have eight columns; without a row they are unknown."""
    resources = ["matrix", "vector", "memory", "overlap", "residency", "reorder", "paging", "thread"]
    rows = [
        ROW | {"resource": r, "maximum_fraction": 0.1 * i, "half_work": float(i), "efficiency_id": i}
        for i, r in enumerate(resources, start=1)
    ]
    found = evaluate("chain_efficiency", efficiency=rows, **GIVEN)
    assert len(found) == 2 * 8  # two classes in eight layouts, of one element type
    for row in found:
        assert [row[f"{r}_fraction"] for r in resources] == [0.1 * i for i in range(1, 9)]
        assert [row[f"{r}_efficiency_id"] for r in resources] == list(range(1, 9))
        assert (row["matrix_half_ops"], row["vector_half_ops"], row["memory_half_byte"], row["team_ratio"]) == (
            1,
            2,
            3,
            8,
        )
    assert evaluate("chain_efficiency", efficiency=rows[:1], **GIVEN)[0]["thread_fraction"] is None
