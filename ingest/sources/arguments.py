"""Arguments of a module's forward: finds them through wrappers, and builds them from plain tensors.

A trace has plain tensors as inputs, each with a name. Where the forward wants a dictionary, a list, a tuple or a
dataclass, or passes everything to a wrapped module, an adapter converts.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from charz.schema.errors import CharzError, unknown_name

from ..trace.export import BATCH, SEQUENCE, Request
from .inputs import Input

VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
WRAPPED = ("module", "base_model", "model")
"""Attributes in which wrappers keep the wrapped module."""


def unwrapped(module: nn.Module) -> nn.Module:
    """Remove `torch.compile` and data parallelism throughout a module: they change how it runs, not its result."""
    for child in list(module.modules()):
        for name, inner in list(child._modules.items()):
            if inner is not None:
                child._modules[name] = bare(inner)
    return bare(module)


def bare(module: nn.Module) -> nn.Module:
    """Return the module within `torch.compile` or data parallelism."""
    while True:
        if isinstance(module, torch._dynamo.eval_frame.OptimizedModule):
            module = module._orig_mod
        elif isinstance(module, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            module = module.module
        else:
            return module


def parameters(module: nn.Module) -> dict[str, inspect.Parameter]:
    """Return the named parameters of the forward, or of the wrapped module's where the forward only passes its arguments on."""
    while True:
        found = inspect.signature(module.forward).parameters
        named = {name: p for name, p in found.items() if p.kind not in VARIABLE}
        inner = _wrapped(module)
        if named or not found or inner is None:
            return named
        module = inner


def _wrapped(module: nn.Module) -> nn.Module | None:
    children = {name: child for name, child in module._modules.items() if child is not None}
    for name in WRAPPED:
        if name in children:
            return children[name]
    return next(iter(children.values())) if len(children) == 1 else None


def required(module: nn.Module) -> list[str]:
    """Return the names of the parameters without a default."""
    return [n for n, p in parameters(module).items() if p.default is inspect.Parameter.empty]


def optional(parameters: Mapping[str, inspect.Parameter], given: Container[str]) -> list[str]:
    """List the parameters not given that may be tensors: annotated so, or without annotation and with default None."""
    return [
        name
        for name, p in parameters.items()
        if name not in given
        and p.kind not in VARIABLE
        and ("Tensor" in str(p.annotation) if p.annotation is not p.empty else p.default is None)
    ]


def bind(request: Request, inputs: Sequence[Input]) -> None:
    """Give a request its example inputs, in the order of forward's parameters or by name.

    Raise CharzError for a name that forward does not have and for a parameter that is left out.
    """
    known = parameters(request.module)
    paths: dict[str, tuple[str, ...]] = {}
    for position, given in enumerate(inputs):
        name = given.name or (list(known)[position] if position < len(known) else None)
        if name is None or (given.name and known and name.partition(".")[0] not in known):
            shown = given.name or f"number {position + 1}"
            raise unknown_name("input", shown, known, "name inputs as --input NAME=DIMS")
        path = tuple(name.split("."))
        flat = "_".join(path)
        paths[flat] = path
        request.keywords[flat] = given.tensor
        request.axes[flat] = given.axes
        for dimension, powers in given.axes.items():
            if powers == SEQUENCE:
                request.default_sequence = given.tensor.shape[dimension]
    missing = [n for n in required(request.module) if n not in {path[0] for path in paths.values()}]
    if missing:
        raise CharzError(
            "inputs not given", f"{request.source}: {', '.join(missing)}", next="add --input NAME=DIMS:TYPE for each"
        )
    request.left_out = optional(known, {path[0] for path in paths.values()})
    _adapt(request.module, paths)
    request.resolution = _side([t.shape for t in request.keywords.values()])
    batches = [i.tensor.shape[d] for i in inputs for d, powers in i.axes.items() if powers == BATCH]
    shapes = [i.tensor.shape for i in inputs if i.tensor.dim()]
    request.default_batch = batches[0] if batches else shapes[0][0] if shapes else 1


def _side(shapes: Sequence[torch.Size]) -> int | None:
    """Return the side of a single square image, else None."""
    is_image = len(shapes) == 1 and len(shapes[0]) == 4 and shapes[0][-1] == shapes[0][-2]
    return shapes[0][-1] if is_image else None


def _adapt(module: nn.Module, paths: dict[str, tuple[str, ...]]) -> None:
    """Make forward take plain tensors by name and return plain tensors."""
    original: Callable[..., Any] = module.forward
    hints = _hints(module)
    kinds = {p.kind for p in inspect.signature(original).parameters.values()}
    is_by_position = kinds == {inspect.Parameter.VAR_POSITIONAL}

    def forward(**given: torch.Tensor) -> list[torch.Tensor]:
        tree: dict[str, Any] = {}
        for name, path in paths.items():
            place = tree
            for key in path[:-1]:
                place = place.setdefault(key, {})
            place[path[-1]] = given[name]
        built = {name: _built(value, hints.get(name)) for name, value in tree.items()}
        return tensors(original(*built.values()) if is_by_position else original(**built))

    set_signature(forward, paths)
    module.forward = forward


def set_signature(forward: Callable[..., Any], names: Iterable[str]) -> None:
    """Give a function of arbitrary keywords a signature with these names."""
    forward.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )


def _hints(module: nn.Module) -> dict[str, Any]:
    """Return the annotated types of forward's parameters, or nothing where a name cannot be resolved."""
    while not any(p.kind not in VARIABLE for p in inspect.signature(module.forward).parameters.values()):
        inner = _wrapped(module)
        if inner is None:
            return {}
        module = inner
    try:
        return typing.get_type_hints(module.forward)
    except NameError:  # a type imported only for type checkers
        return {}


def _built(value: Any, hint: Any) -> Any:
    """Build an argument from a tree of tensors: by its annotated type, else a list or dictionary by its keys."""
    if not isinstance(value, dict):
        return value
    choices = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    for choice in choices:
        if dataclasses.is_dataclass(choice) or hasattr(choice, "_fields"):
            fields = typing.get_type_hints(choice)
            return choice(**{name: _built(item, fields.get(name)) for name, item in value.items()})
    items = {name: _built(item, None) for name, item in value.items()}
    if all(name.isdigit() for name in items):
        made = [items[name] for name in sorted(items, key=int)]
        return tuple(made) if any(typing.get_origin(choice) is tuple for choice in choices) else made
    return items


def tensors(output: Any) -> list[torch.Tensor]:
    """Return the tensors of a model's output, nested ones included, caches left out."""
    if isinstance(output, torch.Tensor):
        return [output]
    if dataclasses.is_dataclass(output) and not isinstance(output, (dict, type)):
        output = [getattr(output, f.name) for f in dataclasses.fields(output)]
    items = output.values() if isinstance(output, dict) else output if isinstance(output, (list, tuple)) else ()
    return [tensor for item in items for tensor in tensors(item)]
