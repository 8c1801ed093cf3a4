"""Results that a compiler of loops stores in single precision although their element type is half.

Inductor computes in single precision and stores a value that several steps read where working it out again would
read more than four buffers (`realize_reads_threshold`): a normalization with its scale and shift does. An activation
that reads its argument more than once, as SiLU does, is several steps, so the normalized value is stored, before
it is rounded, and every loop that cannot be the normalization's own works the activation out of it again. Only a
call of a library has the activation's own result stored, for itself and all who read after it.
"""

from __future__ import annotations

from collections.abc import Callable

from .dataflow import Flow

REPEATING = frozenset(
    f"aten.{name}" for name in ("celu", "elu", "gelu", "hardswish", "leaky_relu", "mish", "selu", "silu", "softplus")
)
"""Activations that read their argument more than once."""


def is_worked_out_again(flow: Flow, operator_id: int, kernel_of: Callable[[int], int]) -> bool:
    """True for an activation whose argument is stored rather than its result, as far as those who read it allow."""
    if flow.names[operator_id][0] not in REPEATING or not flow.reads[operator_id]:
        return False
    kernel = kernel_of(operator_id)
    return any(_normalizes(flow, source, kernel_of, kernel) for source in flow.reads[operator_id][0][1])


def _normalizes(flow: Flow, operator_id: int, kernel_of: Callable[[int], int], kernel: int) -> bool:
    """True for a normalization in the kernel, or a sum with one."""
    if kernel_of(operator_id) != kernel:
        return False
    operator_class = flow.names[operator_id][1]
    if operator_class != "elementwise":
        return operator_class in flow.classes.normalizing
    return any(_normalizes(flow, s, kernel_of, kernel) for _, sources in flow.reads[operator_id] for s in sources)


def stored_wide(flow: Flow, kernel_of: Callable[[int], int]) -> set[int]:
    """Operators in the place of whose results their arguments are stored in single precision: those whose result is
    read first, of all other kernels, by a loop. That a library may have the result stored as well is left out."""
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
