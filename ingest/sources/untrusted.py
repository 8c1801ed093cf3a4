"""Checks a saved program so that loading it runs none of its code.

`torch.export.load` of torch 2.13 runs code of the file in five ways: it unpickles what fails to load as weights alone, and
weights, constants and objects marked as pickled; it loads compiled libraries; `sympy.sympify` evaluates symbolic
sizes; operators are any attribute of `torch`, called when the graph is; the structure of inputs imports modules by name.
So the same readers first scan the archive, and refuse whatever is not on the lists below.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any

from charz.schema.errors import CharzError

_NAMESPACES = "aten|prims|torchvision|quantized_decomposed"
_HIGHER_ORDER = (
    "associative_scan|autograd_function_apply|cond|flex_attention|hints_wrapper|invoke_subgraph|map_impl|out_dtype|scan"
    "|strict_mode|tag_activation_checkpoint|while_loop|wrap|wrap_activation_checkpoint|wrap_with_autocast"
    "|wrap_with_set_grad_enabled"
)
_ARITHMETIC = "abs|add|and_|eq|floordiv|ge|getitem|gt|inv|invert|le|lshift|lt|mod|mul|ne|neg|not_|or_|pos|pow|rshift|sub|truediv|xor"
_OPERATOR = re.compile(
    rf"torch\.ops\.({_NAMESPACES})\.\w+(\.\w+)?"
    rf"|torch\.ops\.higher_order\.({_HIGHER_ORDER})"
    rf"|torch\.(_sym_\w+|sym_\w+)|_operator\.({_ARITHMETIC})|math\.(ceil|floor|trunc|sqrt|pow)"
)
_FILE_OPERATORS = ("from_file",)
"""Operators of `aten` that open a file by name."""

_SIZE_WORD = re.compile(
    r"[a-z]+_?\d+|Symbol|Integer|Rational|Float|Add|Mul|Pow|Mod|Max|Min|Abs|Eq|Ne|Lt|Le|Gt|Ge|And|Or|Not|True|False"
    "|floor|ceiling|sqrt|FloorDiv|ModularIndexing|Where|PythonMod|CleanDiv|CeilToInt|FloorToInt|CeilDiv|LShift|RShift"
    "|PowByNatural|FloatPow|FloatTrueDiv|IntTrueDiv|IsNonOverlappingAndDenseIndicator|TruncToFloat|TruncToInt|RoundToInt"
    "|RoundDecimal|ToFloat|Identity|positive|integer|nonnegative|real|finite"
)
_EXPRESSION = re.compile(r"[\w\s+\-*/(),.'<>=!&|~]{0,4000}")

_MODELS = "models/"
_CONFIGS = re.compile(r"data/(weights|constants)/[^/]*_config\.json")
_COMPILED = "data/aotinductor/"


def check(file: IO[bytes], name: str) -> None:
    """Raise `CharzError` that names the first thing in the archive that loading would run, or that is not on a list."""
    from torch.export.pt2_archive._package import PT2ArchiveReader

    file.seek(0)
    with zipfile.ZipFile(file) as archive:
        if "version" in archive.namelist():
            raise refused(name, "an archive of torch 2.7 or older, which is unpickled")
    file.seek(0)
    with PT2ArchiveReader(file) as reader:
        for entry in reader.get_file_names():
            if entry.startswith(_COMPILED):
                raise refused(name, f"a compiled library, {entry}")
            if entry.startswith(_MODELS):
                _walk(json.loads(reader.read_bytes(entry)), name)
            elif _CONFIGS.fullmatch(entry):
                _check_payloads(json.loads(reader.read_bytes(entry)), name)
    file.seek(0)


@contextlib.contextmanager
def weights_only() -> Iterator[None]:
    """Make `torch.load` refuse everything but tensors, even if its caller allows more."""
    key = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
    before = os.environ.get(key)
    os.environ[key] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[key]
        else:
            os.environ[key] = before


def _check_payloads(config: Any, name: str) -> None:
    for key, payload in config["config"].items():
        kind = str(payload["path_name"]).partition("_")[0]
        if kind not in ("weight", "tensor"):
            raise refused(name, f"a pickled object, {key}")


def _walk(value: Any, name: str) -> None:
    """Check, at any depth, every field of the program that becomes more than data."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            for key, inner in value.items():
                if isinstance(key, str) and key in _CHECKS:
                    _CHECKS[key](inner, name)
                waiting.append(inner)


def _check_operator(target: Any, name: str) -> None:
    is_listed = isinstance(target, str) and _OPERATOR.fullmatch(target)
    if not is_listed or target.removeprefix("torch.ops.aten.").partition(".")[0] in _FILE_OPERATORS:
        raise refused(name, f"an operator that is not one of torch's own, {str(target)[:80]}")


def _check_expression(text: Any, name: str) -> None:
    is_plain = isinstance(text, str) and _EXPRESSION.fullmatch(text) and not re.search(r"\.\s*[A-Za-z_]|__", text)
    words = re.findall(r"[A-Za-z_]\w*", text) if is_plain else ["?"]
    if not all(map(_SIZE_WORD.fullmatch, words)):
        raise refused(name, f"a size that is not arithmetic, {str(text)[:80]}")


def _check_structure(text: Any, name: str) -> None:
    """Check `pytree`'s description of inputs or outputs, whose contexts are JSON within JSON."""
    waiting = [json.loads(text)] if isinstance(text, str) else []
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and value[:1] in ("{", "["):
            with contextlib.suppress(json.JSONDecodeError):
                value = json.loads(value)
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            if value.get("type") == "collections.defaultdict" or value.keys() & {"__enum__", "default_factory_module"}:
                raise refused(name, "inputs whose structure imports a module")
            waiting += value.values()


def _check_guards(guards: Any, name: str) -> None:
    if guards:
        raise refused(name, "conditions on its inputs in Python")


_CHECKS: dict[str, Callable[[Any, str], None]] = {
    "target": _check_operator,
    "expr_str": _check_expression,
    "in_spec": _check_structure,
    "out_spec": _check_structure,
    "guards_code": _check_guards,
}


def refused(name: str, what: str) -> CharzError:
    """Return the error for a program that contains `what`."""
    next = "if you trust who made it, pass --trust, which runs what is in it"
    return CharzError("a saved program that could run code is not loaded", name, f"it contains {what}", next)
