"""What benchmarks rest on: the catalog of the source tree, a database of it, and the published measurements."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from charz.session import workspace


@contextmanager
def database(given: Path | None = None) -> Iterator[Path]:
    """The given database, made where it is not there, or a new one for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        path = given or Path(folder) / "catalog.duckdb"
        workspace.read(path, create=True).close()
        yield path


@contextmanager
def connection(given: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection to such a database."""
    with database(given) as path, workspace.read(path) as opened:
        yield opened


def published_models(folder: Path) -> Path:
    """The file of whole-model measurements. Ends the program with one line where there is none."""
    path = folder / "models.parquet"
    if not path.is_file():
        raise SystemExit(f"no file {path}: it holds others' published figures, see its README")
    return path
