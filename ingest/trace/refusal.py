"""Explains why a model cannot be traced: the problem, its place in the model's code, and what to try.

The tracer's errors name its internals. Their traceback contains the line of the model's code and the module whose forward
was running.
"""

from __future__ import annotations

import re
import site
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType

import torch
from torch.fx import Node

from charz.schema.errors import CharzError

LIBRARY = Path(torch.__file__).parent
OWN = Path(__file__).parent.parent
PYTHON = Path(sysconfig.get_paths()["stdlib"])
INSTALLED = tuple(Path(p) for p in (*site.getsitepackages(), sysconfig.get_paths()["purelib"]))

INTERNAL = re.compile(r"torch\._|aten[.:]|Sym(Int|Bool|Float)|FakeTensor|[Pp]rox(y|ies)|Eq\(|\bu\d+\b|dynamo|SubclassC")
"""Pattern of messages about the tracer's internals, not the model."""

_TRACED = re.compile(r"'(Functional|Fake|Meta)?(Tensor|Proxy)'")
"""Name of a traced tensor in messages."""

_FIXED = re.compile(r"L\['(\w+)'\]\.size\(\)\[(\d+)\]")
"""Pattern of a size that tracing found not to be free, in the first line of an error that names no place."""

VALUES = (
    "could not guard", "data-dependent", "data dependent", "could not extract specialized", "unbacked",
    "nonzero", "item() cannot be called", "local_scalar_dense", "cannot copy out of meta", "dynamic control flow",
    "is_nonzero", "masked_select",
)  # fmt: skip
"""Lowercase phrases of errors about sizes and branches that depend on values."""


def refusal(error: BaseException, module: torch.nn.Module, name: str, given: str = "") -> CharzError:
    """Return the error for what tracing raised with every size fixed; `given` describes the example inputs."""
    if isinstance(error, CharzError):
        return error
    text = " ".join(str(error).split())
    where = place(error, module) or name
    if any(word in text.lower() for word in VALUES):
        return depends_on_values(where)
    if "numpy" in text.lower():
        return CharzError(
            "NumPy computes with a tensor's values", where, "tensors have no values while tracing",
            "write it with torch, or ingest the part before it",
        )  # fmt: skip
    if isinstance(error, AttributeError) and _TRACED.search(text):
        return CharzError(
            "the model expects an input of another kind", where, _plain(_TRACED.sub("'Tensor'", text)),
            "--input NAME.FIELD=DIMS:TYPE gives a part of a nested one, --input NAME=DIMS:TYPE another tensor",
        )  # fmt: skip
    if isinstance(error, TypeError) and "required" in text and "argument" in text:
        return CharzError("inputs not given", where, _plain(text), "add --input NAME=DIMS:TYPE for each")
    if isinstance(error, (ImportError, ModuleNotFoundError)):
        return CharzError("the model needs a package that is not installed", where, _plain(text), "pip install it")
    if INTERNAL.search(text):
        return CharzError(
            "this cannot be traced", where, "torch.export refuses it even at fixed sizes and on the CPU",
            "write it with other operations, or ingest the module around it: `charz ingest FILE:CLASS`",
        )  # fmt: skip
    return CharzError(
        f"the model's own code fails on its example input ({type(error).__name__})",
        f"{where}, given {given}" if given else where, _plain(text),
        "--input NAME=DIMS:TYPE, --sequence and --resolution set its inputs",
    )  # fmt: skip


def unforeseen(error: BaseException, name: str) -> CharzError:
    """Return the error for an exception outside tracing: while the model was built, or in charz itself."""
    text = " ".join(str(error).split())
    where = place(error, torch.nn.Module())
    if where:
        return CharzError(
            f"building the model fails ({type(error).__name__})", f"{name} ({where})", _plain(text),
            "--set KEY=VALUE gives its constructor arguments",
        )  # fmt: skip
    return CharzError(
        f"charz fails on this model ({type(error).__name__})", name, _plain(text),
        "CHARZ_TRACEBACK=1 in the environment shows where; please report it",
    )  # fmt: skip


def depends_on_values(where: str) -> CharzError:
    """Return the error for a size or branch that depends on a tensor's values."""
    return CharzError(
        "a size or a branch depends on a tensor's values", where, "only shapes are known while tracing",
        "bound it (topk in place of a mask), write the branch as torch.cond, or ingest the part before it",
    )  # fmt: skip


def reason(error: BaseException, module: torch.nn.Module) -> str:
    """Return why a size was fixed: the place in the model, and the error if it is not internal to the tracer."""
    text = " ".join(str(error).split())[:120]
    if fixed := fixed_sizes(error):
        name, dimension = fixed[0]
        return f"the code needs dimension {dimension} of {name} as a number, e.g. for a loop"
    where = place(error, module)
    said = "a size that is not free" if INTERNAL.search(text) else _plain(text)
    return f"{said} at {where}" if where else said


def fixed_sizes(error: BaseException) -> list[tuple[str, int]]:
    """Return the input and dimension of each size that tracing found not to be free."""
    violated = str(error).partition("Constraints violated")[2].partition("\n")[0]
    return [(name, int(dimension)) for name, dimension in _FIXED.findall(violated)]


def place(error: BaseException, module: torch.nn.Module) -> str:
    """Return `PATH (FILE:LINE)` of the innermost line of the model's code in a traceback, or an empty string."""
    paths = {id(m): path for path, m in module.named_modules()}
    line, within = "", ""
    for frame, number in _frames(error):
        owner = frame.f_locals.get("self")
        if id(owner) in paths and isinstance(owner, torch.nn.Module):
            within = paths[id(owner)] or type(owner).__name__
        if is_model_code(frame.f_code.co_filename):
            line = f"{shown(frame.f_code.co_filename)}:{number}"
    return f"{within} ({line})" if within and line else within or line


def _frames(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next


@cache
def is_model_code(file: str) -> bool:
    """Return True for a file outside torch, Python's library and charz."""
    path = Path(file)
    if not path.is_absolute() or path.is_relative_to(LIBRARY) or path.is_relative_to(OWN):
        return False
    is_installed = any(path.is_relative_to(folder) for folder in INSTALLED)
    return is_installed or not path.is_relative_to(PYTHON)


@cache
def shown(file: str) -> str:
    """Shorten a path: relative to the installed packages or the current folder, else whole."""
    path = Path(file)
    for folder in (*INSTALLED, Path.cwd()):
        if path.is_relative_to(folder):
            return str(path.relative_to(folder))
    return file


_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def source_of(node: Node) -> tuple[str, int] | None:
    """Return file and line of the model's code from which an operator was traced, the innermost outside PyTorch."""
    for file, line in reversed(_FRAME.findall(node.meta.get("stack_trace") or "")):
        if is_model_code(file):
            return shown(file), int(line)
    return None


def _plain(text: str) -> str:
    """Return the first sentence of a message, at most 160 characters, with free sizes written `n`."""
    return re.sub(r"\bs\d+\b", "n", re.split(r"(?<=[.!]) ", text)[0])[:160]
