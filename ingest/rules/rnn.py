"""Recurrent layers. For each layer and direction: one GEMM of all inputs, one small GEMM a step
(`groups` = steps, M = batch), and the gates' arithmetic."""

from __future__ import annotations

from typing import Any

from ..graph import Part
from ..symbolic import Size, product
from .registry import Call, Value, gemm, rule, vector

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
GATE_FLOPS = {
    "lstm": 24,  # 3 sigmoids of 4, 2 tanh, add of two products and biases: 4 gate additions, 4 combining
    "gru": 17,  # 2 sigmoids of 4, tanh, 6 additions, blend of 2
    "rnn_tanh": 3,
    "rnn_relu": 3,
}
"""Operations a hidden element and step, beside the GEMMs."""


@rule("aten.lstm.input", "aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input", operator_class="rnn")
def recurrent(call: Call) -> list[Part]:
    source: Value = call["input"]
    steps, batch = (source.dims[1], source.dims[0]) if call["batch_first"] else (source.dims[0], source.dims[1])
    if len(source.dims) == 2:  # unbatched
        steps, batch = source.dims[0], 1
    return _layers(call, steps, batch)


@rule("aten.lstm.data", "aten.gru.data", "aten.rnn_tanh.data", "aten.rnn_relu.data", operator_class="rnn")
def packed_recurrent(call: Call) -> list[Part]:
    """A packed sequence: the rows of `data` are all steps of all samples."""
    data: Value = call["data"]
    return _layers(call, data.dims[0], 1)


def _layers(call: Call, steps: Size, batch: Size) -> list[Part]:
    kind = call.target.__name__.split(".")[0]
    weights: list[Value] = [w for w in call["params"] if len(w.dims) == 2]
    per_cell = len(weights) // (call["num_layers"] * (2 if call["bidirectional"] else 1))
    parts: list[Part] = []
    hidden_total: Any = 0
    for cell in range(len(weights) // per_cell):
        w_input, w_hidden = weights[cell * per_cell : cell * per_cell + 2]
        suffix = f"_{cell}" if len(weights) > per_cell else ""
        parts.append(gemm(f"input{suffix}", 1, product(steps, batch), w_input.dims[0], w_input.dims[1]))
        parts.append(gemm(f"recurrent{suffix}", steps, batch, w_hidden.dims[0], w_hidden.dims[1]))
        if per_cell == 3:  # projection of an LSTM's output
            w_output = weights[cell * per_cell + 2]
            parts.append(gemm(f"projection{suffix}", steps, batch, w_output.dims[0], w_output.dims[1]))
        rows = w_hidden.dims[0]
        assert isinstance(rows, int), "the hidden size is never symbolic"
        hidden_total += rows // GATES[kind]
    elements = product(steps, batch, hidden_total)
    parts.append(vector("gates", product(GATE_FLOPS[kind], elements), elements))
    return parts


@rule(
    "aten.lstm_cell.default",
    "aten.gru_cell.default",
    "aten.rnn_tanh_cell.default",
    "aten.rnn_relu_cell.default",
    operator_class="rnn",
)
def cell(call: Call) -> list[Part]:
    """One step."""
    kind = call.target.__name__.split(".")[0].removesuffix("_cell")
    source: Value = call["input"]
    w_input: Value = call["w_ih"]
    w_hidden: Value = call["w_hh"]
    batch = product(*source.dims[:-1])
    hidden = product(batch, w_hidden.dims[1])
    return [
        gemm("input", 1, batch, w_input.dims[0], w_input.dims[1]),
        gemm("recurrent", 1, batch, w_hidden.dims[0], w_hidden.dims[1]),
        vector("gates", product(GATE_FLOPS[kind], hidden), hidden),
    ]
