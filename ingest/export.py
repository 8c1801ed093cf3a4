"""Tracing: `torch.export.export` on the `meta` device, every size symbolic that can be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export import Dim, ExportedProgram

from .symbolic import Symbols

BATCH, SEQUENCE, CONTEXT = (1, 0, 0), (0, 1, 0), (0, 0, 1)


@dataclass(slots=True)
class Request:
    """A module with example inputs and the axes of them that may vary."""

    name: str
    source: str
    module: torch.nn.Module
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    axes: dict[str, dict[int, tuple[int, int, int]]] = field(default_factory=dict)
    """By input name: dimension → powers of the size it stands for."""
    family: str = ""
    resolution: int | None = None
    default_batch: int = 2
    default_sequence: int = 1
    published_macs: float | None = None


@dataclass(slots=True)
class Traced:
    """An exported program with what its symbols mean."""

    program: ExportedProgram
    symbols: Symbols
    is_batch_symbolic: bool
    is_sequence_symbolic: bool
    reason: str | None


def trace(request: Request) -> Traced:
    """Export with every axis symbolic that the model allows, the reason recorded where it does not."""
    axes = request.axes
    reason = None
    attempts = [axes]
    if any(p == SEQUENCE for dims in axes.values() for p in dims.values()):
        attempts.append({n: {d: p for d, p in dims.items() if p != SEQUENCE} for n, dims in axes.items()})
    attempts.append({})
    for attempt in attempts:
        try:
            program = _export(request, attempt)
        except Exception as error:  # whatever the model's own code raises under symbolic sizes
            if attempt is attempts[-1]:
                raise
            reason = reason or first_line(error)
            continue
        return _traced(program, attempt, reason)
    raise AssertionError("the last attempt returns or raises")


def first_line(error: BaseException) -> str:
    """First telling line of an error, at most 200 characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]


def _export(request: Request, axes: dict[str, dict[int, tuple[int, int, int]]]) -> ExportedProgram:
    dynamic: Any = None
    if any(axes.values()):
        names = _input_names(request)
        dynamic = {name: _dims(axes.get(name, {}), value) for name, value in names.items()}
    with torch.no_grad():
        return torch.export.export(
            request.module, request.arguments, request.keywords, dynamic_shapes=dynamic, strict=False
        )


def _input_names(request: Request) -> dict[str, Any]:
    import inspect

    signature = inspect.signature(request.module.forward)
    return dict(signature.bind(*request.arguments, **request.keywords).arguments)


def _dims(axes: dict[int, tuple[int, int, int]], value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return None
    return {d: Dim.DYNAMIC for d in axes} or None


def _traced(program: ExportedProgram, axes: dict[str, dict[int, tuple[int, int, int]]], reason: str | None) -> Traced:
    from torch.export.graph_signature import InputKind

    powers: dict[Any, tuple[int, int, int]] = {}
    placeholders = {n.name: n for n in program.graph_module.graph.nodes if n.op == "placeholder"}
    for spec in program.graph_signature.input_specs:
        if spec.kind is not InputKind.USER_INPUT:
            continue
        value = placeholders[spec.arg.name].meta.get("val")
        for d, power in axes.get(spec.arg.name, {}).items():
            size = value.shape[d]
            if not isinstance(size, int):
                powers[size.node.expr] = power
    found = set(powers.values())
    return Traced(program, Symbols(powers), BATCH in found, SEQUENCE in found, reason)
