"""Recomputes a saved program's values so that they show views: a file contains only sizes and strides."""

from __future__ import annotations

import operator as python_operator
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from .fx import attribute, has_tensor, traced_block
from .recurrent import whole_layers


def show_views(program: ExportedProgram) -> None:
    """Give every call of a program the value that its operator computes from the values before it, views of them included."""
    values = [n.meta.get("val") for n in program.graph_module.graph.nodes if n.op == "placeholder"]
    mode = detect_fake_mode([v for v in values if isinstance(v, torch.Tensor)])
    if mode is None:
        return
    with torch.no_grad(), mode, whole_layers():
        _Again(mode).block(program.graph_module, None)


class _Again:
    """Another run of a program over the sizes with which it was saved."""

    def __init__(self, mode: Any) -> None:
        self._mode = mode

    def block(self, module: GraphModule, operands: list[Any] | None) -> Any:
        """Run a graph; `operands` are those of a higher-order call's block, None selects the saved inputs."""
        values: dict[Node, Any] = {}
        given = iter(operands) if operands is not None else None
        for node in module.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(given) if given is not None else node.meta.get("val")
                node.meta["val"] = values[node]
            elif node.op == "get_attr":
                values[node] = self._attribute(module, node)
            elif node.op == "call_function":
                values[node] = self._call(node, values)
            elif node.op == "output":
                return torch.fx.node.map_arg(node.args[0], lambda n: values[n])
        return None

    def _attribute(self, module: GraphModule, node: Node) -> Any:
        found = attribute(module, node)
        if isinstance(found, torch.Tensor):
            found = node.meta["val"] = node.meta.get("val", self._mode.from_tensor(found, static_shapes=True))
        return found

    def _call(self, node: Node, values: dict[Node, Any]) -> Any:
        target: Any = node.target
        arguments = torch.fx.node.map_arg(node.args, lambda n: values[n])
        keywords = torch.fx.node.map_arg(node.kwargs, lambda n: values[n])
        if target is python_operator.getitem:
            result = arguments[0][arguments[1]]
        elif isinstance(target, torch._ops.HigherOrderOperator):
            result = self.block(*traced_block(node, arguments))
        elif _is_known(node):
            return node.meta.get("val")
        else:
            result = target(*arguments, **keywords)
        if "val" in node.meta:
            node.meta["val"] = result
        return result


def _is_known(node: Node) -> bool:
    """Return True if a call keeps its saved value: a size, and a tensor with a size that values decide, which another run
    would name differently."""
    is_size = isinstance(node.target, torch._ops.OpOverload) and not has_tensor(node.meta.get("val"))
    return is_size or bool(node.meta.get("unbacked_bindings"))
