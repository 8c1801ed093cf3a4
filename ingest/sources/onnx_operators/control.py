"""Loops and branches that do not depend on values of tensors; each iteration is traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...trace.loops import check_count
from ...trace.refusal import depends_on_values
from .registry import HOST, Step, number, operator, tensor


def _decided(step: Step, value: Any) -> Any:
    """Return a number that controls a loop or branch. Raises CharzError for a tensor."""
    if isinstance(value, Tensor):
        raise depends_on_values(f"{step.operator}, node {step.name or step.outputs[0]}")
    return number(value)


@operator("Loop")
def loop(step: Step, limit: Any = None, condition: Any = None, *carried: Any) -> tuple[Any, ...]:
    """Run a block a number of times or until its condition is false; stack its scan outputs."""
    body, count = step.get("body"), None if limit is None else _decided(step, limit)
    goes_on = True if condition is None else _decided(step, condition)
    results: list[Sequence[Any]] = []
    while goes_on and (count is None or len(results) < count):
        check_count(len(results) + 1)
        said, *made = body(len(results), goes_on, *carried)
        carried, goes_on = tuple(made[: len(carried)]), _decided(step, said)
        results.append(made[len(carried) :])
    return (*carried, *_stacked(results, [0] * (len(step.outputs) - len(carried))))


@operator("Scan")
def scan(step: Step, *operands: Any) -> tuple[Any, ...]:
    """Run a block once for each slice of the scanned inputs; stack its scan outputs."""
    body, scanned_count = step.get("body"), step.get("num_scan_inputs")
    carried, scanned = operands[:-scanned_count], operands[-scanned_count:]
    axes = step.get("scan_input_axes", [0] * scanned_count)
    is_backward = step.get("scan_input_directions", [0] * scanned_count)
    count = int(len(scanned[0]) if isinstance(scanned[0], list) else scanned[0].shape[axes[0]])
    check_count(count)
    results: list[Sequence[Any]] = []
    for i in range(count):
        places = [count - 1 - i if backward else i for backward in is_backward]
        slices = [
            value[place] if isinstance(value, list) else value.select(axis, place)
            for value, axis, place in zip(scanned, axes, places, strict=True)
        ]
        made = body(*carried, *slices)
        carried = tuple(made[: len(carried)])
        results.append(made[len(carried) :])
    made_count = len(step.outputs) - len(carried)
    is_put_first = step.get("scan_output_directions", [0] * made_count)
    stacked = _stacked(results, step.get("scan_output_axes", [0] * made_count), is_put_first)
    return (*carried, *stacked)


@operator("If")
def branch(step: Step, condition: Any) -> tuple[Any, ...]:
    """Run the branch that a size or a constant selects."""
    return tuple(step.get("then_branch" if _decided(step, condition) else "else_branch")())


def _stacked(results: Sequence[Sequence[Any]], axes: Sequence[int], is_put_first: Sequence[int] = ()) -> list[Any]:
    """Collect each output of all iterations into one tensor, numbers into a vector. Raises ValueError if there are outputs but no
    iterations."""
    if axes and not results:
        raise ValueError("the sizes of what it makes are not known, since it runs no step")
    made = []
    for parts, axis, first in zip(zip(*results, strict=True), axes, is_put_first or [0] * len(axes), strict=True):
        parts = parts[::-1] if first else parts
        like = next((part for part in parts if isinstance(part, Tensor)), None)
        made.append(list(parts) if like is None else torch.stack([tensor(part, like) for part in parts], axis))
    return made


HOST.update({"Loop": loop, "Scan": scan, "If": branch})
