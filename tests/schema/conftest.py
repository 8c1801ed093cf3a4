"""An empty database for each test, and rows that identify its states."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from charz.schema import database, file
from charz.schema.catalog.source import Source


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "file.duckdb"
    file.create(path)
    return path


@pytest.fixture
def path(tmp_path: Path, empty: Path) -> Path:
    return Path(shutil.copy(empty, tmp_path))


def add_source(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    columns = {"source_id": [name], "kind": ["paper"], "locator": ["x"], "what": ["y"]}
    database.insert(connection, Source, columns)


def sources(path: Path) -> list[str]:
    with file.connect(path) as connection:
        return [name for (name,) in connection.execute("SELECT source_id FROM source ORDER BY 1").fetchall()]
