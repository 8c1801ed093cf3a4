"""Loops over the slices of tensors, traced step by step, because the tensors' size fixes their number of iterations.

`scan`, `map` and `associative_scan` of PyTorch are operators that contain a block. Within `unrolled` they run the block once a
slice, as their eager forms do
(https://github.com/pytorch/pytorch/blob/main/torch/_higher_order_ops/scan.py, map.py and associative_scan.py), so that the
graph contains each step. `while_loop` stays one operator, because values decide its number of iterations.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.utils._pytree import tree_leaves, tree_map

from charz.schema.errors import CharzError

_SCAN, _MAP, _TREE = (
    importlib.import_module(f"torch._higher_order_ops.{name}") for name in ("scan", "map", "associative_scan")
)

Block = Callable[..., Any]

MOST_STEPS = 10_000
"""Limit on the steps of a traced loop, at about 0.1 s each."""


def check_count(count: int) -> None:
    """Raise CharzError for a loop with more than `MOST_STEPS` steps."""
    if count > MOST_STEPS:
        raise CharzError(
            "a loop of too many steps to trace each of them", "the model", f"up to {MOST_STEPS:,} are traced",
            "give it a shorter input (--sequence, --input), or ingest one step",
        )  # fmt: skip


def _scan(
    _: object, block: Block, init: Sequence[Tensor], xs: Sequence[Tensor], additional_inputs: Sequence[Any]
) -> Any:
    """Return the last carried values and the results of every step, as two trees where the block returns two."""
    carried: list[Any] = list(init)
    results = []
    for values in _slices(xs):
        made = block(*carried, *values, *additional_inputs)
        last, result = (made[: len(init)], made[len(init) :]) if isinstance(block, GraphModule) else made
        carried = tree_leaves(last)
        results.append(result)
    return (*last, *_stacked(results)) if isinstance(block, GraphModule) else (last, _stacked(results))


def _map(_: object, block: Block, xs: Sequence[Tensor], arguments: Sequence[Any]) -> Any:
    """Return the results of every step."""
    return _stacked([block(*values, *arguments) for values in _slices(xs)])


def _associative_scan(_: object, block: Block, xs: Sequence[Tensor], additional_inputs: Sequence[Any]) -> Any:
    """Combine neighbours, then neighbours of those, in twice the logarithm of the size calls."""
    return _TREE.generic_associative_scan(block, list(xs), additional_inputs=tuple(additional_inputs))


def _slices(xs: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Yield each slice of tensors along their first dimension, which makes the trace take its size for a number."""
    count = int(xs[0].shape[0])
    check_count(count)
    for i in range(count):
        yield [x.select(0, i) for x in xs]


def _stacked(results: Sequence[Any]) -> Any:
    """Combine trees of equal form into one with stacked tensors."""
    return tree_map(lambda *parts: torch.stack(parts) if isinstance(parts[0], Tensor) else parts[0], *results)


_RUN = {_SCAN.ScanOp: _scan, _MAP.MapImpl: _map, _TREE.AssociativeScanOp: _associative_scan}
"""Replacements for the calls of these operators."""


@contextlib.contextmanager
def unrolled() -> Iterator[None]:
    """Trace a loop over slices as its steps."""
    with contextlib.ExitStack() as stack:
        for operator, run in _RUN.items():
            stack.enter_context(mock.patch.object(operator, "__call__", run))
        yield


def with_steps(program: ExportedProgram) -> ExportedProgram:
    """Return a saved program with its loops over slices unrolled."""
    graphs = [module.graph for module in program.graph_module.modules() if isinstance(module, GraphModule)]
    if not any(isinstance(node.target, tuple(_RUN)) for graph in graphs for node in graph.nodes):
        return program
    with unrolled():
        return program.run_decompositions({})
