"""Results that a loop compiler stores in single precision although their element type is half.

Inductor computes in single precision and stores a value that several steps read if recomputing it would
read more than four buffers (`realize_reads_threshold`), as a normalization with its scale and shift does. An activation
that reads its argument more than once, as SiLU does, is several steps, so the normalized value is stored before
rounding, and every loop outside the normalization's kernel recomputes the activation from it. Only a
library call causes the activation's own result to be stored, for itself and all later readers.
"""

from __future__ import annotations

from collections.abc import Callable

from .dataflow import Flow

REPEATING = frozenset(
    f"aten.{name}" for name in ("celu", "elu", "gelu", "hardswish", "leaky_relu", "mish", "selu", "silu", "softplus")
)
"""Activations that read their argument more than once."""


def is_worked_out_again(flow: Flow, operator_id: int, kernel_of: Callable[[int], int]) -> bool:
    """Return True for an activation whose argument is stored in place of its result, if its readers allow that."""
    if flow.names[operator_id][0] not in REPEATING or not flow.reads[operator_id]:
        return False
    kernel = kernel_of(operator_id)
    return any(_normalizes(flow, source, kernel_of, kernel) for source in flow.reads[operator_id][0][1])


def _normalizes(flow: Flow, operator_id: int, kernel_of: Callable[[int], int], kernel: int) -> bool:
    """Return True for a normalization in the kernel, or a sum with one."""
    if kernel_of(operator_id) != kernel:
        return False
    operator_class = flow.names[operator_id][1]
    if operator_class != "elementwise":
        return operator_class in flow.classes.normalizing
    return any(_normalizes(flow, s, kernel_of, kernel) for _, sources in flow.reads[operator_id] for s in sources)


def stored_wide(flow: Flow, kernel_of: Callable[[int], int]) -> set[int]:
    """Return the operators whose arguments are stored in single precision in place of their results: those whose first reader
    in another kernel is a loop. A library's additional copy of the result is ignored."""
    found = set()
    for operator_id in flow.kernel_operators:
        if not is_worked_out_again(flow, operator_id, kernel_of):
            continue
        kernel = kernel_of(operator_id)
        for tensor, readers in flow.readers[operator_id].items():
            outside = [reader for reader in readers if kernel_of(reader) != kernel]
            if outside and not flow.escapes[tensor] and flow.names[outside[0]][1] not in flow.classes.matrix:
                found.add(operator_id)
    return found
