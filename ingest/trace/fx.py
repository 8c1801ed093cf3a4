"""What every walk along an exported graph asks of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node


def first_line(error: BaseException) -> str:
    """First telling line of an error, at most 200 characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]


def attribute(module: GraphModule, node: Node) -> Any:
    """What a `get_attr` node stands for."""
    found: Any = module
    for name in str(node.target).split("."):
        found = getattr(found, name)
    return found


def has_tensor(value: Any) -> bool:
    """True for a tensor or a sequence with one."""
    if isinstance(value, torch.Tensor):
        return True
    return isinstance(value, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in value)


def traced_block(node: Node, arguments: Sequence[Any]) -> tuple[GraphModule, list[Any]]:
    """The block a higher-order call runs (under `no_grad`, autocast, a checkpoint, a nested region), and its operands.

    Raises NotImplementedError when there is none.
    """
    position = next((i for i, a in enumerate(arguments) if isinstance(a, GraphModule)), None)
    if position is None:
        raise NotImplementedError(f"higher-order operator {node.target} has no traced block")
    operands = list(arguments[position + 1 :])
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    return arguments[position], operands
