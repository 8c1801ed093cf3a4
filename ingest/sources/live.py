"""Modules in memory, as in a notebook. The module and its weights stay unchanged, and nothing is computed.

from charz.ingest.sources import live
request = live.request(model, {"tokens": torch.zeros(1, 128, dtype=torch.int64)}, name="mine")
ingested = pipeline.ingest_request(request, rules)
"""

from __future__ import annotations

import copy
import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import UninitializedParameter

from charz.schema.errors import CharzError

from ..trace.export import BATCH, SEQUENCE, Request
from .arguments import bare, bind, parameters, required, unwrapped
from .guess import first_input
from .inputs import Input, parse_input

QUANTIZED = ("torch.ao.nn.quantized", "torch.nn.quantized", "torch.nn.intrinsic.quantized", "bitsandbytes", "auto_gptq")
"""Packages with modules whose weights are packed integers."""


def request(module: nn.Module, inputs: Any = None, name: str | None = None, train: bool = False) -> Request:
    """Return the request to trace a live module, which is neither changed nor run.

    `inputs` are forward's arguments: one example tensor, a tuple of them in the order of forward's
    parameters, or a mapping by name, nested as forward wants it (mappings, lists, dataclasses). A text as
    `charz ingest --input` takes it (`"B,S:int64"`) may replace any tensor. Without `inputs`, the module's first layer
    determines them. The first dimension of example tensors is the batch where most of them agree on it. The second
    dimension of two-dimensional integers is the sequence, as is every second dimension of that length. `name` is the
    model's in the database, by default its class's. `train` traces it in training, for
    `pipeline.ingest_request(..., train=True)`.

    Raise CharzError for a quantized module, an input that forward does not have, and one that is missing.
    """
    shown = name or type(module).__name__
    refuse_opaque(module, shown)
    traced = unwrapped(on_meta(bare(module))).train(train)
    made = Request(
        name=shown + (",train" if train else ""), source=f"live:{type(traced).__module__}.{type(traced).__qualname__}",
        module=traced, family=type(traced).__name__.lower(),
    )  # fmt: skip
    bind(made, _inputs(traced, inputs, shown))
    return made


def on_meta(module: nn.Module) -> nn.Module:
    """Copy a module with tensors that have sizes and no values; shared weights stay shared."""
    memo: dict[int, Any] = {}
    for part in module.modules():
        for values in (part._parameters, part._buffers, vars(part)):
            for value in values.values():
                if isinstance(value, torch.Tensor) and id(value) not in memo:
                    memo[id(value)] = _empty(value)
    return copy.deepcopy(module, memo)


def _empty(value: torch.Tensor) -> torch.Tensor:
    made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    return nn.Parameter(made, value.requires_grad) if isinstance(value, nn.Parameter) else made


def refuse_opaque(module: nn.Module, name: str) -> None:
    """Raise CharzError for a module with quantized parts, TorchScript, or layers without a size."""
    for path, part in module.named_modules():
        if any(isinstance(v, UninitializedParameter) for v in part._parameters.values()):
            raise CharzError(
                "a layer without a size", f"{name}: {path} is {type(part).__name__}",
                "its first input sets the size", "give the layer its size, or run the module once",
            )  # fmt: skip
        kind = type(part).__module__
        values = (*part._parameters.values(), *part._buffers.values())
        is_quantized = any(v is not None and v.is_quantized for v in values) or kind.startswith(QUANTIZED)
        if is_quantized:
            raise CharzError(
                "a quantized module", f"{name}: {path or type(part).__name__} is {kind}.{type(part).__name__}",
                "its kernels have no export", "ingest the float model and ask for --precision int8",
            )  # fmt: skip
        if isinstance(part, torch.jit.ScriptModule):
            raise CharzError(
                "a TorchScript module", f"{name}: {path or type(part).__name__}", "TorchScript has compiled its Python code",
                "ingest the nn.Module it was made of, or torch.export.save(torch.export.export(MODULE, ARGS), FILE.pt2)",
            )  # fmt: skip


def _inputs(module: nn.Module, given: Any, name: str) -> list[Input]:
    """Flatten the inputs from any of their forms."""
    names = list(parameters(module))
    if given is None:
        found = first_input(module) if len(required(module)) <= 1 else None
        if found is None:
            raise CharzError("inputs not given", f"{name}: {', '.join(names)}", next="inputs={NAME: TENSOR, ...}")
        given = (found,)
    if isinstance(given, (torch.Tensor, str)):
        given = (given,)
    if not isinstance(given, Mapping):
        if len(given) > len(names) and names:
            raise CharzError("too many inputs", name, f"forward takes {', '.join(names)}")
        given = dict(zip(names or [f"input_{i}" for i in range(len(given))], given, strict=False))
    flat = {path: value for key, item in given.items() for path, value in _leaves(str(key), item)}
    axes = _axes({path: value for path, value in flat.items() if isinstance(value, torch.Tensor)})
    return [_input(path, value, axes.get(path, {}), name) for path, value in flat.items()]


def _leaves(path: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [leaf for key, item in value.items() for leaf in _leaves(f"{path}.{key}", item)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return [leaf for f in fields for leaf in _leaves(f"{path}.{f.name}", getattr(value, f.name))]
    if isinstance(value, (list, tuple)):
        return [leaf for i, item in enumerate(value) for leaf in _leaves(f"{path}.{i}", item)]
    return [] if value is None else [(path, value)]


def _input(path: str, value: Any, axes: dict[int, Any], name: str) -> Input:
    if isinstance(value, str):
        return dataclasses.replace(parse_input(value), name=path)
    if not isinstance(value, torch.Tensor):
        raise CharzError(
            "an input that is not a tensor", f"{name}: {path} is {type(value).__name__}",
            "only tensors have sizes to trace", "give forward a default for it",
        )  # fmt: skip
    shape = [max(size, 2) if d in axes else size for d, size in enumerate(value.shape)]
    return Input(path, torch.empty(shape, dtype=value.dtype, device="meta"), axes)


def _axes(examples: Mapping[str, torch.Tensor]) -> dict[str, dict[int, Any]]:
    """Return the batch and sequence dimensions of each example tensor."""
    firsts = Counter(t.shape[0] for t in examples.values() if t.dim())
    batch = firsts.most_common(1)[0][0] if firsts else None
    lengths = [t.shape[1] for t in examples.values() if t.dim() == 2 and not t.is_floating_point()]
    found: dict[str, dict[int, Any]] = {}
    for path, tensor in examples.items():
        axes: dict[int, Any] = {}
        if tensor.dim() and tensor.shape[0] == batch:
            axes[0] = BATCH
        if tensor.dim() > 1 and tensor.shape[1] in lengths:
            axes[1] = SEQUENCE
        found[path] = axes
    return found
