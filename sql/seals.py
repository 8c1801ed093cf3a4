"""Seals of answers at hand: marks of the rows of `answer.stored` that this user's charz computed.

A file may come from somebody else, and any client can write wrong numbers to `answer.stored`. So each row has a seal, a hash of its
values with a secret of the user (`cache.secret`). A row without a valid seal is not believed: commands evaluate its run again, and the
next change of the file deletes the row. Triggers only delete rows, which needs no seal.
"""

from __future__ import annotations

import duckdb

from charz.schema import cache, ddl
from charz.schema.apart import apart

SEAL = "seal"
"""Column of the seal."""

_TABLE = "stored"
_SCHEMA = "answer"


def unsealed(connection: duckdb.DuckDBPyConnection) -> int:
    """Count the answers at hand without a valid seal; 0 if the user has no secret."""
    secret = cache.secret(_SCHEMA)
    with apart(connection) as (cursor, current):
        columns = _columns(cursor, current)
        if not columns or not secret:
            return 0
        query = f"SELECT count(*) FROM {_place(current)} WHERE {_is_wrong(columns)}"
        ((count,),) = cursor.execute(query, {"secret": secret}).fetchall()
        return int(count)


def forget(connection: duckdb.DuckDBPyConnection) -> None:
    """Delete the answers at hand without a valid seal, in the caller's transaction."""
    _change(connection, "DELETE FROM {place} WHERE {is_wrong}")


def settle(connection: duckdb.DuckDBPyConnection) -> None:
    """Write the seals of the answers that this transaction has added. `forget` must have preceded, or the user trusts the file."""
    _change(connection, f"UPDATE {{place}} SET {SEAL} = {{seal}} WHERE {SEAL} IS NULL")


def _change(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    secret = cache.secret(_SCHEMA)
    ((current,),) = connection.execute("SELECT current_database()").fetchall()
    columns = _columns(connection, current)
    if columns and secret:
        text = statement.format(place=_place(current), is_wrong=_is_wrong(columns), seal=_expression(columns))
        connection.execute(text, {"secret": secret})


def _place(database: str) -> str:
    return f"{ddl.quote(database)}.{_SCHEMA}.{_TABLE}"


def _columns(connection: duckdb.DuckDBPyConnection, database: str) -> list[str]:
    """Return the columns of the table without the seal; empty if the table or its seal is missing."""
    query = """
        SELECT column_name FROM duckdb_columns()
        WHERE database_name = $1 AND schema_name = $2 AND table_name = $3
        ORDER BY column_index
    """
    names = [name for (name,) in connection.execute(query, [database, _SCHEMA, _TABLE]).fetchall()]
    return [name for name in names if name != SEAL] if SEAL in names else []


def _is_wrong(columns: list[str]) -> str:
    return f"{SEAL} IS DISTINCT FROM {_expression(columns)}"


def _expression(columns: list[str]) -> str:
    """Write the expression of a row's seal. The engine's hash can be inverted, so `md5` hides its result."""
    return f"md5_number_lower(CONCAT($secret, CAST({ddl.keyed_hash('secret', *map(ddl.quote, columns))} AS VARCHAR)))"
