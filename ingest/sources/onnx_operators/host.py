"""Sizes: arithmetic on numbers and vectors of them."""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable
from typing import Any

import torch

from .registry import HOST, TENSOR, Step, as_floats, number, numbers, operator


def _each(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers, over vectors element by element."""

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
    """The value."""
    return value


@operator("Cast", table=HOST)
def cast(step: Step, value: Any) -> Any:
    """Whole numbers stay so until they are asked to be others."""
    from .moves import TYPES

    return as_floats(value) if TYPES[step.get("to")].is_floating_point else value


@operator("Shape")
def shape(step: Step, source: torch.Tensor) -> list[Any]:
    """Sizes of a tensor."""
    return list(source.shape)[step.get("start", 0) : step.get("end")]


@operator("Shape", table=HOST)
def length(_: Step, value: Any) -> list[Any]:
    """Numbers of a vector; a number alone has no sizes."""
    return [len(value)] if isinstance(value, list) else []


@operator("Size")
def size(_: Step, source: torch.Tensor) -> Any:
    """Elements of a tensor."""
    return source.numel()


@operator("Gather", "GatherND", table=HOST)
def pick(_: Step, values: Any, index: Any) -> Any:
    """Numbers of a vector by their positions."""
    return [values[i] for i in index] if isinstance(index, list) else values[index]


@operator("Slice", table=HOST)
def part(_: Step, values: Any, start: Any, end: Any, _axes: Any = None, step: Any = None) -> Any:
    """Some numbers of a vector."""
    return values[number(start) : number(end) : number(step) if step is not None else 1]


@operator("Concat", table=HOST)
def joined(_: Step, *parts: Any) -> Any:
    """Vectors one after the other."""
    return [value for part in parts for value in numbers(part)]


@operator("Unsqueeze", table=HOST)
def as_vector(_: Step, value: Any, _axes: Any = None) -> Any:
    """A number as a vector of one."""
    return numbers(value)


@operator("Squeeze", "ReduceSum", table=HOST)
def as_number(_: Step, value: Any, _axes: Any = None) -> Any:
    """The sum of a vector, of one its number."""
    return sum(numbers(value))


@operator("Reshape", table=HOST)
def reshaped(_: Step, value: Any, shape: Any) -> Any:
    """A number as a vector of one, or the other way about."""
    return numbers(value) if numbers(shape) else number(value)


@operator("ReduceProd", table=HOST)
def product(_: Step, value: Any, _axes: Any = None) -> Any:
    """Product of a vector."""
    return math.prod(numbers(value))


@operator("Split", table=HOST)
def split(step: Step, values: Any, sizes: Any = None) -> tuple[Any, ...]:
    """A vector in parts."""
    count = len(step.outputs)
    lengths = sizes or [len(values) // count] * count
    ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
    return tuple(values[end - length : end] for end, length in zip(ends, lengths, strict=True))


@operator("Constant", table=HOST)
def constant(step: Step) -> Any:
    """A number that a node holds."""
    return next(iter(step.attributes.values()))


TENSOR["Constant"] = constant
