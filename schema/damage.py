"""Detection of damaged blocks in a database file, from a failing disk, a truncated copy or another program."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb

from . import ddl
from .apart import apart
from .errors import CharzError


def is_found(error: BaseException) -> bool:
    """Return whether the engine reports a damaged block: it compares each block that it reads with its checksum."""
    return isinstance(error, duckdb.Error) and "Corrupt database file" in str(error)


def error(path: Path | str, cause: BaseException) -> CharzError:
    """Return the error for a damaged file."""
    place = re.search(r"location (\d+)", str(cause))
    exists = f"the checksum of the block at byte {place[1]} is wrong" if place else str(cause).splitlines()[0]
    next = "restore it from a copy, or ingest its models again into a new file, named with --db"
    return CharzError("the database file is damaged", str(path), exists, next)


@contextlib.contextmanager
def named(path: Path | str) -> Iterator[None]:
    """Turn an engine's error about a damaged block of the file at `path` into a `CharzError`."""
    try:
        yield
    except duckdb.Error as cause:
        if is_found(cause):
            raise error(path, cause) from cause
        raise


def check_whole(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Read every value of the file. Raises `CharzError` where a block of it is damaged."""
    query = "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = $1 AND NOT internal"
    with named(path), apart(connection) as (cursor, current):
        for schema, table in cursor.execute(query, [current]).fetchall():
            name = f"{ddl.quote(current)}.{ddl.quote(schema)}.{ddl.quote(table)}"
            cursor.execute(f"SELECT BIT_XOR(HASH(t)) FROM {name} AS t").fetchall()
