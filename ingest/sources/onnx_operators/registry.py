"""Registry of ONNX operators, and the steps that their functions receive.

A value is a tensor or a host value: a number, or a list of numbers for a vector of sizes. Sizes are computed on the host, so that
sizes that depend on the batch stay symbolic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class Step:
    """One node of an ONNX graph: values are names, an empty name is an omitted value."""

    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    scope: tuple[str, ...] = ()
    """Paths of the modules that contain the node, from the outermost."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute or the default."""
        return self.attributes.get(name, default)

    @property
    def blocks(self) -> dict[str, Block]:
        """Attributes that are graphs of their own."""
        return {name: value for name, value in self.attributes.items() if isinstance(value, Block)}

    @property
    def reads(self) -> tuple[str, ...]:
        """Values that it reads, including outer values that its blocks read."""
        return (*self.inputs, *(name for block in self.blocks.values() for name in block.reads))


@dataclass(frozen=True, slots=True)
class Block:
    """A graph within a node: the body of a loop, or a branch."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """Outer values that it reads."""
        made = {*self.inputs, *(name for step in self.steps for name in step.outputs)}
        read = [*(name for step in self.steps for name in step.reads), *self.outputs]
        return tuple(name for name in dict.fromkeys(read) if name not in made)


Function = Callable[..., Any]

TENSOR: dict[str, Function] = {}
"""Functions of operators by name, for operands of which at least one is a tensor."""

HOST: dict[str, Function] = {}
"""Functions of operators by name, for host values alone."""


def operator(*names: str, table: dict[str, Function] = TENSOR) -> Callable[[Function], Function]:
    """Register a function `(step, *operands) -> value or tuple of values` for operators."""

    def register(function: Function) -> Function:
        table.update(dict.fromkeys(names, function))
        return function

    return register


def is_host(value: Any) -> bool:
    """Return True unless a value is a tensor; an omitted operand counts as a host value."""
    return not isinstance(value, torch.Tensor)


def tensor(value: Any, like: torch.Tensor) -> torch.Tensor:
    """Convert a value to a tensor of zeros on the device of `like`; keep a tensor."""
    if isinstance(value, torch.Tensor):
        return value
    shape = (len(value),) if isinstance(value, list) else ()
    first = value[0] if isinstance(value, list) and value else value
    kind = torch.bool if isinstance(first, bool) else like.dtype if isinstance(first, float) else torch.int64
    return torch.zeros(shape, dtype=kind, device=like.device)


def number(value: Any) -> Any:
    """Return the number of a scalar, or the first of a vector."""
    return value[0] if isinstance(value, list) else value


def as_floats(value: Any) -> Any:
    """Convert integers to floats; keep symbolic sizes."""
    made = [float(v) if isinstance(v, int) else v for v in numbers(value)]
    return made if isinstance(value, list) else made[0]


def numbers(value: Any) -> list[Any]:
    """Return a vector as a list of numbers, a scalar as a list of one."""
    return value if isinstance(value, list) else [value]
