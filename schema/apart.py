"""Queries without the names of a file: a macro of it may shadow any function, `+` among them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import duckdb


@contextlib.contextmanager
def apart(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    """Yield a cursor that finds names of the file only if qualified by its database, and the name of that database."""
    ((current,),) = connection.execute("SELECT system.main.current_database()").fetchall()
    with connection.cursor() as cursor:
        cursor.execute("SET search_path = 'temp.main'")
        yield cursor, current
