"""What the views and tables hold, column by column."""

from __future__ import annotations

from typing import Annotated

import duckdb
import typer

from charz.schema.errors import unknown_name

from . import display
from .workspace import DatabaseOption, open_workspace


def command(
    name: Annotated[str | None, typer.Argument(help="View or table; without one, all are listed.")] = None,
    db: DatabaseOption = None,
) -> None:
    """List every view and table, or the columns of one with units and meaning."""
    with open_workspace(db) as connection:
        if name is None:
            _list(connection)
        else:
            _describe(connection, name)


_TABLES = """
    SELECT 'table', table_name, comment FROM duckdb_tables()
    WHERE NOT internal AND schema_name = 'main' AND table_name NOT IN (SELECT view FROM view_catalog)
    ORDER BY table_name
"""
"""Tables that people and ingest write; those that are kept equal to a view stand among the views."""


def _list(connection: duckdb.DuckDBPyConnection) -> None:
    views = connection.execute("SELECT layer, view, description FROM view_catalog ORDER BY layer, view").fetchall()
    rows = views + connection.execute(_TABLES).fetchall()
    shown = [(layer, name, _first_sentence(text or "")) for layer, name, text in rows]
    display.show(display.table(["layer", "name", "what it holds"], shown))


def _describe(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    relations = connection.execute(
        "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'"
        " UNION ALL SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main'"
    ).fetchall()
    known = dict(relations)
    if name not in known:
        raise unknown_name("view or table", name, known, "`charz schema` lists them")
    columns = connection.execute(
        "SELECT column_name, data_type, comment FROM duckdb_columns()"
        " WHERE schema_name = 'main' AND table_name = ? ORDER BY column_index",
        [name],
    ).fetchall()
    display.show(f"{name}: {known[name] or ''}\n")
    display.show(display.table(["column", "type", "what it holds"], columns))


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")
