"""Two versions of a model brought into a file of their own, each from its name, its file or a git revision of that."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb

from charz.schema.errors import CharzError

from ..messages import Messages

_REVISION = re.compile(r"(?P<revision>[^:]+):(?P<model>(?P<file>[^:]+\.py)(:\w+)?)")


def is_trace(text: str) -> bool:
    """Whether a text names a trace and no model."""
    return text.endswith((".json", ".json.gz")) and not text.endswith("config.json")


@contextlib.contextmanager
def ingested(
    database: Path, wanted: Mapping[str, str], known: Sequence[str], inputs: Sequence[str], messages: Messages
) -> Iterator[tuple[Path, dict[str, str]]]:
    """A copy of a database that has every version too, and the name of each in it; gone at the end.

    `wanted` gives a model, a file or `REVISION:FILE.py[:CLASS]` by the name of the version; files get `inputs`. Raises `CharzError` where one cannot
    be ingested.
    """
    with tempfile.TemporaryDirectory(prefix="charz-") as folder:
        copy = Path(folder, "versions.duckdb")
        if database.exists():
            shutil.copyfile(database, copy)
        names = {}
        for version, text in wanted.items():
            names[version] = text if text in known else version
            if text not in known:
                messages.remark(f"ingesting {text}")
                _ingest(text, version, copy, Path(folder, version), inputs if ".py" in text else ())
                messages.remark(f"{text} takes {_signature(copy, version)}")
        yield copy, names


def _signature(database: Path, model: str) -> str:
    """The inputs of a model as they are stored."""
    with duckdb.connect(str(database), read_only=True) as connection:
        ((signature,),) = connection.execute("SELECT input_signature FROM model WHERE model = ?", [model]).fetchall()
    return signature


def _ingest(text: str, name: str, database: Path, folder: Path, inputs: Sequence[str]) -> None:
    """Ingest a version in a process of its own: modules of one name in two revisions stay apart."""
    model, where = text, Path.cwd()
    match = _REVISION.fullmatch(text)
    if match and not Path(text.rpartition(":")[0]).exists() and not Path(text).exists():
        model, where = match["model"], folder
        _check_out(match["revision"], folder, text)
    command = [sys.executable, "-m", "charz", "ingest", model, "--name", name, "--no-answers", "--db", str(database)]
    command += [word for text in inputs for word in ("--input", text)]
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "failed" in line or line.startswith("charz:")]
        raise CharzError("a version cannot be ingested", text, (lines or done.stderr.splitlines() or ["no message"])[0])


def _check_out(revision: str, folder: Path, text: str) -> None:
    """The files of a git revision in a folder, from the folder that the command runs in downwards."""
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    command = ["git", "archive", "--format=tar", f"--output={archive}", revision]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CharzError("git is not installed", text) from None
    if done.returncode:
        raise CharzError("no such git revision", text, " ".join(done.stderr.split()))
    shutil.unpack_archive(archive, folder, filter="data")
