"""What a file holds that acts when it is read or written and that charz did not put there, and what it lacks of charz's.

A database is input too: a view may read any file, a trigger changes rows when others are written, a macro may take the
name of a function that charz calls. What is charz's own is told by a file that charz has just made: what a file says of
itself (`view_catalog`, `maintenance_trigger`) proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import duckdb

from .layers import REBUILD
from .triggers import comparable

_OBJECTS = """
    SELECT 'view ' || schema_name || '.' || view_name, sql
    FROM duckdb_views()
    WHERE database_name = $1 AND NOT internal
    UNION ALL
    SELECT 'trigger ' || trigger_name || ' on ' || schema_name || '.' || table_name, sql
    FROM duckdb_triggers()
    WHERE database_name = $1
    UNION ALL
    SELECT 'macro ' || schema_name || '.' || function_name, string_agg(macro_definition, ' or ' ORDER BY macro_definition)
    FROM duckdb_functions()
    WHERE database_name = $1 AND NOT internal
    GROUP BY ALL
"""

_COLUMNS = """
    SELECT schema_name || '.' || table_name || '.' || column_name || ' ' || data_type
    FROM duckdb_columns()
    SEMI JOIN duckdb_tables() USING (database_oid, schema_oid, table_oid)
    WHERE database_name = $1 AND NOT internal AND schema_name = 'main'
"""

_OWN_ROWS = ("view_catalog", "view_column", "maintenance_trigger")
"""Tables in which a file says what it is made of."""


def objects(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Every view, trigger and macro of the file, e.g. `trigger NAME on main.TABLE`, with its text."""
    ((current,),) = connection.execute("SELECT current_database()").fetchall()
    return {name: comparable(text or "") for name, text in connection.execute(_OBJECTS, [current]).fetchall()}


def foreign_objects(
    connection: duckdb.DuckDBPyConnection, known: Mapping[str, str], compare_texts: bool = True
) -> list[str]:
    """Names of the file's views, triggers and macros that are not charz's own, sorted.

    `known` is what `objects` says of a file that this charz has just made. Without `compare_texts` a name is enough: for a
    file that another charz made, whose objects of these names are dropped unevaluated when this charz's take their place.
    """
    found = objects(connection)
    if compare_texts:
        return sorted(name for name, text in found.items() if known.get(name) != text)
    own = {_unnumbered(name) for name in known}
    return sorted(name for name in found if _unnumbered(name) not in own)


def _unnumbered(name: str) -> str:
    """A name without what is another where a relation has come or gone: the number by which the triggers of a queue are
    ordered, and the queue."""
    return re.sub(rf"^trigger charz_\d+_(\w+) on {REBUILD}\..*", r"trigger charz_\1", name)


def lacking(connection: duckdb.DuckDBPyConnection, own: duckdb.DuckDBPyConnection) -> list[str]:
    """Views, macros, columns, and tables on what it is made of that a file lacks or has otherwise, sorted; `own` is one that
    this charz has just made. Triggers are left to `triggers.missing`."""
    names = [name for name in objects(own).keys() - objects(connection).keys() if not name.startswith("trigger ")]
    columns = [f"column {column}" for column in sorted(_columns(own) - _columns(connection))]
    rows = [f"rows of {table}" for table in _OWN_ROWS if _rows(own, table) != _rows(connection, table)]
    return [*sorted(names), *columns, *(rows if not columns else [])]


def _columns(connection: duckdb.DuckDBPyConnection) -> set[str]:
    ((current,),) = connection.execute("SELECT current_database()").fetchall()
    return {name for (name,) in connection.execute(_COLUMNS, [current]).fetchall()}


def _rows(connection: duckdb.DuckDBPyConnection, table: str) -> set[tuple[object, ...]]:
    return set(connection.execute(f"FROM main.{table}").fetchall())
