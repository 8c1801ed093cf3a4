"""Traces that are kept between runs: a model traced in a process of its own, by what that read.

`python -m charz.ingest.kept` is that process: it reads a request from standard input, traces, and writes the rows, or why there are
none, with every file of the user's that it opened. A trace that is kept holds for as long as these files have the same content.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from charz.schema.errors import CharzError

from .compile.rules import Rules
from .identity import environment
from .rows import Ingested

KEPT = 64
"""Traces that stay in the folder."""


@dataclass(frozen=True, slots=True)
class Request:
    """A model to trace."""

    text: str
    """As typed, without a revision."""
    inputs: tuple[str, ...]
    """Shapes and types of its inputs, where they are given."""
    rules: Rules


@dataclass(frozen=True, slots=True)
class Trace:
    """What came of a request."""

    result: Ingested | str
    """The rows, or one line on why there are none."""
    files: tuple[tuple[str, str], ...]
    """Files that were read, relative to the folder where they lie beneath it, each with a hash of its content."""


def traced(request: Request, where: Path, place: str, folder: Path) -> tuple[Ingested, bool]:
    """The rows of a model whose code lies in `where`, and whether they were kept in `folder`; `place` names what `where` holds, the same
    of the same content. Raises `CharzError` where the model cannot be traced."""
    asked = f"{request.text!r} {request.inputs!r} {request.rules.fingerprint} {environment()} {place}"
    path = folder / f"{hashlib.sha256(asked.encode()).hexdigest()[:32]}.trace"
    found = _read(path)
    if found and isinstance(found.result, Ingested) and all(_hash(where / name) == seen for name, seen in found.files):
        path.touch()
        return found.result, True
    command = [sys.executable, "-m", __name__]
    done = subprocess.run(command, cwd=where, input=pickle.dumps(request), capture_output=True, check=False)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").splitlines()
        raise CharzError("a version cannot be ingested", request.text, lines[-1] if lines else "no message")
    found = pickle.loads(done.stdout)
    if isinstance(found.result, str):
        raise CharzError("a version cannot be ingested", request.text, found.result)
    _keep(path, found)
    return found.result, False


def _read(path: Path) -> Trace | None:
    with contextlib.suppress(OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError):
        found = pickle.loads(path.read_bytes())
        return found if isinstance(found, Trace) else None
    return None


def _keep(path: Path, trace: Trace) -> None:
    """Write a trace beside its place and move it there; where the folder cannot be written, none is kept."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(pickle.dumps(trace))
        os.replace(part, path)
        newest_first = sorted(path.parent.glob("*.trace"), key=lambda kept: kept.stat().st_mtime, reverse=True)
        for old in newest_first[KEPT:]:
            old.unlink()


def _hash(path: Path) -> str:
    """A hash of a file's content; empty where there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _of_user(path: str, installed: Sequence[str]) -> bool:
    return Path(path).is_file() and not path.startswith((*installed, "/proc/", "/sys/", "/dev/"))


def main() -> None:
    """Trace what standard input asks for and write what came of it to standard output."""
    opened: set[str] = set()

    def note(event: str, given: tuple[object, ...]) -> None:
        if event == "open" and isinstance(given[0], str):
            opened.add(os.path.realpath(given[0]))

    request: Request = pickle.load(sys.stdin.buffer)
    out, sys.stdout = sys.stdout, sys.stderr  # what the model's own code prints is no answer
    sys.addaudithook(note)
    from .run import attempt
    from .sources.spec import parse

    try:
        result = attempt(parse(request.text, inputs=request.inputs), request.rules)
    except CharzError as error:
        result = error.line
    here = os.path.realpath(Path.cwd())
    modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    read = opened | {os.path.realpath(file) for file in modules if file}
    own = Path(__file__).resolve().parents[1]
    installed = [f"{os.path.realpath(prefix)}{os.sep}" for prefix in {sys.prefix, sys.base_prefix, *_libraries()}]
    installed += [f"{own / folder}{os.sep}" for folder in ("ingest", "schema", "sql", "hardware_catalog", "cli", "src")]
    files = sorted(path for path in read if _of_user(path, installed) and not path.endswith(".pyc"))
    found = [
        (os.path.relpath(path, here) if path.startswith(here + os.sep) else path, _hash(Path(path))) for path in files
    ]
    out.buffer.write(pickle.dumps(Trace(result, tuple(found))))
    out.flush()


def _libraries() -> list[str]:
    """Folders of installed libraries."""
    return [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]


if __name__ == "__main__":
    from charz.ingest import kept  # so that what is written is of the module and not of `__main__`

    kept.main()
