"""A user's own model: `package.module:callable`, which returns a module, with `--input` for each
argument of its forward. `--set` gives the callable's keyword arguments."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import torch

from charz.schema.errors import CharzError, unknown_name

from ..trace import torchvision_schemas
from ..trace.export import SEQUENCE, Request
from .inputs import Input, parse_input
from .spec import Spec

DEFAULT_INPUT = "B,3,224,224"


def build(spec: Spec) -> Request:
    """Call the factory on the meta device; on the CPU first where its constructor computes."""
    torchvision_schemas.prepare()
    factory = _factory(spec.name)
    arguments = {key: _value(text) for key, text in spec.settings}
    module = _construct(factory, arguments, spec.name)
    inputs = [parse_input(text, spec.batch, spec.sequence) for text in spec.inputs or (DEFAULT_INPUT,)]
    request = Request(
        name=spec.name.rpartition(":")[2] + "".join(f",{k}={v}" for k, v in spec.settings), source=spec.name,
        module=module.eval(), family=type(module).__name__.lower(),
    )  # fmt: skip
    bind(request, inputs)
    return request


def _factory(name: str) -> Any:
    path, _, attribute = name.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        raise CharzError(
            "no such module", f"{error.name}, asked for by {name}", next="run in its folder or set PYTHONPATH"
        ) from None
    if not hasattr(module, attribute):
        raise unknown_name("factory", f"{attribute} in {path}", [n for n, v in vars(module).items() if callable(v)])
    return getattr(module, attribute)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _construct(factory: Any, arguments: dict[str, Any], name: str) -> torch.nn.Module:
    if isinstance(factory, torch.nn.Module):
        return factory.to("meta")
    try:
        with torch.device("meta"):
            made = factory(**arguments)
    except (RuntimeError, NotImplementedError):  # a constructor that computes with tensors
        made = factory(**arguments)
    except TypeError as error:
        raise CharzError(
            "the factory does not take these arguments", name, str(error), "--set KEY=VALUE gives keyword arguments"
        ) from None
    if not isinstance(made, torch.nn.Module):
        raise CharzError("the factory returned no torch.nn.Module", name, f"it returned {type(made).__name__}")
    return made.to("meta")


def bind(request: Request, inputs: list[Input]) -> None:
    """Give a request its example inputs, in the order of forward's parameters or by name."""
    parameters = list(inspect.signature(request.module.forward).parameters)
    for position, given in enumerate(inputs):
        name = given.name or (parameters[position] if position < len(parameters) else None)
        if name is None or (given.name and given.name not in parameters):
            raise unknown_name(
                "input", given.name or f"number {position + 1}", parameters, "name inputs as --input NAME=DIMS"
            )
        request.keywords[name] = given.tensor
        request.axes[name] = given.axes
        for dimension, powers in given.axes.items():
            if powers == SEQUENCE:
                request.default_sequence = given.tensor.shape[dimension]
    signature = inspect.signature(request.module.forward)
    missing = [n for n in parameters if n not in request.keywords and _is_required(signature.parameters[n])]
    if missing:
        raise CharzError(
            "inputs not given", f"{request.source}: {', '.join(missing)}", next="add --input NAME=DIMS:TYPE for each"
        )
    shapes = [t.shape for t in request.keywords.values()]
    if len(shapes) == 1 and len(shapes[0]) == 4 and shapes[0][-1] == shapes[0][-2]:
        request.resolution = shapes[0][-1]
    request.default_batch = shapes[0][0] if shapes and shapes[0] else 1


def _is_required(parameter: inspect.Parameter) -> bool:
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return parameter.default is inspect.Parameter.empty and parameter.kind not in variable
