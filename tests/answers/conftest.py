"""A file of few models and parts with all its answers at hand."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from charz.schema import database
from charz.sql import answers, maintain

PARTS = ("t4", "a10", "i7_13700k", "kpu_t64")
"""A part of most families, and two of one."""


@pytest.fixture(scope="session")
def answered(once, file: Path) -> Path:  # type: ignore[no-untyped-def]
    """Three generated models on four parts; tests only read it, or copy it first."""

    def make(path: Path) -> None:
        shutil.copy(file, path)
        path.chmod(0o600)
        with duckdb.connect(str(path), config={"threads": 1}) as connection:
            connection.begin()
            with maintain.bulk(connection):
                for row_type in database.TABLES:
                    if "hardware" in row_type.model_fields:
                        connection.execute(f"DELETE FROM {row_type.TABLE} WHERE hardware NOT IN {PARTS}")
            answers.fill(connection, answers.missing(connection))
            connection.commit()
            connection.execute("CHECKPOINT")

    return once("answered.duckdb", make)


@pytest.fixture
def connection(answered: Path, tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A plain client on a copy that a test may write."""
    path = tmp_path / "answered.duckdb"
    shutil.copy(answered, path)
    path.chmod(0o600)
    with duckdb.connect(str(path), config={"threads": 1}) as made:
        yield made
