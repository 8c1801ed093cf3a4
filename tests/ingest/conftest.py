"""Lowering of single operators, for the tests of their rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from charz.hardware_catalog import loader
from charz.ingest.compile.rules import Rules, from_rows
from charz.ingest.graph import Graph, GraphOperator, evaluate
from charz.ingest.pipeline import to_graph
from charz.ingest.trace.export import BATCH, Request
from charz.schema.row import Row


class _Function(torch.nn.Module):
    """A module whose forward is a function of one to four tensors."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any, y: Any = None, z: Any = None, w: Any = None) -> Any:
        return self.function(*(t for t in (x, y, z, w) if t is not None))


class Lowered:
    """A graph with the queries of the tests."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def of_class(self, operator_class: str) -> list[GraphOperator]:
        return [o for o in self.graph.operators if o.operator_class == operator_class]

    def only(self, operator_class: str) -> GraphOperator:
        found = self.of_class(operator_class)
        assert len(found) == 1, [(o.aten_operator, o.operator_class) for o in self.graph.operators]
        return found[0]

    @staticmethod
    def value(
        operator: GraphOperator, quantity: str, step: str | None = None, batch: int = 1, sequence: int = 1
    ) -> float:
        """Sum a quantity over the steps (or one step) of an operator."""
        chosen = [s for s in operator.steps if step in (None, s.step)]
        return sum(evaluate(s.quantities.get(quantity, {}), batch, sequence) for s in chosen)

    def moved(self, operator: GraphOperator, tensor_id: int, batch: int = 1) -> float:
        """Return the elements of a tensor that an operator moves."""
        whole = self.graph.tensors[tensor_id].elements
        return evaluate(operator.accesses.get(tensor_id, whole), batch)


@pytest.fixture
def lowered() -> Callable[..., Lowered]:
    """Fixture `lowered(module_or_function, tensor, ...)`: the graph, with a symbolic batch (dimension 0) unless
    `symbolic=False`, in inference unless `training=True`."""

    def lower(model: Any, *tensors: torch.Tensor, symbolic: bool = True, training: bool = False) -> Lowered:
        module = model if isinstance(model, torch.nn.Module) else _Function(model)
        tensors = tuple(t.to("meta") for t in tensors)
        names = ("x", "y", "z", "w") if isinstance(module, _Function) else tuple(_names(module))
        axes = {name: {0: BATCH} for name, _ in zip(names, tensors, strict=False)} if symbolic else {}
        graph, traced = to_graph(Request("test", "test", module.train(training).to("meta"), tensors, axes=axes))
        assert not symbolic or traced.is_batch_symbolic, traced.reason
        assert all(o.rule is not None for o in graph.operators), [
            o.aten_operator for o in graph.operators if o.rule is None
        ]
        return Lowered(graph)

    return lower


def _names(module: torch.nn.Module) -> list[str]:
    import inspect

    return list(inspect.signature(module.forward).parameters)


@pytest.fixture(scope="session")
def rows() -> dict[type[Row], list[Row]]:
    """Catalog that ships with charz."""
    return loader.load().rows


@pytest.fixture(scope="session")
def rules(rows: dict[type[Row], list[Row]]) -> Rules:
    """Rules that ship with charz."""
    return from_rows(rows)
