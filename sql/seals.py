"""Seals of answers at hand: marks of the rows of `answer.stored` that this user's charz computed.

A file may come from somebody else, and any client can write wrong numbers to `answer.stored`, or change the facts of a model. So each
row has a seal, a hash of its values and of all facts of its model with a secret of the user (`cache.secret`). A row without a valid seal
is not believed: commands evaluate its run again, and `charz refresh` evaluates the runs and answers of its model from the facts. Triggers
only delete rows, which needs no seal.
"""

from __future__ import annotations

from typing import Any

import duckdb

from charz.schema import cache, ddl
from charz.schema.apart import apart

SEAL = "seal"
"""Column of the seal."""

_TABLE = "stored"
_SCHEMA = "answer"


_FACTS = (
    "model", "module", "operator", "operator_layout", "layout_copy", "operator_step", "term", "tensor", "tensor_term", "edge", "access_term",
    "operator_split", "cache_split", "tensor_precision", "operator_precision", "precision_cast", "read_precision", "kernel",
    "kernel_operator", "kernel_tensor", "kernel_edge", "path_segment", "tensor_lifetime", "heap_growth",
)  # fmt: skip
"""Tables of the facts of models. Their classes are not imported, since opening a file would take longer."""

_DOUBTED = 0
"""Seal of rows that are known to be invalid."""


def unsealed(connection: duckdb.DuckDBPyConnection) -> int:
    """Count the answers at hand without a valid seal; 0 if the user has no secret."""
    with apart(connection) as (cursor, _):
        found = _changed(cursor, connection, "SELECT count(*) FROM {place} WHERE {is_wrong}")
        return found[0][0] if found else 0


def doubt(connection: duckdb.DuckDBPyConnection) -> None:
    """Mark the answers at hand without a valid seal, in the caller's transaction, so that `settle` does not seal them."""
    _changed(connection, connection, f"UPDATE {{place}} SET {SEAL} = {_DOUBTED} WHERE {{is_wrong}}")


def forget(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Delete the answers at hand without a valid seal, in the caller's transaction, and return the models of the file that had such."""
    known = "SELECT DISTINCT model FROM {place} WHERE list_contains($models, model) AND {is_wrong} ORDER BY model"
    models = _changed(connection, connection, known)
    _changed(connection, connection, "DELETE FROM {place} WHERE {is_wrong}")
    return [model for (model,) in models]


def settle(connection: duckdb.DuckDBPyConnection) -> None:
    """Write the seals of the answers that this transaction has added. `doubt` must have preceded, or the user trusts the file."""
    _changed(connection, connection, f"UPDATE {{place}} SET {SEAL} = {{seal}} WHERE {SEAL} IS NULL")


def _changed(
    cursor: duckdb.DuckDBPyConnection, connection: duckdb.DuckDBPyConnection, statement: str
) -> list[tuple[Any, ...]]:
    """Run a statement about the answers of the connection's database; return its rows, none without answers or secret."""
    secret = cache.secret(_SCHEMA)
    ((current,),) = connection.execute("SELECT system.main.current_database()").fetchall()
    columns = _columns(cursor, current)
    if not columns or not secret:
        return []
    text = statement.format(place=_place(current), is_wrong=_is_wrong(columns), seal=_expression(columns))
    facts = _digests_of_facts(cursor, current, secret)
    given = {"secret": secret, "models": list(facts), "facts": list(facts.values())}
    return cursor.execute(text, given).fetchall()


def _digests_of_facts(cursor: duckdb.DuckDBPyConnection, database: str, secret: str) -> dict[str, str]:
    """Return a digest of all facts of each model."""
    query = "SELECT table_name FROM duckdb_tables() WHERE database_name = $1 AND schema_name = 'main'"
    there = {name for (name,) in cursor.execute(query, [database]).fetchall()}
    each = [
        f"SELECT model, {ddl.literal(table)} AS part, SUM(CAST({ddl.keyed_hash('secret')} AS HUGEINT)) AS h"
        f" FROM {ddl.quote(database)}.main.{ddl.quote(table)} GROUP BY model"
        for table in _FACTS
        if table in there
    ]
    if not each:
        return {}
    total = f"CAST(SUM(CAST({ddl.keyed_hash('secret', 'part', 'h')} AS HUGEINT)) AS VARCHAR)"
    query = f"SELECT model, {total} FROM ({' UNION ALL '.join(each)}) GROUP BY model"
    return dict(cursor.execute(query, {"secret": secret}).fetchall())


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
    values = [*map(ddl.quote, columns), "MAP($models, $facts)[model]"]
    return f"md5_number_lower(CONCAT($secret, CAST({ddl.keyed_hash('secret', *values)} AS VARCHAR)))"
