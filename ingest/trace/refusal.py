"""Why a model cannot be traced, in the words of its own code: what, where in it, and what to try.

What the tracer raises names its own parts. The line of the model's code that it was at, and the module whose forward
that is, are in the traceback.
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
"""What tells that a message speaks of the tracer and not of the model."""

_TRACED = re.compile(r"'(Functional|Fake|Meta)?(Tensor|Proxy)'")
"""How a message calls a tensor that is traced."""

_FIXED = re.compile(r"L\['(\w+)'\]\.size\(\)\[(\d+)\]")
"""A size that tracing found to be no free one, in the first line of what it says, without saying where."""

VALUES = (
    "could not guard", "data-dependent", "data dependent", "could not extract specialized", "unbacked",
    "nonzero", "item() cannot be called", "local_scalar_dense", "cannot copy out of meta", "dynamic control flow",
    "is_nonzero", "masked_select",
)  # fmt: skip
"""What messages say where a value decides, in small letters."""


def refusal(error: BaseException, module: torch.nn.Module, name: str, given: str = "") -> CharzError:
    """The line for what tracing raised with every size fixed; `given` are the example inputs in words."""
    if isinstance(error, CharzError):
        return error
    text = " ".join(str(error).split())
    where = place(error, module) or name
    if any(word in text.lower() for word in VALUES):
        return depends_on_values(where)
    if "numpy" in text.lower():
        return CharzError(
            "NumPy computes with a tensor's values", where, "none are known while tracing",
            "write it with torch, or ingest the part before it",
        )  # fmt: skip
    if isinstance(error, AttributeError) and _TRACED.search(text):
        return CharzError(
            "an input of another kind is wanted", where, _plain(_TRACED.sub("'Tensor'", text)),
            "--input NAME.FIELD=DIMS:TYPE gives a part of a nested one, --input NAME=DIMS:TYPE another tensor",
        )  # fmt: skip
    if isinstance(error, TypeError) and "required" in text and "argument" in text:
        return CharzError("inputs not given", where, _plain(text), "add --input NAME=DIMS:TYPE for each")
    if isinstance(error, (ImportError, ModuleNotFoundError)):
        return CharzError("the model needs a package that is not installed", where, _plain(text), "pip install it")
    if INTERNAL.search(text):
        return CharzError(
            "this cannot be traced", where, "torch.export refuses it at fixed sizes too, on the processor as well",
            "write it with other operations, or ingest the module around it: `charz ingest FILE:CLASS`",
        )  # fmt: skip
    return CharzError(
        f"the model's own code fails on its example input ({type(error).__name__})",
        f"{where}, given {given}" if given else where, _plain(text),
        "--input NAME=DIMS:TYPE, --sequence and --resolution set what it is given",
    )  # fmt: skip


def unforeseen(error: BaseException, name: str) -> CharzError:
    """The line for what was raised outside tracing: while the model was made, or by charz itself."""
    text = " ".join(str(error).split())
    where = place(error, torch.nn.Module())
    if where:
        return CharzError(
            f"making the model fails ({type(error).__name__})", f"{name} ({where})", _plain(text),
            "--set KEY=VALUE gives its constructor arguments",
        )  # fmt: skip
    return CharzError(
        f"charz fails on it ({type(error).__name__})", name, _plain(text),
        "CHARZ_TRACEBACK=1 in the environment shows where; please report it",
    )  # fmt: skip


def depends_on_values(where: str) -> CharzError:
    """The line for a size or a path that a tensor's values decide."""
    return CharzError(
        "a size or the path taken depends on a tensor's values", where, "no figure follows from shapes alone",
        "bound it (topk in place of a mask), write the branch as torch.cond, or ingest the part before it",
    )  # fmt: skip


def reason(error: BaseException, module: torch.nn.Module) -> str:
    """Why a size was fixed: the place in the model, and what was said there where that is no internal matter."""
    text = " ".join(str(error).split())[:120]
    if fixed := fixed_sizes(error):
        name, dimension = fixed[0]
        return f"the code takes dimension {dimension} of {name} for a number, as a loop over it does"
    where = place(error, module)
    said = "a size that is not a free one" if INTERNAL.search(text) else _plain(text)
    return f"{said} at {where}" if where else said


def fixed_sizes(error: BaseException) -> list[tuple[str, int]]:
    """Input and dimension of each size that tracing found to be no free one."""
    violated = str(error).partition("Constraints violated")[2].partition("\n")[0]
    return [(name, int(dimension)) for name, dimension in _FIXED.findall(violated)]


def place(error: BaseException, module: torch.nn.Module) -> str:
    """`PATH (FILE:LINE)` of the innermost line of the model's code in a traceback; empty where it has none."""
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
    """True for a file that is part of no tracer: neither torch's, Python's nor charz's own."""
    path = Path(file)
    if not path.is_absolute() or path.is_relative_to(LIBRARY) or path.is_relative_to(OWN):
        return False
    is_installed = any(path.is_relative_to(folder) for folder in INSTALLED)
    return is_installed or not path.is_relative_to(PYTHON)


@cache
def shown(file: str) -> str:
    """A file as a reader finds it: relative to where packages are installed, or to this folder, else whole."""
    path = Path(file)
    for folder in (*INSTALLED, Path.cwd()):
        if path.is_relative_to(folder):
            return str(path.relative_to(folder))
    return file


_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def source_of(node: Node) -> tuple[str, int] | None:
    """File and line of the model's code that an operator was traced from, the innermost that is no part of PyTorch."""
    for file, line in reversed(_FRAME.findall(node.meta.get("stack_trace") or "")):
        if is_model_code(file):
            return shown(file), int(line)
    return None


def _plain(text: str) -> str:
    """The first sentence of a message, at most 160 characters; a free size is written `n`."""
    return re.sub(r"\bs\d+\b", "n", re.split(r"(?<=[.!]) ", text)[0])[:160]
