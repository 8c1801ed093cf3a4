"""Two versions of a model brought into a file of their own, each from its name, its file or a git revision of that."""

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
"""A model of a Python file, of now or of a git revision."""


def file_of(text: str) -> str | None:
    """The Python file that a version names, of a revision or of now; None of a model's name."""
    match = _VERSION.fullmatch(text)
    return match["file"] if match else None


def is_trace(text: str) -> bool:
    """Whether a text names a trace and no model."""
    return text.endswith((".json", ".json.gz")) and not text.endswith("config.json")


@contextlib.contextmanager
def ingested(
    database: Path, wanted: Mapping[str, str], known: Sequence[str], inputs: Sequence[str], messages: Messages
) -> Iterator[tuple[Path, dict[str, str]]]:
    """A copy of a database that has every version too, and the name of each in it; gone at the end.

    `wanted` gives a model, a file or `REVISION:FILE.py[:CLASS]` by the name of the version; files get `inputs`. What was traced is
    kept for the next time, until a file that it was read from changes. Raises `CharzError` where one cannot be ingested.
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
    """A name that no model of the file has."""
    return next(name for name in (version + "_" * count for count in range(len(known) + 1)) if name not in known)


def _traced(text: str, rules: Rules, folder: Path, inputs: Sequence[str], messages: Messages) -> Ingested:
    """The rows of a version, traced in a process of its own, where modules of one name in two revisions stay apart, or as kept."""
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
    messages.remark(f"{text} is traced as it was" if is_kept else f"{text} is traced anew")
    return found


def _check_out(revision: str, folder: Path, text: str) -> str:
    """The files of a git revision in a folder, from the folder that the command runs in downwards; gives the name of their content."""
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    _git(text, "archive", "--format=tar", f"--output={archive}", revision)
    if hasattr(tarfile, "data_filter"):
        shutil.unpack_archive(archive, folder, filter="data")
    else:  # Python before 3.11.4 has no filters; whoever traces a revision runs its code.
        shutil.unpack_archive(archive, folder)
    return _git(text, "rev-parse", f"{revision}:./")


def _git(text: str, *words: str) -> str:
    """What git answers."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CharzError("git is not installed", text) from None
    if done.returncode:
        raise CharzError("no such git revision", text, " ".join(done.stderr.split()))
    return done.stdout.strip()
