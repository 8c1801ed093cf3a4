"""What benchmarks rest on: the catalog of the source tree, a database of it, and the published measurements."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from charz.cli.workspace import open_workspace
from charz.hardware_catalog import loader
from charz.ingest.measurements import store
from charz.schema.scenario import Scenario


@contextmanager
def database(given: Path | None = None) -> Iterator[Path]:
    """The given database, made where it is not there, or a new one for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        path = given or Path(folder) / "catalog.duckdb"
        open_workspace(path, create=True).close()
        yield path


def published_models(folder: Path) -> Path:
    """The file of whole-model measurements. Ends the program with one line where there is none."""
    path = folder / "models.parquet"
    if not path.is_file():
        raise SystemExit(f"no file {path}: it holds others' published figures, see its README")
    return path


def tables() -> dict[str, pl.DataFrame]:
    """Every catalog table but scenarios, by name."""
    return {
        row_type.TABLE: store.conform(
            pl.DataFrame([row.model_dump() for row in rows], infer_schema_length=None), row_type
        )
        for row_type, rows in loader.load().rows.items()
        if rows and row_type is not Scenario
    }
