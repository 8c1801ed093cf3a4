"""Materializes a traceable model on a device, with random weights and example inputs."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from charz.schema.errors import CharzError

from ..trace.export import BATCH, SEQUENCE, Request

Inputs = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments of a call."""


def module(request: Request, device: str) -> torch.nn.Module:
    """Give the request's module memory and values. Raise `CharzError` where it keeps tensors that are
    neither parameters nor buffers, and so cannot be given values."""
    try:
        real = request.module.to_empty(device=device)
    except NotImplementedError as error:
        raise CharzError("the model has no values to run with", request.name, str(error)) from error
    with torch.no_grad():
        for parameter in real.parameters():
            # Small enough that activations stay finite through deep networks, and no denormals.
            parameter.normal_(0.0, 0.02)
        for name, buffer in real.named_buffers():
            _fill(name, buffer)
    return real.eval()


def _fill(name: str, buffer: torch.Tensor) -> None:
    """Fill in values that any model accepts: index 0, unit variance, nothing masked."""
    if name.endswith("running_var"):
        buffer.fill_(1.0)
    elif buffer.dtype.is_floating_point:
        buffer.normal_(0.0, 0.02)
    else:
        buffer.zero_()


def check_sizes(request: Request, batch: int, sequence: int | None) -> None:
    """Raise `CharzError` where the model's batch is fixed to another, or it has no sequence to set."""
    axes = [powers for named in request.axes.values() for powers in named.values()]
    if BATCH not in axes and batch != request.default_batch:
        raise CharzError(
            "the model's batch is fixed",
            request.name,
            f"it is {request.default_batch}",
            f"--batch {request.default_batch}",
        )
    if sequence is not None and SEQUENCE not in axes:
        raise CharzError("the model's sequence cannot be set", request.name, next="leave out --sequence")


def inputs(request: Request, batch: int, sequence: int | None, device: str) -> Inputs:
    """Make example inputs of a batch and sequence. Raise `CharzError` where the model cannot have that size."""
    names = list(inspect.signature(request.module.forward).parameters)
    check_sizes(request, batch, sequence)
    arguments = tuple(
        _value(value, request.axes.get(name, {}), batch, sequence, device)
        for name, value in zip(names, request.arguments, strict=False)
    )
    keywords = {
        name: _value(value, request.axes.get(name, {}), batch, sequence, device)
        for name, value in request.keywords.items()
    }
    return arguments, keywords


def _value(value: Any, axes: dict[int, Any], batch: int, sequence: int | None, device: str) -> Any:
    """Make a tensor of the requested sizes: noise for floats, index 0 for integers."""
    if not isinstance(value, torch.Tensor):
        return value
    shape = list(value.shape)
    for dimension, powers in axes.items():
        if powers == BATCH:
            shape[dimension] = batch
        elif powers == SEQUENCE and sequence is not None:
            shape[dimension] = sequence
    if value.dtype.is_floating_point:
        return torch.randn(shape, dtype=value.dtype, device=device)
    if value.dtype == torch.bool:
        return torch.ones(shape, dtype=value.dtype, device=device)
    return torch.zeros(shape, dtype=value.dtype, device=device)
