"""Operators on host values: arithmetic of sizes."""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable
from typing import Any

import torch

from .registry import HOST, TENSOR, Step, as_floats, number, numbers, operator


def _each(function: Callable[..., Any]) -> Callable[..., Any]:
    """Extend a function of numbers to vectors, element by element."""

    def apply(_: Step, *operands: Any) -> Any:
        lengths = [len(o) for o in operands if isinstance(o, list)]
        if not lengths:
            return function(*operands)
        rows = [o * max(lengths) if isinstance(o, list) and len(o) == 1 else o for o in operands]
        return [function(*(r[i] if isinstance(r, list) else r for r in rows)) for i in range(max(lengths))]

    return apply


def _quotient(left: Any, right: Any) -> Any:
    return left / right if isinstance(left, float) or isinstance(right, float) else left // right


_ARITHMETIC: dict[str, Any] = {
    "Add": python.add, "Sub": python.sub, "Mul": python.mul, "Div": _quotient, "Mod": python.mod, "Neg": python.neg,
    "Equal": python.eq, "Greater": python.gt, "GreaterOrEqual": python.ge, "Less": python.lt, "LessOrEqual": python.le,
    "And": python.and_, "Or": python.or_, "Not": python.not_, "Min": min, "Max": max, "Abs": abs,
    "Floor": math.floor, "Ceil": math.ceil, "Sqrt": lambda x: x**0.5, "Pow": python.pow,
    "Reciprocal": lambda x: 1.0 / x,
    "Where": lambda condition, yes, no: yes if condition else no,
}  # fmt: skip

HOST.update({name: _each(function) for name, function in _ARITHMETIC.items()})


@operator("Identity", table=HOST)
def same(_: Step, value: Any) -> Any:
    """Return the value unchanged."""
    return value


@operator("Cast", table=HOST)
def cast(step: Step, value: Any) -> Any:
    """Convert to floats if the target type is floating-point."""
    from .moves import TYPES

    return as_floats(value) if TYPES[step.get("to")].is_floating_point else value


@operator("Shape")
def shape(step: Step, source: torch.Tensor) -> list[Any]:
    """Return the sizes of a tensor."""
    return list(source.shape)[step.get("start", 0) : step.get("end")]


@operator("Shape", table=HOST)
def length(_: Step, value: Any) -> list[Any]:
    """Return the shape of a host value: its length for a vector, empty for a number."""
    return [len(value)] if isinstance(value, list) else []


@operator("Size")
def size(_: Step, source: torch.Tensor) -> Any:
    """Count the elements of a tensor."""
    return source.numel()


@operator("Gather", "GatherND", table=HOST)
def pick(_: Step, values: Any, index: Any) -> Any:
    """Pick numbers of a vector by position."""
    return [values[i] for i in index] if isinstance(index, list) else values[index]


@operator("Slice", table=HOST)
def part(_: Step, values: Any, start: Any, end: Any, _axes: Any = None, step: Any = None) -> Any:
    """Take a slice of a vector."""
    return values[number(start) : number(end) : number(step) if step is not None else 1]


@operator("Concat", table=HOST)
def joined(_: Step, *parts: Any) -> Any:
    """Join vectors."""
    return [value for part in parts for value in numbers(part)]


@operator("Unsqueeze", table=HOST)
def as_vector(_: Step, value: Any, _axes: Any = None) -> Any:
    """Convert a number to a vector of one."""
    return numbers(value)


@operator("Squeeze", "ReduceSum", table=HOST)
def as_number(_: Step, value: Any, _axes: Any = None) -> Any:
    """Sum a vector."""
    return sum(numbers(value))


@operator("Reshape", table=HOST)
def reshaped(_: Step, value: Any, shape: Any) -> Any:
    """Convert a number to a vector of one, or back."""
    return numbers(value) if numbers(shape) else number(value)


@operator("ReduceProd", table=HOST)
def product(_: Step, value: Any, _axes: Any = None) -> Any:
    """Multiply the numbers of a vector."""
    return math.prod(numbers(value))


@operator("Split", table=HOST)
def split(step: Step, values: Any, sizes: Any = None) -> tuple[Any, ...]:
    """Split a vector."""
    count = len(step.outputs)
    lengths = sizes or [len(values) // count] * count
    ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
    return tuple(values[end - length : end] for end, length in zip(ends, lengths, strict=True))


@operator("Constant", table=HOST)
def constant(step: Step) -> Any:
    """Return the number stored in a node."""
    return next(iter(step.attributes.values()))


TENSOR["Constant"] = constant
