"""What a file holds that charz did not put there, what it lacks of charz's, and which of its shipped rows are others.

A database is input too: a view may read any file, a trigger changes rows when others are written, a macro may take the
name of a function that charz calls, `+` and `=` among them. So the questions here are asked where no name of the file is found
(`apart`). What is charz's own is told by a file that charz has just made: what a file says of itself (`view_catalog`,
`maintenance_trigger`) proves nothing, and is compared as well.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import duckdb

from charz.schema import about, ddl
from charz.schema.apart import apart

from .installed import comparable
from .layers import REBUILD

_OBJECTS = """
    SELECT 'view ' || schema_name || '.' || view_name, sql
    FROM duckdb_views()
    WHERE database_name = $1 AND NOT internal
    UNION ALL
    SELECT 'macro ' || schema_name || '.' || function_name, string_agg(macro_definition, ' or ' ORDER BY macro_definition)
    FROM duckdb_functions()
    WHERE database_name = $1 AND NOT internal
    GROUP BY ALL
    UNION ALL
    SELECT 'table ' || schema_name || '.' || table_name, sql
    FROM duckdb_tables()
    WHERE database_name = $1 AND NOT internal
    UNION ALL
    SELECT 'type ' || schema_name || '.' || type_name, logical_type
    FROM duckdb_types()
    WHERE database_name = $1 AND NOT internal
    UNION ALL
    SELECT 'sequence ' || schema_name || '.' || sequence_name, sql
    FROM duckdb_sequences()
    WHERE database_name = $1
    UNION ALL
    SELECT 'index ' || schema_name || '.' || index_name, sql
    FROM duckdb_indexes()
    WHERE database_name = $1
    UNION ALL
    SELECT 'schema ' || schema_name, ''
    FROM duckdb_schemas()
    WHERE database_name = $1 AND NOT internal
"""
"""What acts on who reads the file."""

_WRITTEN = """
    SELECT 'trigger ' || trigger_name || ' on ' || schema_name || '.' || table_name, sql
    FROM duckdb_triggers()
    WHERE database_name = $1
    UNION ALL
    SELECT 'comment on ' || schema_name || '.' || table_name || '.' || column_name, comment
    FROM duckdb_columns()
    WHERE database_name = $1 AND comment IS NOT NULL
    UNION ALL
    SELECT 'comment on ' || schema_name || '.' || table_name, comment
    FROM duckdb_tables()
    WHERE database_name = $1 AND comment IS NOT NULL
    UNION ALL
    SELECT 'comment on ' || schema_name || '.' || view_name, comment
    FROM duckdb_views()
    WHERE database_name = $1 AND NOT internal AND comment IS NOT NULL
"""
"""What acts on who writes it, and texts."""

_COLUMNS = """
    SELECT schema_name || '.' || table_name || '.' || column_name || ' ' || data_type
    FROM duckdb_columns()
    SEMI JOIN duckdb_tables() USING (database_oid, schema_oid, table_oid)
    WHERE database_name = $1 AND NOT internal AND schema_name = 'main'
"""

_OWN_ROWS = ("view_catalog", "view_column", "maintenance_trigger")
"""Tables in which a file describes its objects."""

_DESCRIBING = "view_column"
"""Of these the one that no answer follows from."""

_GROWING = frozenset({"source"})
"""Shipped tables to which people add rows that no shipped row follows from."""

_ACTING = ("view ", "trigger ", "macro ")
"""How names of objects begin that do something of themselves."""

_FOR_WRITERS = ("trigger ", "comment ")

_CATALOG_ROWS = "catalog_rows"
"""Key of `charz_meta` under which a file says which rows are shipped, by table."""


class Own(TypedDict):
    """What a file that charz has just made holds."""

    objects: dict[str, str]
    """Digests of texts by name."""
    rows: dict[str, str]
    """Digests of the rows of each table that is shipped, by table."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a file holds that charz did not put there."""

    shadowing: tuple[str, ...] = ()
    """Macros that take the name of a function."""
    changed: tuple[str, ...] = ()
    """Objects of charz's names that are others, and tables in which the file says what it is made of."""
    further: tuple[str, ...] = ()
    """Objects of other names."""
    lacking: tuple[str, ...] = ()
    """Objects of charz's that are not there."""
    tables: tuple[str, ...] = ()
    """Shipped tables with other rows."""

    @property
    def acting(self) -> list[str]:
        """What may run when the file is written, sorted; rows that say what the file is made of are made anew unread."""
        further = [name for name in self.further if name.startswith(_ACTING)]
        changed = [name for name in self.changed if not name.startswith(("comment ", "rows of "))]
        return sorted([*self.shadowing, *changed, *further])


