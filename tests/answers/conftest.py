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
"""A part of each of most families, and two of one."""


@pytest.fixture(scope="session")
def answered(once, file: Path) -> Path:  # type: ignore[no-untyped-def]
    """File of three generated models on four parts; tests only read it, or copy it first."""

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


@pytest.fixture(scope="module")
def opened(answered: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Plain client on a copy that the tests of a module share."""
    with writable(answered, tmp_path_factory.mktemp("answers")) as made:
        yield made


@pytest.fixture
def connection(opened: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Plain client in a transaction that is rolled back."""
    opened.begin()
    yield opened
    opened.rollback()


@pytest.fixture
def copied(answered: Path, tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Plain client on a copy, for a test that commits."""
    with writable(answered, tmp_path) as made:
        yield made


def writable(answered: Path, folder: Path) -> duckdb.DuckDBPyConnection:
    path = folder / "answered.duckdb"
    shutil.copy(answered, path)
    path.chmod(0o600)
    return duckdb.connect(str(path), config={"threads": 1})
