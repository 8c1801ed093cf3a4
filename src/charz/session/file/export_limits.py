"""Limits of the machine under which an export runs: memory, and the folder that it writes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from charz.schema import damage, disk
from charz.schema.errors import CharzError

if TYPE_CHECKING:
    import duckdb

MEMORY = "1GB"
"""Memory limit of DuckDB; it spills more to disk."""


@contextlib.contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Report a full disk or a missing right in one line."""
    import duckdb

    try:
        yield
    except (OSError, duckdb.Error) as error:
        if disk.is_full(error):
            raise disk.full(folder, error) from error
        if not isinstance(error, OSError | duckdb.IOException) or damage.is_found(error):
            raise
        raise CharzError("cannot write the export", str(folder), str(error).splitlines()[0]) from error


@contextlib.contextmanager
def memory_limited(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Limit the engine's memory to what an export needs."""
    ((before,),) = connection.execute("SELECT value FROM duckdb_settings() WHERE name = 'memory_limit'").fetchall()
    connection.execute(f"SET memory_limit = '{MEMORY}'")
    try:
        yield
    finally:
        connection.execute(f"SET memory_limit = '{before}'")