def own(connection: duckdb.DuckDBPyConnection) -> Own:
    """What a file that charz has just made holds; what follows compares others with it."""
    tables = sorted(json.loads(about.read(connection)[_CATALOG_ROWS]))
    return {"objects": objects(connection, is_whole=True), "rows": _row_digests(connection, [*tables, *_OWN_ROWS])}


def objects(connection: duckdb.DuckDBPyConnection, is_whole: bool = False) -> dict[str, str]:
    """Digests of the texts of all objects of the file, by name, e.g. `trigger NAME on main.TABLE`; with `is_whole` those too
    that matter to who writes it alone."""
    query = f"{_OBJECTS} UNION ALL {_WRITTEN}" if is_whole else _OBJECTS
    with apart(connection) as (cursor, current):
        return {name: _digest(comparable(text or "")) for name, text in cursor.execute(query, [current]).fetchall()}


def found(
    connection: duckdb.DuckDBPyConnection, known: Own, is_whole: bool = False, compare_texts: bool = True
) -> Found:
    """What is not charz's own in a file.

    `is_whole` looks at triggers and comments of columns too. Without `compare_texts` a name is enough: for a file that another
    charz made, whose objects of these names are dropped unevaluated when this charz's take their place.
    """
    there = objects(connection, is_whole)
    if compare_texts:
        digests = known["objects"]
        differing = sorted(name for name, digest in there.items() if digests.get(name) != digest)
        tables = [table for table in known["rows"] if f"table main.{table}" in there]
        rows = _row_digests(connection, [table for table in tables if is_whole or table != _DESCRIBING])
        others = [table for table, digest in rows.items() if known["rows"][table] != digest]
        expected = [name for name in digests if is_whole or not name.startswith(_FOR_WRITERS)]
    else:
        digests, others, expected = known["objects"], [], []
        names = {_unnumbered(name) for name in digests}
        differing = sorted(name for name in there if name.startswith(_ACTING) and _unnumbered(name) not in names)
    shadowing = _shadowing(connection, differing)
    return Found(
        shadowing=tuple(shadowing),
        changed=(
            *(name for name in differing if name in digests and compare_texts),
            *(f"rows of {table}" for table in others if table in _OWN_ROWS),
        ),
        further=tuple(name for name in differing if not (name in digests and compare_texts) and name not in shadowing),
        lacking=tuple(sorted(name for name in expected if name not in there)),
        tables=tuple(table for table in others if table not in _OWN_ROWS),
    )


def _shadowing(connection: duckdb.DuckDBPyConnection, names: list[str]) -> list[str]:
    """Macros among some objects that take the name of a function of the engine."""
    macros = {name.partition(".")[2].lower(): name for name in names if name.startswith("macro ")}
    if not macros:
        return []
    query = "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE internal"
    with apart(connection) as (cursor, _):
        return sorted(macros[name] for (name,) in cursor.execute(query).fetchall() if name in macros)


