"""Queries on the nodes of an exported graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.utils.flop_counter import FlopCounterMode

from charz.schema.errors import CharzError

from .refusal import source_of


def first_line(error: BaseException) -> str:
    """Return the first line of an error, at most 200 characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]


def attribute(module: GraphModule, node: Node) -> Any:
    """Return the object to which a `get_attr` node refers."""
    found: Any = module
    for name in str(node.target).split("."):
        found = getattr(found, name)
    return found


def has_tensor(value: Any) -> bool:
    """Return True for a tensor or a sequence with one."""
    if isinstance(value, torch.Tensor):
        return True
    return isinstance(value, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in value)


def is_conditional(node: Node) -> bool:
    """Return True for `torch.cond`."""
    return node.target is torch.ops.higher_order.cond


def traced_block(node: Node, arguments: Sequence[Any]) -> tuple[GraphModule, list[Any]]:
    """Return the block of a higher-order call (under `no_grad`, autocast, a checkpoint, a nested region), and its operands;
    for `torch.cond` the branch with more work.

    Raise CharzError for `while_loop`, whose number of runs a value decides; `trace.loops` unrolls the other loops.
    """
    if is_conditional(node):
        _, yes, no, operands = arguments
        return max((yes, no), key=_work), list(operands)
    position = next((i for i, a in enumerate(arguments) if isinstance(a, GraphModule)), None)
    if position is None or node.target is torch.ops.higher_order.while_loop:
        raise CharzError(
            "a loop that is one operator cannot be followed",
            ":".join(str(part) for part in source_of(node) or ("?",)),
            f"`{node.target}` hides its number of iterations",
            "write it as a Python loop of fixed length, or ingest the part before it",
        )
    operands = list(arguments[position + 1 :])
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    return arguments[position], operands


def _work(block: GraphModule) -> int:
    """Return the multiply-accumulates plus result elements of a block at the example's sizes."""
    results = 0
    examples = []
    for node in block.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            sizes = [s if isinstance(s, int) else s.node.hint for s in value.shape]
            results += math.prod(sizes)
            if node.op == "placeholder":
                examples.append(torch.empty(sizes, dtype=value.dtype, device="meta"))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        torch.fx.Interpreter(block).run(*examples)
    return counter.get_total_flops() // 2 + results
