"""Kernels of a server that have no launch of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CLASSES = [
    {"operator_class": name, "is_matrix": name in ("linear", "attention", "matmul")}
    for name in ("linear", "attention", "matmul", "norm", "elementwise")
]
LAYER = ("norm", "linear", "linear", "linear", "elementwise", "elementwise", "attention", "linear", "elementwise", "norm", "linear")
"""Kernels 0 to 10: three layers of one input, two positions, an attention, its output layer, an addition and a norm, a layer."""
READS = {1: 100, 2: 100, 3: 100, 7: 101, 10: 102}


def merged(evaluate: Callable[..., list[dict[str, Any]]], kernels: tuple[str, ...], *, serves: bool = True) -> set[int]:
    """Return the kernels that others do."""
    rows = evaluate(
        "merged_kernel",
        backend=[{"backend": "vllm", "serves": serves}],
        operator_class=CLASSES,
        kernel=[{"kernel_id": i, "kernel_class": name, "backend": "vllm", "is_prompt_only": False} for i, name in enumerate(kernels)],
        kernel_tensor=[
            {"kernel_id": i, "tensor_id": tensor, "direction": "read", "role": "input", "backend": "vllm"} for i, tensor in READS.items()
        ],
    )
    return {row["kernel_id"] for row in rows}


def test_one_product_for_layers_of_one_input(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Layers 2 and 3 read what layer 1 reads; kernels 5 and 9 follow others without products."""
    assert merged(evaluate, LAYER) == {2, 3, 5, 9}


def test_what_is_no_server_merges_nothing(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Other backends launch what their fusion leaves."""
    assert merged(evaluate, LAYER, serves=False) == set()
