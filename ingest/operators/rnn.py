"""Recurrent layers. For each layer and direction: one GEMM of all inputs, one small GEMM a time step
(`groups` = length, M = batch), each waiting for the one before (`rounds` = length), and the gates' arithmetic."""

from __future__ import annotations

from typing import Any

from ..graph import Step
from ..trace.symbolic import Size, polynomial, product
from .registry import Call, Value, gemm, rule, vector

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
GATE_FLOPS = {
    "lstm": 24,  # 3 sigmoids of 4, 2 tanh, add of two products and biases: 4 gate additions, 4 combining
    "gru": 17,  # 2 sigmoids of 4, tanh, 6 additions, blend of 2
    "rnn_tanh": 3,
    "rnn_relu": 3,
}
"""Operations a hidden element and time step, without the GEMMs."""


@rule("aten.lstm.input", "aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input", operator_class="rnn")
def recurrent(call: Call) -> list[Step]:
    source: Value = call["input"]
    length, batch = (source.dims[1], source.dims[0]) if call["batch_first"] else (source.dims[0], source.dims[1])
    if len(source.dims) == 2:  # unbatched
        length, batch = source.dims[0], 1
    return _layers(call, length, batch)


@rule("aten.lstm.data", "aten.gru.data", "aten.rnn_tanh.data", "aten.rnn_relu.data", operator_class="rnn")
def packed_recurrent(call: Call) -> list[Step]:
    """Count a packed sequence: the rows of `data` are all time steps of all samples."""
    data: Value = call["data"]
    return _layers(call, data.dims[0], 1)


def _layers(call: Call, length: Size, batch: Size) -> list[Step]:
    kind = call.overload.__name__.split(".")[0]
    weights: list[Value] = [w for w in call["params"] if len(w.dims) == 2]
    directions = 2 if call["bidirectional"] else 1
    per_cell = len(weights) // (call["num_layers"] * directions)
    source: Value = call["data"] if call.has("data") else call["input"]
    hidden = _hidden(call["hx"])
    steps: list[Step] = []
    hidden_total: Any = 0
    for cell in range(len(weights) // per_cell):
        w_input, w_hidden = weights[cell * per_cell : cell * per_cell + 2]
        suffix = f"_{cell}" if len(weights) > per_cell else ""
        steps.append(gemm(f"input{suffix}", 1, product(length, batch), w_input.dims[0], w_input.dims[1]))
        if cell < directions:
            steps[-1].left_tensor_id = source.tensor_id
        steps.append(gemm(f"recurrent{suffix}", length, batch, w_hidden.dims[0], w_hidden.dims[1]))
        steps[-1].left_tensor_id = hidden.tensor_id
        steps[-1].quantities["rounds"] = polynomial(length)
        if per_cell == 3:  # projection of an LSTM's output
            w_output = weights[cell * per_cell + 2]
            steps.append(gemm(f"projection{suffix}", length, batch, w_output.dims[0], w_output.dims[1]))
            steps[-1].quantities["rounds"] = polynomial(length)
        rows = w_hidden.dims[0]
        assert isinstance(rows, int), "the hidden size is never symbolic"
        hidden_total += rows // GATES[kind]
    elements = product(length, batch, hidden_total)
    steps.append(vector("gates", product(GATE_FLOPS[kind], elements), elements))
    return steps


def _hidden(state: Value | list[Value]) -> Value:
    """Return the initial hidden state; an LSTM also has a cell state."""
    return state[0] if isinstance(state, list) else state


@rule(
    "aten.lstm_cell.default",
    "aten.gru_cell.default",
    "aten.rnn_tanh_cell.default",
    "aten.rnn_relu_cell.default",
    operator_class="rnn",
)
def cell(call: Call) -> list[Step]:
    """Count one time step."""
    kind = call.overload.__name__.split(".")[0].removesuffix("_cell")
    source: Value = call["input"]
    w_input: Value = call["w_ih"]
    w_hidden: Value = call["w_hh"]
    batch = product(*source.dims[:-1])
    hidden = product(batch, w_hidden.dims[1])
    products = [
        gemm("input", 1, batch, w_input.dims[0], w_input.dims[1]),
        gemm("recurrent", 1, batch, w_hidden.dims[0], w_hidden.dims[1]),
    ]
    products[0].left_tensor_id = source.tensor_id
    products[1].left_tensor_id = _hidden(call["hx"]).tensor_id
    return [*products, vector("gates", product(GATE_FLOPS[kind], hidden), hidden)]
