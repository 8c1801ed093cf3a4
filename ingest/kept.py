"""Cache of traces: a model is traced in its own process, and the trace is kept with hashes of the files that process read.

`python -m charz.ingest.kept` is that process: it reads a request from standard input, traces, and writes the rows or an error, with
every user file that it opened. A kept trace is valid while these files have the same content.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from charz.schema import cache
from charz.schema.errors import CharzError

from .compile.rules import Rules
from .identity import environment
from .rows import Ingested, decoded, encoded

_ENDING = ".json"


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
    """The result of a request."""

    result: Ingested | str
    """The rows, or an error of one line."""
    files: tuple[tuple[str, str], ...]
    """Files that were read, each with a hash of its content; paths in the request's folder are relative to it."""


def traced(request: Request, where: Path, place: str) -> tuple[Ingested, bool]:
    """Return the rows of a model whose code lies in `where`, and True if they come from the cache. `place` identifies the content
    of `where`. Raises `CharzError` if the model cannot be traced."""
    asked = f"{request.text!r} {request.inputs!r} {request.rules.fingerprint} {environment()} {place}"
    name = f"trace-{hashlib.sha256(asked.encode()).hexdigest()[:32]}"
    content = cache.read(name, _ENDING)
    found = _decoded(content) if content is not None else None
    if found and isinstance(found.result, Ingested) and all(_hash(where / file) == seen for file, seen in found.files):
        return found.result, True
    command = [sys.executable, "-P", "-m", __name__]  # without -P, files of the folder take the place of modules
    done = subprocess.run(command, cwd=where, input=pickle.dumps(request), capture_output=True, check=False)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").splitlines()
        raise CharzError("a version cannot be ingested", request.text, lines[-1] if lines else "no message")
    found = _decoded(done.stdout)
    if found is None:
        raise CharzError("a version cannot be ingested", request.text, "its process wrote no valid rows")
    if isinstance(found.result, str):
        raise CharzError("a version cannot be ingested", request.text, found.result)
    cache.write(name, _ENDING, done.stdout)
    return found.result, False


def _encoded(trace: Trace) -> bytes:
    return json.dumps({"rows": encoded(trace.result), "files": trace.files}).encode()


def _decoded(content: bytes) -> Trace | None:
    """Decode a trace from JSON without running code; return None if it is not a trace."""
    try:
        found = json.loads(content)
        return Trace(decoded(found["rows"]), tuple((str(name), str(seen)) for name, seen in found["files"]))
    except (ValueError, KeyError, TypeError):
        return None


def _hash(path: Path) -> str:
    """Hash a file's content; return an empty text if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _of_user(path: str, installed: Sequence[str]) -> bool:
    return Path(path).is_file() and not path.startswith((*installed, "/proc/", "/sys/", "/dev/"))


def main() -> None:
    """Trace the request on standard input and write the result to standard output."""
    opened: set[str] = set()

    def note(event: str, given: tuple[object, ...]) -> None:
        if event == "open" and isinstance(given[0], str):
            opened.add(os.path.realpath(given[0]))

    request: Request = pickle.load(sys.stdin.buffer)
    out, sys.stdout = sys.stdout, sys.stderr  # keep output of the model's code out of the result
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
    out.buffer.write(_encoded(Trace(result, tuple(found))))
    out.flush()


def _libraries() -> list[str]:
    """List folders of installed libraries."""
    return [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]


if __name__ == "__main__":
    from charz.ingest import kept  # so that pickled classes belong to this module, not to `__main__`

    kept.main()
