"""Scratch memory that an operator allocates and frees before it returns, where eager PyTorch runs it in parts.

Each is a tensor that its operator writes and nobody reads. It counts in the memory of the backends that allocate every
result, and moves nothing, because the cost of making it is counted elsewhere (`layout_copy`) or in the operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..graph import Graph, GraphOperator, GraphTensor, Polynomial
from .symbolic import polynomial, product, text

POOLED = ("aten.max_pool2d.default", "aten.max_pool3d.default")
"""Poolings that always write the positions of their maxima, 64 bits each (`max_pool2d_with_indices`)."""

CELLS = ("aten.lstm_cell.default", "aten.gru_cell.default", "aten.rnn_tanh_cell.default", "aten.rnn_relu_cell.default")
"""Cells that write the products with the input and the state before adding them (`LSTMCell` in RNN.cpp)."""


def add_scratch(graph: Graph, copies: Iterable[tuple[int, int]]) -> None:
    """Add the scratch of every operator; `copies` are operands that an operator first reorders."""
    for operator in graph.operators:
        if operator.aten_operator in POOLED:
            made = graph.tensors[operator.writes[0]]
            _add(graph, operator, "positions", "int64", made.shape, made.elements)
        elif operator.aten_operator in CELLS:
            precision = graph.tensors[operator.writes[0]].precision
            for name, shape, elements in _products(operator):
                _add(graph, operator, name, precision, shape, elements)
    for operator_id, tensor_id in copies:
        copied = graph.tensors[tensor_id]
        _add(graph, graph.operators[operator_id], f"copy.{tensor_id}", copied.precision, copied.shape, copied.elements)


def _products(operator: GraphOperator) -> Iterator[tuple[str, str, Polynomial]]:
    """Yield name, shape and elements of each product."""
    for step in operator.steps:
        if step.step_class == "gemm":
            rows, columns = step.quantities["m"], step.quantities["n"]
            yield step.step, f"[{text(rows)}, {text(columns)}]", polynomial(product(rows, columns))


def _add(graph: Graph, operator: GraphOperator, name: str, precision: str, shape: str, elements: Polynomial) -> None:
    tensor_id = len(graph.tensors)
    graph.tensors.append(
        GraphTensor(
            tensor_id, f"{operator.operator}.{name}", operator.operator_id, "activation", precision, shape,
            dict(elements), tensor_id, is_size_bound=operator.is_size_bound,
        )
    )  # fmt: skip
    operator.writes.append(tensor_id)
    operator.accesses[tensor_id] = {(0, 0, 0): 0.0}
