"""Lifetimes: tensors that the model's Python code keeps, observed during a trace, and values computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from charz.hardware_catalog import loader
from charz.ingest.compile.dataflow import flow_of
from charz.ingest.compile.fusion import partition
from charz.ingest.compile.lifetime import EAGER, lifetimes
from charz.ingest.compile.rules import from_rows
from charz.ingest.graph import Graph

Lower = Callable[..., Any]


def spans(graph: Graph) -> dict[str, tuple[int, int]]:
    """Return the first and last kernel of each storage under eager, by the name of its tensor."""
    rules = from_rows(loader.load().rows)
    kernels = partition(flow_of(graph, rules.classes), EAGER, rules.fusion[EAGER], rules.folds_norm[EAGER])
    return {graph.tensors[t].tensor: span for t, span in lifetimes(graph, kernels).items()}


def test_local_variable_holds_until_its_function_returns(lowered: Lower) -> None:
    def helper(x: torch.Tensor) -> torch.Tensor:
        kept = torch.sin(x)
        return torch.tan(torch.cos(kept))

    held = spans(lowered(lambda x: torch.exp(torch.relu(helper(x))), torch.empty(2, 3)).graph)
    assert held["sin"] == (0, 2)  # until tan, the last call inside the helper
    assert held["cos"] == (1, 2)
    assert held["tan"] == (2, 3)


def test_binding_anew_frees(lowered: Lower) -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        y = torch.sin(x)
        y = torch.cos(y)
        y = torch.tan(y)
        return torch.exp(y)

    held = spans(lowered(forward, torch.empty(2, 3)).graph)
    assert held["sin"] == (0, 1)
    assert held["cos"] == (1, 2)


def test_view_holds_its_storage(lowered: Lower) -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        y = torch.sin(x)
        row = y[:, :1]
        y = torch.cos(y)
        y = torch.tan(y)
        return torch.exp(y) + row

    assert spans(lowered(forward, torch.empty(2, 3)).graph)["sin"] == (0, 4)


class _Caller(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = _Inner()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.exp(self.inner(torch.sin(x)))


class _Inner(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.cos(x)
        x = torch.tan(x)
        return torch.relu(x)


def test_call_of_a_module_holds_its_argument(lowered: Lower) -> None:
    graph = lowered(_Caller(), torch.empty(2, 3)).graph
    assert spans(graph)["sin"] == (0, 3)  # until the inner relu
    for tensor in graph.tensors:  # like a program that arrives exported, whose trace nothing observed
        tensor.held_operator_id = None
    assert spans(graph)["sin"] == (0, 3)


def test_folded_constant_is_kept_for_good(lowered: Lower) -> None:
    class Shifted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(torch.empty(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shift = torch.exp(torch.sin(self.table))
            return torch.softmax(torch.softmax(x, -1) @ torch.ones(3, 3, device="meta") + shift, -1)

    graph = lowered(Shifted(), torch.empty(2, 3)).graph
    rules = from_rows(loader.load().rows)
    flow = flow_of(graph, rules.classes, folds_constants=True)
    kernels = partition(flow, "tensorrt", rules.fusion["tensorrt"], rules.folds_norm["tensorrt"])
    held = lifetimes(graph, kernels, flow.constants)
    named = {graph.tensors[t].tensor: span for t, span in held.items()}
    assert named["exp"] == (-1, kernels.count - 1)
    assert "sin" not in named
