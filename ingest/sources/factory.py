"""A user's own model: `package.module:callable`, `file.py:callable` or a `file.py` with one model, with `--input` for
each argument of its forward. `--set` gives the callable's keyword arguments."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from charz.schema.errors import CharzError, is_interrupt, unknown_name

from ..trace import torchvision_schemas
from ..trace.export import Request
from .arguments import bind, required, unwrapped
from .guess import first_input
from .inputs import parse_input
from .live import on_meta, refuse_opaque
from .spec import Spec


def build(spec: Spec) -> Request:
    """Call the factory on the meta device, or on the CPU where its constructor computes."""
    torchvision_schemas.prepare()
    name, factory = _factory(spec.name)
    arguments = {key: _value(text) for key, text in spec.settings}
    module = unwrapped(_construct(factory, arguments, name))
    request = Request(
        name=name.rpartition(":")[2] + "".join(f",{k}={v}" for k, v in spec.settings), source=name,
        module=module.eval(), family=type(module).__name__.lower(),
    )  # fmt: skip
    bind(request, [parse_input(text, spec.batch, spec.sequence) for text in spec.inputs or _found_inputs(spec, module)])
    return request


def _found_inputs(spec: Spec, module: torch.nn.Module) -> list[str]:
    """Infer the input from the module's first layer, where its forward requires at most one."""
    names = required(module)
    found = first_input(module, *(spec.sides or ())) if len(names) <= 1 else None
    if found is None:
        raise CharzError(
            "inputs not given", f"{spec.name}: {', '.join(names) or 'forward has no named parameters'}",
            next="add --input NAME=DIMS:TYPE for each, e.g. --input image=B,3,224,224 or --input tokens=B,S:int64",
        )  # fmt: skip
    return [found]


def _factory(name: str) -> tuple[str, Any]:
    """Return the full name and the callable or module; a file without `:callable` must contain one model."""
    path, colon, attribute = name.partition(":")
    module = _file(Path(path)) if path.endswith(".py") else _module(path, name)
    if not colon:
        attribute = _only_model(module, name)
    if not hasattr(module, attribute):
        raise unknown_name("factory", f"{attribute} in {path}", [n for n, v in vars(module).items() if callable(v)])
    return f"{path}:{attribute}", getattr(module, attribute)


def _module(path: str, name: str) -> ModuleType:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        raise CharzError(
            "no such module", f"{error.name}, asked for by {name}", next="run in its folder or set PYTHONPATH"
        ) from None


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise CharzError("no such file", str(path), next="`charz ingest FILE.py:CALLABLE` takes a file of Python")
    if str(path.parent.resolve()) not in sys.path:
        sys.path.insert(0, str(path.parent.resolve()))  # for modules that the file imports from its own folder
    found = importlib.util.spec_from_file_location(path.stem, path)
    if found is None or found.loader is None:
        raise CharzError("not a file of Python", str(path))
    module = importlib.util.module_from_spec(found)
    sys.modules[path.stem] = module
    try:
        found.loader.exec_module(module)
    except SyntaxError as error:
        raise CharzError("not Python", f"{path}, line {error.lineno}", str(error.msg)) from None
    except ModuleNotFoundError as error:
        raise CharzError("a package is missing", f"{error.name}, imported by {path}", next="pip install it") from None
    return module


def _only_model(module: ModuleType, name: str) -> str:
    """Return the name of the one model in a file that can be built and is not part of another. Raise CharzError where
    there are more."""
    found = {n: v for n, v in vars(module).items() if not n.startswith("_") and _makes_model(v, module)}
    if len(found) > 1:
        parts = {n: made for n, v in found.items() if (made := _parts(v)) is not None}
        used = {type(part) for made in parts.values() for part in made}
        found = {n: v for n, v in found.items() if n in parts and v not in used} or found
    if len(found) == 1:
        return next(iter(found))
    if not found:
        raise CharzError(
            "no model found", name, "it contains no module, and nothing that makes one without arguments",
            f"name the callable: `charz ingest {name}:CALLABLE --set KEY=VALUE`",
        )  # fmt: skip
    shown = ", ".join(sorted(found)[:12])
    raise CharzError("more than one model", name, f"it contains {shown}", f"`charz ingest {name}:{sorted(found)[0]}`")


def _makes_model(value: Any, module: ModuleType) -> bool:
    """Return True for a module, or for a module class or annotated function of this file that needs no arguments."""
    if isinstance(value, torch.nn.Module):
        return True
    if not callable(value) or getattr(value, "__module__", None) != module.__name__:
        return False
    is_class = inspect.isclass(value) and issubclass(value, torch.nn.Module)
    if not is_class and not inspect.isfunction(value):
        return False
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:  # a callable without a signature
        return False
    if any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return False
    return is_class or "Module" in str(inspect.signature(value).return_annotation)


def _parts(value: Any) -> list[torch.nn.Module] | None:
    """Return the submodules of a callable's result, with the result itself if the callable is a function; None if the
    result has no forward."""
    if isinstance(value, torch.nn.Module):
        return list(value.modules())
    try:
        with torch.device("meta"):
            made = value()
    except Exception as error:  # a constructor may raise anything
        if is_interrupt(error):
            raise
        return None
    if not isinstance(made, torch.nn.Module) or type(made).forward is torch.nn.Module.forward:
        return None
    return [part for part in made.modules() if part is not made or not inspect.isclass(value)]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _construct(factory: Any, arguments: dict[str, Any], name: str) -> torch.nn.Module:
    if isinstance(factory, torch.nn.Module):
        return on_meta(factory)
    try:
        with torch.device("meta"):
            made = factory(**arguments)
    except (RuntimeError, NotImplementedError):  # the constructor computes with tensors
        made = factory(**arguments)
    except TypeError as error:
        raise CharzError(
            "the factory does not take these arguments", name, str(error), "--set KEY=VALUE gives keyword arguments"
        ) from None
    if not isinstance(made, torch.nn.Module):
        raise CharzError("the factory did not return a torch.nn.Module", name, f"it returned {type(made).__name__}")
    refuse_opaque(made, name)
    return made.to("meta")