def altered(
    connection: duckdb.DuckDBPyConnection, template: duckdb.DuckDBPyConnection, tables: tuple[str, ...]
) -> dict[str, int]:
    """Shipped rows that are others in a file, or gone from it, and rows that it has of shipped parts besides, by table; what is
    of parts that it does not have or that are its user's own is left out."""
    counts = {}
    theirs, ours = _parts(connection), _parts(template)
    for table in tables:
        columns, there = _rows(connection, table)
        _, shipped = _rows(template, table)
        place = columns.index("hardware") if "hardware" in columns else None
        lost = [row for row in shipped - there if place is None or row[place] in theirs]
        more = [row for row in there - shipped if place is None or row[place] in ours]
        if count := max(len(lost), 0 if table in _GROWING else len(more)):
            counts[table] = count
    return counts


def shadowing(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Macros of a file that take the name of a function of the engine."""
    return _shadowing(connection, list(objects(connection)))


def drop_macros(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
    """Drop macros that `shadowing` names, in the caller's transaction."""
    for name in names:
        schema, _, macro = name.removeprefix("macro ").partition(".")
        query = "SELECT DISTINCT function_type FROM duckdb_functions() WHERE database_name = $1 AND function_name = $2"
        with apart(connection) as (cursor, current):
            kinds = cursor.execute(f"{query} AND schema_name = $3", [current, macro, schema]).fetchall()
        for (kind,) in kinds:
            word = "MACRO TABLE" if kind == "table_macro" else "MACRO"
            connection.execute(f"DROP {word} {ddl.quote(schema)}.{ddl.quote(macro)}")


def _unnumbered(name: str) -> str:
    """Remove from a trigger's name the parts that change with the number of relations: its number in the queue, and the queue.

    >>> _unnumbered("trigger charz_03_delete_part on rebuild.queue_hardware")
    'trigger charz_delete_part'
    """
    return re.sub(rf"^trigger charz_\d+_(\w+) on {REBUILD}\..*", r"trigger charz_\1", name)


def lacking(connection: duckdb.DuckDBPyConnection, own: duckdb.DuckDBPyConnection) -> list[str]:
    """Views, columns, and tables on what it is made of that a file lacks or has otherwise, sorted; `own` is one that
    this charz has just made. Triggers are left to `triggers.missing`."""
    names = [name for name in objects(own).keys() - objects(connection).keys() if not name.startswith("table ")]
    columns = [f"column {column}" for column in sorted(_columns(own) - _columns(connection))]
    rows = [f"rows of {table}" for table in _OWN_ROWS if _rows(own, table) != _rows(connection, table)] if not columns else []
    return [*sorted(names), *columns, *rows]


def _columns(connection: duckdb.DuckDBPyConnection) -> set[str]:
    with apart(connection) as (cursor, current):
        return {name for (name,) in cursor.execute(_COLUMNS, [current]).fetchall()}


def _rows(connection: duckdb.DuckDBPyConnection, table: str) -> tuple[list[str], set[tuple[object, ...]]]:
    with apart(connection) as (cursor, current):
        found = cursor.execute(f"FROM {ddl.quote(current)}.main.{ddl.quote(table)}")
        return [column[0] for column in found.description or ()], set(found.fetchall())


def _parts(connection: duckdb.DuckDBPyConnection) -> set[object]:
    columns, rows = _rows(connection, "hardware")
    return {row[columns.index("hardware")] for row in rows}


def _row_digests(connection: duckdb.DuckDBPyConnection, tables: list[str]) -> dict[str, str]:
    """A digest of the rows of each table, in whatever order they are, in one query."""
    if not tables:
        return {}
    with apart(connection) as (cursor, current):
        each = [
            f"SELECT {ddl.literal(table)}, md5(COALESCE(string_agg(digest, '' ORDER BY digest), '')) FROM"
            f" (SELECT md5(CAST(t AS VARCHAR)) AS digest FROM {ddl.quote(current)}.main.{ddl.quote(table)} AS t)"
            for table in tables
        ]
        return dict(cursor.execute(" UNION ALL ".join(each)).fetchall())


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
