"""Questions about a file that no name of the file answers: a macro of it may take the place of any function, `+` among them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import duckdb


@contextlib.contextmanager
def apart(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    """A cursor that finds no name of the file unless it says which database it means, and the name of that."""
    ((current,),) = connection.execute("SELECT system.main.current_database()").fetchall()
    with connection.cursor() as cursor:
        cursor.execute("SET search_path = 'temp.main'")
        yield cursor, current
