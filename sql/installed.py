"""What a database says of the views and maintained tables it has: `view_catalog`, read without sqlglot."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb


@dataclass(frozen=True, slots=True)
class Relation:
    """A row of `view_catalog`."""

    name: str
    is_table: bool
    layer: str
    reads: tuple[str, ...]
    body: str


def relations(connection: duckdb.DuckDBPyConnection) -> list[Relation]:
    """Every view and maintained table, each after those it reads."""
    query = "SELECT view, kind, layer, reads, body FROM view_catalog ORDER BY position"
    return [
        Relation(view, kind == "table", layer, tuple(reads.split(", ")), body)
        for view, kind, layer, reads, body in connection.execute(query).fetchall()
    ]


def column_names(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """Columns of a view or maintained table, in order."""
    query = "SELECT column_name FROM view_column WHERE view = ? ORDER BY position"
    return [column for (column,) in connection.execute(query, [name]).fetchall()]
