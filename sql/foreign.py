"""Foreign objects in a file that act when it is read or written, and charz objects that it lacks.

A database is untrusted input: a view may read any file, a trigger changes rows when others are written, a macro may take the name of a
function that charz calls. Charz's own objects are recognized by comparison with a newly made file: a file's own statements
(`view_catalog`, `maintenance_trigger`) prove nothing.
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
"""Tables in which a file describes its objects."""


def objects(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return every view, trigger and macro of the file, e.g. `trigger NAME on main.TABLE`, with its text."""
    ((current,),) = connection.execute("SELECT current_database()").fetchall()
    return {name: comparable(text or "") for name, text in connection.execute(_OBJECTS, [current]).fetchall()}


def foreign_objects(
    connection: duckdb.DuckDBPyConnection, known: Mapping[str, str], compare_texts: bool = True
) -> list[str]:
    """Return the sorted names of the file's views, triggers and macros that are not charz's own.

    `known` are the `objects` of a file that this charz has just made. Without `compare_texts` the name is enough: for a file of another
    charz, whose objects of these names are dropped unevaluated when this charz's replace them.
    """
    found = objects(connection)
    if compare_texts:
        return sorted(name for name, text in found.items() if known.get(name) != text)
    own = {_unnumbered(name) for name in known}
    return sorted(name for name in found if _unnumbered(name) not in own)


def _unnumbered(name: str) -> str:
    """Remove from a trigger's name the parts that change with the number of relations: its number in the queue, and the queue.

    >>> _unnumbered("trigger charz_03_delete_part on rebuild.queue_hardware")
    'trigger charz_delete_part'
    """
    return re.sub(rf"^trigger charz_\d+_(\w+) on {REBUILD}\..*", r"trigger charz_\1", name)


def lacking(connection: duckdb.DuckDBPyConnection, own: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the sorted views, macros, columns and self-descriptions that a file lacks or that differ; `own` is a file that this charz has
    just made. `triggers.missing` compares the triggers."""
    names = [name for name in objects(own).keys() - objects(connection).keys() if not name.startswith("trigger ")]
    columns = [f"column {column}" for column in sorted(_columns(own) - _columns(connection))]
    rows = [f"rows of {table}" for table in _OWN_ROWS if _rows(own, table) != _rows(connection, table)]
    return [*sorted(names), *columns, *(rows if not columns else [])]


def _columns(connection: duckdb.DuckDBPyConnection) -> set[str]:
    ((current,),) = connection.execute("SELECT current_database()").fetchall()
    return {name for (name,) in connection.execute(_COLUMNS, [current]).fetchall()}


def _rows(connection: duckdb.DuckDBPyConnection, table: str) -> set[tuple[object, ...]]:
    return set(connection.execute(f"FROM main.{table}").fetchall())
