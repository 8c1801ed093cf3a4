"""Regions of a forward under `torch.autocast`, whose casts only a trace of CPU tensors shows."""

from __future__ import annotations

import contextlib
from collections import defaultdict, deque
from typing import Any
from unittest import mock

import torch
from torch.export import ExportedProgram

from .fx import attribute

ENABLED = 2
"""Position of the flag among the arguments of a traced region."""


def is_within(program: ExportedProgram) -> bool:
    """Return True if part of a program runs under autocast; a region that switches it off makes no cast."""
    graphs = [m.graph for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
    regions = [n for graph in graphs for n in graph.nodes if n.target is torch.ops.higher_order.wrap_with_autocast]
    return any(node.args[ENABLED] for node in regions)


def with_casts(program: ExportedProgram) -> ExportedProgram:
    """Return the program with its casts as operators, each with the module and line of the operator that needs it."""
    before: dict[str, deque[torch.fx.Node]] = defaultdict(deque)
    for node in _calls(program):
        before[_function(node)].append(node)
    made = program.run_decompositions({})
    unplaced: list[torch.fx.Node] = []
    for node in _calls(made):
        same = before[_function(node)]
        known = same.popleft() if same else None
        if not node.meta.get("torch_fn", ("",))[0].startswith("wrap_with_autocast"):
            continue
        unplaced.append(node)
        if known is not None:
            place = {name: known.meta[name] for name in PLACE if name in known.meta}
            for other in unplaced:
                other.meta.update(place)
            unplaced.clear()
    return made


PLACE = ("nn_module_stack", "stack_trace", "custom")
"""Metadata with an operator's location in the code and the regions that cover it."""


def _calls(program: ExportedProgram) -> list[torch.fx.Node]:
    """List the operator calls in order, those of a region in its place."""
    found: list[torch.fx.Node] = []

    def walk(module: torch.fx.GraphModule) -> None:
        for node in module.graph.nodes:
            blocks = [attribute(module, a) for a in node.args if isinstance(a, torch.fx.Node) and a.op == "get_attr"]
            inner = [block for block in blocks if isinstance(block, torch.fx.GraphModule)]
            for block in inner:
                walk(block)
            if node.op == "call_function" and not inner:
                found.append(node)

    walk(program.graph_module)
    return found


def _function(node: torch.fx.Node) -> str:
    """Return an operator's name, without the suffix of an in-place form."""
    return getattr(node.target, "__name__", str(node.target)).split(".")[0].rstrip("_")


def on_processor() -> contextlib.AbstractContextManager[Any]:
    """Make autocast for a GPU, or for the meta device of a traced tensor, apply to CPU tensors, in the GPU's
    type."""
    original = torch.autocast.__init__

    def made(self: Any, device_type: str, dtype: torch.dtype | None = None, *rest: Any, **more: Any) -> None:
        if device_type in ("cuda", "meta"):
            device_type, dtype = "cpu", dtype or torch.get_autocast_dtype("cuda")
        original(self, device_type, dtype, *rest, **more)

    return mock.patch.object(torch.autocast, "__init__", made)
