"""Stages of operators: an operator that overwrites memory waits for its readers under all of its names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from charz.ingest.compile.dataflow import flow_of
from charz.ingest.compile.fusion import partition
from charz.ingest.compile.rules import Rules


def read_then_added_to(x: torch.Tensor) -> torch.Tensor:
    y = torch.sin(x)
    z = torch.exp(torch.cos(y))
    y.add_(1)
    return z + y


def read_through_a_view(x: torch.Tensor) -> torch.Tensor:
    y = torch.sin(x)
    z = torch.exp(torch.cos(y.t()))
    y.mul_(2)
    return z.t() + y


def written_through_a_view(x: torch.Tensor) -> torch.Tensor:
    y = torch.sin(x)
    z = torch.exp(torch.exp(torch.cos(y)))
    y[:, 0].mul_(2)
    return z + y


def read_between_two_writes(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros_like(x)
    y[:, :2].add_(1)
    z = torch.exp(torch.cos(y))
    y[:, 2:].add_(1)
    return z + y


FUNCTIONS = (read_then_added_to, read_through_a_view, written_through_a_view, read_between_two_writes)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_who_overwrites_comes_after_who_read(lowered: Callable[..., Any], function: Any) -> None:
    operators = lowered(function, torch.empty(4, 4), symbolic=False).graph.operators
    stage = {o.aten_operator: o.stage for o in operators}
    last = [o.stage for o in operators if o.is_inplace][-1]
    assert last > stage["aten.cos.default"]
    assert stage["aten.add.Tensor"] > last


@pytest.mark.parametrize("function", FUNCTIONS)
def test_kernels_have_the_edge_and_stay_in_order(lowered: Callable[..., Any], rules: Rules, function: Any) -> None:
    graph = lowered(function, torch.empty(4, 4), symbolic=False).graph
    for backend, table in rules.fusion.items():
        kernels = partition(flow_of(graph, rules.classes), backend, table, rules.folds_norm[backend])
        assert all(producer < consumer for producer, consumer in kernels.edges)
        reader = next(o.operator_id for o in graph.operators if o.aten_operator == "aten.cos.default")
        writer = [o.operator_id for o in graph.operators if o.is_inplace][-1]
        first, second = kernels.kernel_of[reader], kernels.kernel_of[writer]
        assert first == second or (first, second) in kernels.edges
        assert first == second or kernels.stage[first] < kernels.stage[second]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_producer_comes_before_its_readers(lowered: Callable[..., Any], function: Any) -> None:
    graph = lowered(function, torch.empty(4, 4), symbolic=False).graph
    for o in graph.operators:
        for t in o.reads:
            producer = graph.tensors[t].producer_operator_id
            assert producer is None or graph.operators[producer].stage < o.stage
