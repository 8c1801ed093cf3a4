"""Where ONNX operators are registered, and what their functions see.

A value is a tensor, or of the host: a number, or a list of numbers where ONNX has a vector of sizes. Sizes are computed on the
host, so that those that follow from the batch stay free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class Step:
    """One node of an ONNX graph: values are known by name, none by an empty one."""

    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    scope: tuple[str, ...] = ()
    """Modules that the exporter found it in, from the outermost, each by its path."""

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)

    @property
    def blocks(self) -> dict[str, Block]:
        """Attributes that are graphs of their own."""
        return {name: value for name, value in self.attributes.items() if isinstance(value, Block)}

    @property
    def reads(self) -> tuple[str, ...]:
        """Values that it reads, those that its blocks take from around them included."""
        return (*self.inputs, *(name for block in self.blocks.values() for name in block.reads))


@dataclass(frozen=True, slots=True)
class Block:
    """A graph within a node: what a loop runs again and again, or a branch."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """Values that it takes from around it."""
        made = {*self.inputs, *(name for step in self.steps for name in step.outputs)}
        read = [*(name for step in self.steps for name in step.reads), *self.outputs]
        return tuple(name for name in dict.fromkeys(read) if name not in made)


Function = Callable[..., Any]

TENSOR: dict[str, Function] = {}
"""What an operator does with at least one tensor among its operands, by its name."""

HOST: dict[str, Function] = {}
"""What it does with numbers alone."""


def operator(*names: str, table: dict[str, Function] = TENSOR) -> Callable[[Function], Function]:
    """Register a function `(step, *operands) -> value or tuple of values` as some operators."""

    def register(function: Function) -> Function:
        table.update(dict.fromkeys(names, function))
        return function

    return register


def is_host(value: Any) -> bool:
    """Whether a value is numbers rather than a tensor; an operand that is left out is none of either."""
    return not isinstance(value, torch.Tensor)


def tensor(value: Any, like: torch.Tensor) -> torch.Tensor:
    """A value as a tensor beside another."""
    if isinstance(value, torch.Tensor):
        return value
    shape = (len(value),) if isinstance(value, list) else ()
    first = value[0] if isinstance(value, list) and value else value
    kind = torch.bool if isinstance(first, bool) else like.dtype if isinstance(first, float) else torch.int64
    return torch.zeros(shape, dtype=kind, device=like.device)


def number(value: Any) -> Any:
    """The one number of a scalar or of a vector of one."""
    return value[0] if isinstance(value, list) else value


def as_floats(value: Any) -> Any:
    """Whole numbers as others; sizes that are not known yet stay as they are."""
    made = [float(v) if isinstance(v, int) else v for v in numbers(value)]
    return made if isinstance(value, list) else made[0]


def numbers(value: Any) -> list[Any]:
    """Numbers of a vector, or of a scalar the one."""
    return value if isinstance(value, list) else [value]
