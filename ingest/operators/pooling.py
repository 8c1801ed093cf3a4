"""Pooling: one operation (a comparison or an addition) for each element under each window."""

from __future__ import annotations

import math

from ..graph import Step
from ..trace.symbolic import product
from .registry import Call, Value, rule, vector


def _windows(call: Call, extra: int) -> list[Step]:
    kernel = call["kernel_size"]
    spatial = int(call.overload.__name__.split("pool")[1][0])
    kernel = [kernel[0]] * spatial if len(kernel) == 1 else kernel
    elements = call.output.numel
    return [vector("main", product(math.prod(int(side) for side in kernel) + extra, elements), elements)]


@rule(
    "aten.max_pool1d.default",
    "aten.max_pool2d.default",
    "aten.max_pool3d.default",
    "aten.max_pool2d_with_indices.default",
    "aten.max_pool3d_with_indices.default",
    "aten.max_pool1d_with_indices.default",
    operator_class="pooling",
)
def max_pool(call: Call) -> list[Step]:
    return _windows(call, 0)


@rule("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default", operator_class="pooling")
def average_pool(call: Call) -> list[Step]:
    """Count one more operation an output, for the division."""
    return _windows(call, 1)


@rule(
    "aten.adaptive_avg_pool1d.default",
    "aten.adaptive_avg_pool2d.default",
    "aten.adaptive_avg_pool3d.default",
    "aten._adaptive_avg_pool2d.default",
    "aten._adaptive_avg_pool3d.default",
    "aten.adaptive_max_pool1d.default",
    "aten.adaptive_max_pool2d.default",
    "aten.adaptive_max_pool3d.default",
    operator_class="pooling",
)
def adaptive_pool(call: Call) -> list[Step]:
    """Count each input element about once, because windows tile the input (exactly, where sizes divide);
    where the output is larger, each output element is one copy."""
    source: Value = call.tensors()[0]
    elements = source.elements
    return [vector("main", elements, call.output.elements)]
