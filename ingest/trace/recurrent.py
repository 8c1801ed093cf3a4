"""Recurrent layers traced as one operator.

On fake tensors PyTorch runs a recurrent layer step by step in Python (`lstm_impl` and others in torch/_decomp), only to
find shapes that follow from the layer's sizes: this takes seconds a layer, and the length cannot stay symbolic. Within
`whole_layers` these operators return only the shapes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._C import DispatchKey

aten = torch.ops.aten


def _lstm(
    source: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    hidden, cell = hx
    return _states(source, hidden, bidirectional), hidden.new_empty(hidden.shape), cell.new_empty(cell.shape)


def _packed_lstm(
    data: Tensor, batch_sizes: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    return _lstm(data, hx, params, has_biases, num_layers, dropout, train, bidirectional, False)


def _other(
    source: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    return _states(source, hx, bidirectional), hx.new_empty(hx.shape)


def _packed_other(
    data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    return _other(data, hx, params, has_biases, num_layers, dropout, train, bidirectional, False)


def _states(source: Tensor, hidden: Tensor, two_way: bool) -> Tensor:
    """Return the hidden states of all steps and directions, in the order of the input; projected states are as wide as `hidden`."""
    return source.new_empty((*source.shape[:-1], hidden.shape[-1] * (2 if two_way else 1)))


SHAPES: dict[Any, Any] = {
    aten.lstm.input: _lstm, aten.gru.input: _other, aten.rnn_tanh.input: _other, aten.rnn_relu.input: _other,
    aten.lstm.data: _packed_lstm, aten.gru.data: _packed_other, aten.rnn_tanh.data: _packed_other,
    aten.rnn_relu.data: _packed_other,
}  # fmt: skip
"""Shapes of the results of each recurrent operator."""


KEYS = (DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd, DispatchKey.Meta)
"""Dispatch keys under which PyTorch registers the step-by-step forms."""


@contextlib.contextmanager
def whole_layers() -> Iterator[None]:
    """Make recurrent operators on fake tensors return their shapes without running their steps."""
    before = {operator: dict(operator.py_kernels) for operator in SHAPES}
    for operator, shapes in SHAPES.items():
        _set_kernels(operator, {**before[operator], **dict.fromkeys(KEYS, shapes)})
    try:
        yield
    finally:
        for operator, kernels in before.items():
            _set_kernels(operator, kernels)


def _set_kernels(operator: Any, kernels: dict[Any, Any]) -> None:
    operator.py_kernels.clear()
    operator.py_kernels.update(kernels)
    operator._dispatch_cache.clear()
