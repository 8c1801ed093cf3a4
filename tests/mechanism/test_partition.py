"""Divisions of a run: kernels by kind, stages by their units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Record = dict[str, Any]


def test_a_stage_gets_no_more_units_than_the_part_has(evaluate: Callable[..., list[Record]]) -> None:
    """Two kernels ask for 6 and 5 of 8 units in one stage, one alone for 3."""
    kernels = [
        {"kernel_id": i, "fused_kernel_id": i, "units_allocated": units, "unit_count": 8.0, "flops": 1.0, "threads": 1.0,
         "device_s": 1.0 + i}
        for i, units in enumerate((6.0, 5.0, 3.0))
    ]  # fmt: skip
    stages = [{"kernel_id": i, "stage": stage} for i, stage in enumerate((0, 0, 1))]
    rows = sorted(evaluate("stage_allocation", kernel_cost=kernels, kernel=stages), key=lambda row: row["stage"])
    columns = ("kernel_count", "units_wanted", "units_allocated", "allocated_fraction", "sequential_s", "longest_s")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        (2, 11.0, 8.0, 1.0, 3.0, 2.0),
        (1, 3.0, 3.0, 3 / 8, 3.0, 3.0),
    ]


def test_kernels_by_kind(evaluate: Callable[..., list[Record]]) -> None:
    """The kind is that of the anchor; a kernel that the backend inserts for a gate has its own."""
    kinds = ("pointwise_conv", "squeeze_excite", "squeeze_excite", "squeeze_excite")
    rows = evaluate(
        "partition_report",
        run=[{"context": 0, "phase": "forward"}],
        run_kernel=[
            {"kernel_id": i, "fused_kernel_id": min(i, 2), "shape_id": min(i, 1), "anchor_operator_id": i}
            for i in range(4)
        ],
        shape=[
            {"shape_id": i, "kernel_class": name, "flops": 10.0 * (i + 1), "threads": 5.0, "traffic_byte": 1.0}
            for i, name in enumerate(("conv", "cast"))
        ],
        operator=[{"operator_id": i, "operator_kind": kind} for i, kind in enumerate(kinds)],
    )
    found = {row["bucket"]: (row["kernel_count"], row["flops"]) for row in rows if row["aspect"] == "kind"}
    assert found == {"pointwise_conv": (1, 10.0), "squeeze_excite": (2, 40.0), "cast": (1, 20.0)}
