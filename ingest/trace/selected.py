"""Sizes of a traced program that depend on values, with their upper bounds: a mask selects at most all its elements."""

from __future__ import annotations

import math
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from .refusal import source_of

PICKED_FROM_FIRST = {
    "aten.nonzero.default", "aten.masked_select.default", "aten._unique2.default", "aten.unique_consecutive.default",
    "aten.unique_dim.default", "aten._unique.default",
}  # fmt: skip
"""Operators that yield at most one result an element of their first operand."""

INDEXED = {"aten.index.Tensor", "aten._unsafe_index.Tensor"}
"""Operators that yield one result a true element of a mask among their indices."""


def bounds(program: ExportedProgram) -> tuple[dict[Any, Any], list[str]]:
    """Return the upper bound of each size that depends on values, by its symbol, and a line on each such place."""
    found: dict[Any, Any] = {}
    places: dict[str, None] = {}
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            most = _most(node) if node.meta.get("unbacked_bindings") else None
            if most is not None:
                found.update({symbol: most.subs(found) for symbol in node.meta["unbacked_bindings"]})
                places[":".join(str(part) for part in source_of(node) or (str(node.target),))] = None
    return found, [f"values decide a size at {place}: the upper bound is counted" for place in places]


def _most(node: Node) -> Any:
    """Return the number of elements from which an operator selects, None for an unknown bound."""
    operands = [a for a in torch.fx.node.map_arg(node.args, lambda n: n.meta.get("val")) if a is not None]
    if str(node.target) in PICKED_FROM_FIRST:
        return _elements(operands[1] if "masked_select" in str(node.target) else operands[0])
    if str(node.target) in INDEXED:
        masks = [i for i in operands[1] if isinstance(i, torch.Tensor) and i.dtype in (torch.bool, torch.uint8)]
        return min((_elements(mask) for mask in masks), key=str, default=None)
    return None


def _elements(tensor: torch.Tensor) -> Any:
    return math.prod(
        (s.node.expr if isinstance(s, torch.SymInt) else sympy.Integer(s) for s in tensor.shape), start=sympy.Integer(1)
    )
