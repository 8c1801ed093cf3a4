"""Ingestion of two versions of a model into a temporary file. A version is a name, a Python file, or a file of a git revision."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from charz.schema.errors import CharzError

from .. import workspace
from ..messages import Messages

if TYPE_CHECKING:
    from charz.ingest.compile.rules import Rules
    from charz.ingest.rows import Ingested

_VERSION = re.compile(r"(?:(?P<revision>[^:]+):)?(?P<model>(?P<file>[^:]+\.py)(:\w+)?)")
"""Pattern of a model in a Python file, in the working folder or in a git revision."""


def file_of(text: str) -> str | None:
    """Return the Python file that a version names, or None if the version is the name of a model."""
    match = _VERSION.fullmatch(text)
    return match["file"] if match else None


def are_alike(old: str, new: str) -> bool:
    """Return True if two input signatures have the same types and sizes in the same order. A name may differ, and a symbol fits every size.

    >>> are_alike("x: fp32[B, 3, 256, 256]", "image: fp32[8, 3, 256, 256]"), are_alike("x: fp32[B, 3, 256, 256]", "x: fp32[B, 3, 224, 224]")
    (True, False)
    """
    pairs = [re.findall(r"(\w+)\[([^\]]*)\]", said) for said in (old, new)]
    if [kind for kind, _ in pairs[0]] != [kind for kind, _ in pairs[1]]:
        return False
    shapes = [[shape.split(", ") for _, shape in found] for found in pairs]
    return all(
        len(one) == len(other) and all(a == b or not (a.isdecimal() and b.isdecimal()) for a, b in zip(one, other, strict=True))
        for one, other in zip(*shapes, strict=True)
    )


def is_trace(text: str) -> bool:
    """Return True if a text names a trace."""
    return text.endswith((".json", ".json.gz")) and not text.endswith("config.json")


@contextlib.contextmanager
def ingested(
    database: Path, wanted: Mapping[str, str], known: Sequence[str], inputs: Sequence[str], messages: Messages
) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield a temporary copy of a database that also contains every version, and the versions' names in the copy.

    `wanted` maps the name of a version to a model, a file or `REVISION:FILE.py[:CLASS]`. Models of files are traced with `inputs`. A trace is
    cached until one of the traced source files changes. Raise `CharzError` where ingestion fails.
    """
    from charz.ingest.compile.rules import from_connection
    from charz.ingest.write import write
    from charz.sql import maintain

    with tempfile.TemporaryDirectory(prefix="charz-") as folder:
        copy = Path(folder, "versions.duckdb")
        if database.exists():
            shutil.copyfile(database, copy)
        else:
            with workspace.change(copy):
                pass
        names, made = {}, []
        with contextlib.closing(duckdb.connect(str(copy), config={"threads": 1})) as connection:
            rules = from_connection(connection)
            for version, text in wanted.items():
                names[version] = text if text in known else _free(version, known)
                if text in known:
                    continue
                model = _traced(text, rules, Path(folder, version), inputs if ".py" in text else (), messages)
                model.model["model"] = names[version]
                messages.remark(f"{text} takes {model.model['input_signature']}")
                made.append(model)
            connection.execute("BEGIN")
            write(connection, made, maintain.add_runs)
            connection.execute("COMMIT")
        yield copy, names


def _free(version: str, known: Sequence[str]) -> str:
    """Return a name that no model of the file has."""
    return next(name for name in (version + "_" * count for count in range(len(known) + 1)) if name not in known)


def _traced(text: str, rules: Rules, folder: Path, inputs: Sequence[str], messages: Messages) -> Ingested:
    """Return the rows of a version from the cache, or trace the version in a separate process, so that two revisions can have modules of the same
    name."""
    from charz.ingest import kept

    model, where, place = text, Path.cwd(), str(Path.cwd())
    match = _VERSION.fullmatch(text)
    if match and match["revision"] and not Path(text.rpartition(":")[0]).exists() and not Path(text).exists():
        model, where = match["model"], folder
        place = _check_out(match["revision"], folder, text)
    request = kept.Request(model, tuple(inputs), rules)
    with messages.progress(f"tracing {text}", 1) as done:
        found, is_kept = kept.traced(request, where, place)
        done(text)
    messages.remark(f"{text} reuses an earlier trace" if is_kept else f"{text} is traced")
    return found


def _check_out(revision: str, folder: Path, text: str) -> str:
    """Write the files of a git revision, at and below the working directory, into a folder. Return the hash of the files' content."""
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    _git(text, "archive", "--format=tar", f"--output={archive}", revision)
    if hasattr(tarfile, "data_filter"):
        shutil.unpack_archive(archive, folder, filter="data")
    else:  # Python before 3.11.4 has no filters; tracing a revision runs its code anyway.
        shutil.unpack_archive(archive, folder)
    return _git(text, "rev-parse", f"{revision}:./")


def _git(text: str, *words: str) -> str:
    """Run git and return its output."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CharzError("git is not installed", text) from None
    if done.returncode:
        raise CharzError("no such git revision", text, " ".join(done.stderr.split()))
    return done.stdout.strip()
