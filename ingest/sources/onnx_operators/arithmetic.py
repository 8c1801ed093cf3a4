"""Arithmetic element by element, activations and reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .registry import TENSOR, Step, number, numbers, operator, tensor

PAIRS: dict[str, Callable[..., Any]] = {
    "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Pow": torch.pow, "Mod": torch.remainder,
    "Equal": torch.eq, "Greater": torch.gt, "GreaterOrEqual": torch.ge, "Less": torch.lt, "LessOrEqual": torch.le,
    "And": torch.logical_and, "Or": torch.logical_or, "Xor": torch.logical_xor,
}  # fmt: skip

ALONE: dict[str, Callable[..., Any]] = {
    "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Erf": torch.erf, "Sqrt": torch.sqrt,
    "Exp": torch.exp, "Log": torch.log, "Neg": torch.neg, "Abs": torch.abs, "Floor": torch.floor, "Ceil": torch.ceil,
    "Round": torch.round, "Sin": torch.sin, "Cos": torch.cos, "Sign": torch.sign, "Not": torch.logical_not,
    "IsNaN": torch.isnan,
    "IsInf": torch.isinf, "Reciprocal": torch.reciprocal, "HardSigmoid": functional.hardsigmoid, "Mish": functional.mish, "Softplus": functional.softplus,
    "Swish": functional.silu, "Selu": functional.selu,
}  # fmt: skip


def _pair(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(_: Step, left: Any, right: Any) -> Tensor:
        like = left if isinstance(left, Tensor) else right
        if not isinstance(left, Tensor):
            left = tensor(left, like) if isinstance(left, list) or function is not torch.pow else number(left)
        if isinstance(right, list):
            right = tensor(right, like)
        return function(left, right)

    return apply


def _alone(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, source: function(source)


TENSOR.update({name: _pair(function) for name, function in PAIRS.items()})
TENSOR.update({name: _alone(function) for name, function in ALONE.items()})


@operator("Add", "Mul")
def commutative(step: Step, left: Any, right: Any) -> Tensor:
    """Move a number on the left to the right, where PyTorch accepts a scalar."""
    if not isinstance(left, Tensor):
        left, right = right, left
    right = tensor(right, left) if isinstance(right, list) else right
    return left + right if step.operator == "Add" else left * right


@operator("Div")
def quotient(_: Step, left: Any, right: Any) -> Tensor:
    """Divide, truncating for integers."""
    source = left if isinstance(left, Tensor) else right
    rounding = None if source.is_floating_point() else "trunc"
    return torch.div(
        tensor(left, source), tensor(right, source) if isinstance(right, list) else right, rounding_mode=rounding
    )


@operator("Sum")
def total(_: Step, first: Tensor, *others: Tensor) -> Tensor:
    """Sum tensors."""
    for other in others:
        first = first + other
    return first


@operator("Max", "Min")
def extreme(step: Step, first: Tensor, *others: Any) -> Tensor:
    """Return the maximum or minimum of tensors, element by element."""
    for other in others:
        first = (torch.maximum if step.operator == "Max" else torch.minimum)(first, tensor(other, first))
    return first


@operator("Where")
def where(_: Step, condition: Any, yes: Any, no: Any) -> Tensor:
    """Choose elements by a condition."""
    like = next(v for v in (yes, no, condition) if isinstance(v, Tensor))
    yes, no = (tensor(v, like) if isinstance(v, list) else v for v in (yes, no))
    return torch.where(tensor(condition, like), yes, no)


@operator("Clip")
def clip(step: Step, source: Tensor, low: Any = None, high: Any = None) -> Tensor:
    """Restrict values to two bounds; use ReLU6 for 0 and 6."""
    low, high = step.get("min", low), step.get("max", high)
    low, high = (None if v is None or isinstance(v, Tensor) else number(v) for v in (low, high))
    is_in_place = step.get("is_in_place", False)
    return functional.relu6(source, is_in_place) if (low, high) == (0, 6) else torch.clamp(source, low, high)


@operator("Relu", "HardSwish", "charz.Silu")
def gated(step: Step, source: Tensor) -> Tensor:
    """Apply an activation that models may run in place."""
    kinds = {"Relu": functional.relu, "HardSwish": functional.hardswish, "charz.Silu": functional.silu}
    return kinds[step.operator](source, step.get("is_in_place", False))


@operator("Gelu")
def gelu(step: Step, source: Tensor) -> Tensor:
    """Apply GELU by the error function or by the hyperbolic tangent."""
    return functional.gelu(source, approximate=step.get("approximate", "none"))


@operator("LeakyRelu", "Elu", "Celu")
def leaky(step: Step, source: Tensor) -> Tensor:
    """Apply an activation with a slope: by default 0.01 for LeakyRelu, else 1."""
    if step.operator == "LeakyRelu":
        return functional.leaky_relu(source, step.get("alpha", 0.01), step.get("is_in_place", False))
    function = functional.elu if step.operator == "Elu" else functional.celu
    return function(source, step.get("alpha", 1.0))


@operator("PRelu")
def prelu(_: Step, source: Tensor, slope: Tensor) -> Tensor:
    """Apply a leaky activation with a slope for each channel."""
    return functional.prelu(source, slope.reshape(-1))


@operator("Softmax", "LogSoftmax")
def softmax(step: Step, source: Tensor) -> Tensor:
    """Apply softmax or its logarithm over one axis."""
    function = torch.softmax if step.operator == "Softmax" else torch.log_softmax
    return function(source, step.get("axis", -1))


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceMean": torch.mean, "ReduceSum": torch.sum, "ReduceMax": torch.amax, "ReduceMin": torch.amin,
    "ReduceL2": lambda source, axes, keepdim: torch.linalg.vector_norm(source, 2, axes, keepdim),
    "ReduceLogSumExp": torch.logsumexp,
}  # fmt: skip


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(step: Step, source: Tensor, axes: Any = None) -> Tensor:
        axes = step.get("axes", axes)
        if axes is None:
            axes = list(range(source.dim()))
        return function(source, numbers(axes), keepdim=bool(step.get("keepdims", 1)))

    return apply


TENSOR.update({name: _reduction(function) for name, function in REDUCTIONS.items()})


@operator("ArgMax", "ArgMin")
def position(step: Step, source: Tensor) -> Tensor:
    """Return the index of the maximum or minimum."""
    function = torch.argmax if step.operator == "ArgMax" else torch.argmin
    return function(source, step.get("axis", 0), keepdim=bool(step.get("keepdims", 1)))


@operator("TopK")
def greatest(step: Step, source: Tensor, count: Any) -> tuple[Tensor, Tensor]:
    """Return the largest or smallest values and their indices."""
    values, where = torch.topk(source, number(count), step.get("axis", -1), bool(step.get("largest", 1)))
    return values, where


@operator("CumSum")
def running(_: Step, source: Tensor, axis: Any) -> Tensor:
    """Compute a running sum."""
    return torch.cumsum(source, number(axis))
