"""Comparison of predicted kernels with the calls of a profiler's trace."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from charz.ingest.measurements.kineto import Call

Pair = tuple[dict[str, Any] | None, "Call | None"]
"""A predicted kernel and its counterpart in the trace; None where one of the two is missing."""

Row = tuple[tuple[Any, ...], float | None, float | None]
"""Key of a row, its predicted time and its measured time. [s]"""

_COARSE = {"depthwise_conv": "conv", "grouped_conv": "conv", "batch_norm": "norm", "reduction": "pooling"}
"""Classes that a trace does not distinguish, mapped to a common class."""


def _class(name: str) -> str:
    return _COARSE.get(name, name)


def aligned(kernels: Sequence[dict[str, Any]], calls: Sequence[Call]) -> Iterator[Pair]:
    """Match kernels and calls in order of execution by the longest sequences of equal classes."""
    calls = [call for call in calls if call.operator_class != "view"]
    before = [_class(kernel["kernel_class"]) for kernel in kernels]
    after = [_class(call.operator_class) for call in calls]
    for what, i, to_i, j, to_j in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            yield from zip(kernels[i:to_i], calls[j:to_j], strict=True)
            continue
        yield from ((kernel, None) for kernel in kernels[i:to_i])
        yield from ((None, call) for call in calls[j:to_j])


def rows(section: str, pairs: Sequence[Pair], column: str) -> list[Row]:
    """Sum predicted and measured time by kernel class, or list predicted and measured time of each pair."""
    if section == "kernels":
        return [_row(kernel, call, column) for kernel, call in pairs]
    found: dict[str, tuple[float, float]] = {}
    for kernel, call in pairs:
        name = _class(kernel["kernel_class"] if kernel else call.operator_class)  # type: ignore[union-attr]
        old, new = found.get(name, (0.0, 0.0))
        found[name] = (old + (kernel[column] if kernel else 0.0), new + (call.seconds if call else 0.0))
    return [((name,), old, new) for name, (old, new) in found.items()]


def _row(kernel: dict[str, Any] | None, call: Call | None, column: str) -> Row:
    new = call.seconds if call else None
    if kernel is None:
        return ("none predicted", call.name if call else None), None, new
    return (kernel["kernel"], kernel["module"]), kernel[column], new
