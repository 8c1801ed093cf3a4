"""Kernels of equal cost share a shape; kernels that differ in anything do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Record = dict[str, Any]
KERNEL = {
    "kernel_class": "linear", "operator_name": "aten.linear", "input_byte": 1.0, "weight_byte": 2.0, "kv_cache_byte": 0.0,
    "output_byte": 3.0, "produced_byte": 1.0, "loop_byte": 3.0, "traffic_byte": 6.0,
}  # fmt: skip
STEP = {
    "step": "main", "step_class": "gemm", "operator_class": "linear", "macs": 8.0, "flops": 16.0,
    "model_macs": 8.0, "model_flops": 16.0, "threads": 4.0,
    "accesses": 0.0, "m": 2.0, "n": 2.0, "k": 2.0, "gemm_count": 1.0, "sharing": 1.0,
}  # fmt: skip
CALL = {"is_native": False, "is_misread": False, "reorder_byte": 0.0}


def shapes(evaluate: Callable[..., list[Record]], other: dict[str, Record]) -> list[int]:
    """Return the shapes of kernels 4 and 7, equal except for the rows given by relation."""
    both = [{"kernel_id": 4}, {"kernel_id": 7}]
    tables = {
        "executed_kernel": KERNEL, "executed_step": STEP, "convolution_call": CALL,
        "depthwise_call": {"algorithm": None}, "linear_call": {"is_aliased": False, "reorder_byte": 0.0},
        "page_fault": {"fault_byte": 0.0}, "chain_tensor": {"held_byte": 9.0},
    }  # fmt: skip
    given = {name: [row | both[0], row | both[1] | other.get(name, {})] for name, row in tables.items()}
    # Their operators' numbers make no difference.
    given["executed_step"][1] |= {"operator_id": 3}
    given["executed_kernel"][1] |= {"anchor_operator_id": 3, "position": 5, "kernel": "another name", "view_count": 2}
    rows = evaluate(
        "shaped_kernel",
        run=[{}],
        precision=[{"precision": "fp32", "bits": 32}, {"precision": "tf32", "bits": 32}],
        **given,
    )
    return [row["shape_id"] for row in sorted(rows, key=lambda row: row["kernel_id"])]


def test_equal_kernels_share_the_number_of_the_first(evaluate: Callable[..., list[Record]]) -> None:
    """Place, name, operators and views do not matter."""
    assert shapes(evaluate, {}) == [4, 4]


@pytest.mark.parametrize(
    "other",
    [
        *(
            {"executed_kernel": {column: 100.0}}
            for column in KERNEL
            if column.endswith("_byte") and column != "traffic_byte"
        ),
        {"executed_kernel": {"kernel_class": "matmul"}},
        {"executed_kernel": {"operator_name": "aten.addmm"}},
        {"executed_kernel": {"layout": "nhwc"}},
        {"executed_kernel": {"compute_precision": "tf32"}},
        *({"executed_step": {column: 100.0}} for column in ("macs", "flops", "threads", "accesses", "m", "n", "k")),
        *({"executed_step": {column: 100.0}} for column in ("gemm_count", "sharing")),
        {"executed_step": {"step": "other"}},
        {"executed_step": {"step_class": "vector"}},
        {"executed_step": {"operator_class": "attention"}},
        {"executed_step": {"compute_precision": "tf32"}},
        # The same numbers in other columns: 2 rows and no depth, or 2 of depth and no rows.
        {"executed_step": {"m": None}},
        {"convolution_call": {"is_native": True}},
        {"convolution_call": {"is_misread": True}},
        {"depthwise_call": {"algorithm": "wide"}},
        {"convolution_call": {"reorder_byte": 1.0}},
        {"linear_call": {"is_aliased": True}},
        {"linear_call": {"reorder_byte": 1.0}},
        {"page_fault": {"fault_byte": 1.0}},
        {"chain_tensor": {"held_byte": 10.0}},
    ],
    ids=lambda other: "{}.{}".format(*next((table, column) for table, row in other.items() for column in row)),
)
def test_kernels_that_differ_do_not(evaluate: Callable[..., list[Record]], other: dict[str, Record]) -> None:
    """Each input of a cost distinguishes kernels."""
    assert shapes(evaluate, other) == [4, 7]


def test_numbers_that_print_alike_stay_apart(evaluate: Callable[..., list[Record]]) -> None:
    """Steps are compared by their text: one unit of 2 ^ 52."""
    large = 2.0**52
    step = {"model_macs": large + 1}
    both = [{"kernel_id": 4}, {"kernel_id": 7}]
    given = {
        "executed_kernel": [KERNEL | key for key in both],
        "executed_step": [STEP | {"model_macs": large} | both[0], STEP | step | both[1]],
    }
    rows = evaluate("shaped_kernel", run=[{}], precision=[{"precision": "fp32", "bits": 32}], **given)
    assert {row["shape_id"] for row in rows} == {4, 7}


def test_sums_over_steps(evaluate: Callable[..., list[Record]]) -> None:
    """An attention of three steps, 40 queries that share keys in fours, half of whose first product is skipped."""
    steps = [
        STEP | {"operator_class": "attention", "step": "qk", "macs": 4.0, "m": 40.0, "gemm_count": 2.0, "sharing": 4.0},
        STEP | {"operator_class": "attention", "step": "softmax", "step_class": "vector", "model_macs": 0.0, "threads": 64.0},
        STEP | {"operator_class": "attention", "step": "av", "m": 40.0, "gemm_count": 2.0, "sharing": 4.0},
    ]
    precision = [{"precision": "fp32", "bits": 32}]
    (row,) = evaluate("shaped_kernel", run=[{}], executed_kernel=[KERNEL], executed_step=steps, precision=precision)
    assert (row["macs"], row["flops"], row["threads"], row["step_count"], row["product_count"]) == (16, 48, 64, 3, 2)
    # 40 rows are ten queries of four heads; two products of them have eight heads.
    assert (row["query_count"], row["query_heads"]) == (10, 8)
    assert row["loop_elements"] == 0.75  # 3 bytes of 32 bits


def test_shape_counts_its_kernels(check: Callable[..., None]) -> None:
    """Two kernels of three views."""
    kernels = [{"kernel_id": 4, "shape_id": 4, "view_count": 1}, {"kernel_id": 7, "shape_id": 4, "view_count": 2}]
    check("run_shape", {"shape_id": 4, "kernel_count": 2, "view_count": 3}, shaped_kernel=kernels)


@pytest.mark.parametrize(("devices", "reread_byte"), [(1, 9.0), (2, 0.0)])
def test_shape_has_the_memory_of_its_run(check: Callable[..., None], devices: int, reread_byte: float) -> None:
    """A run of 7 bytes of weights and buffers and 5 of gradients and activations, whose 8 query heads read a cache again for more than 4 a device."""
    run = [{"device_count": devices, "paged_heads": 4.0}]
    memory = {"weight_byte": 4.0, "buffer_byte": 3.0, "gradient_byte": 2.0, "activation_byte": 3.0}
    expected = {"run_weight_byte": 7.0, "run_activation_byte": 5.0, "reread_cache_byte": reread_byte}
    check("shape", expected, run=run, run_shape={"query_heads": 8.0, "reread_cache_byte": 9.0}, run_memory=memory)
