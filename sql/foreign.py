"""Finds foreign objects in a file, missing objects of charz, and changed shipped rows.

A database is untrusted input: a view may read any file, a trigger may change rows on a write, a macro may shadow a function
that charz calls, `+` and `=` among them. So these queries run where no name of the file is visible (`apart`). The reference is a
file that charz has just made: a file's description of itself (`view_catalog`, `maintenance_trigger`) proves nothing, and is
compared as well.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import duckdb

from charz.schema import about, cache, ddl
from charz.schema.apart import apart

from .installed import catalog, comparable
from .keys import CHAIN
from .layers import HARDWARE, REBUILD

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
    SELECT 'sequence ' || schema_name || '.' || sequence_name, ''  -- its text contains the next number
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
"""Query of the objects that affect readers of the file."""

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
"""Query of the objects that affect writers of the file, and of comments."""

_COLUMNS = """
    SELECT schema_name || '.' || table_name || '.' || column_name || ' ' || data_type
    FROM duckdb_columns()
    SEMI JOIN duckdb_tables() USING (database_oid, schema_oid, table_oid)
    WHERE database_name = $1 AND NOT internal AND schema_name = 'main'
"""

_RESTATED = "restated_number"
"""Table of facts that changes numbers of shipped parts and has no shipped rows."""

_OWN_ROWS = ("view_catalog", "view_column", "maintenance_trigger")
"""Tables in which a file describes its objects."""

_DESCRIBING = "view_column"
"""The table of `_OWN_ROWS` on which no answer depends."""

_GROWING = "source"
"""Shipped table to which users add rows; no shipped row depends on these."""

_QUESTIONS = "scenario"
"""Shipped table whose rows are questions: users add and remove them, and an answer is found by all of its conditions."""

_ACTING = ("view ", "trigger ", "macro ")
"""Prefixes of the names of objects that run code."""

_FOR_WRITERS = ("trigger ", "comment ")

_CATALOG_ROWS = "catalog_rows"
"""Key of `charz_meta` that lists the shipped rows by table."""


class Own(TypedDict):
    """Contents of a file that charz has just made."""

    objects: dict[str, str]
    """Digests of objects' texts by name."""
    rows: dict[str, str]
    """Digests of the rows of shipped tables, by table."""
    computed: dict[str, str]
    """Digests of the rows of the maintained tables of parts, by table."""
    inputs: list[str]
    """Tables of `rows` that the maintained tables of parts read."""


@dataclass(frozen=True, slots=True)
class Found:
    """Differences of a file from a file that charz made."""

    shadowing: tuple[str, ...] = ()
    """Macros that shadow a function."""
    changed: tuple[str, ...] = ()
    """Objects whose names are charz's but whose texts differ, and tables of `_OWN_ROWS` that differ."""
    further: tuple[str, ...] = ()
    """Objects whose names are not charz's."""
    lacking: tuple[str, ...] = ()
    """Missing objects of charz."""
    tables: tuple[str, ...] = ()
    """Shipped tables whose rows differ."""
    computed: tuple[str, ...] = ()
    """Maintained tables of parts whose rows differ."""
    content: str = ""
    """Digest of the rows of the maintained tables of parts, and of all tables that these read."""

    @property
    def acting(self) -> list[str]:
        """Objects that may run when the file is written, sorted. Comments and rows that describe the file are excluded: charz
        replaces them unread."""
        further = [name for name in self.further if name.startswith(_ACTING)]
        changed = [name for name in self.changed if not name.startswith(("comment ", "rows of "))]
        return sorted([*self.shadowing, *changed, *further])


def own(connection: duckdb.DuckDBPyConnection) -> Own:
    """Describe a file that charz has just made, as the reference for other files."""
    tables = [*sorted(json.loads(about.read(connection)[_CATALOG_ROWS])), _RESTATED]
    known = catalog(connection)
    computed = [table.name for table in known.tables(HARDWARE)]
    read = known.upstream(computed)
    digests = _row_digests(connection, [*tables, *_OWN_ROWS, *computed])
    return {
        "objects": objects(connection, is_whole=True),
        "rows": {table: digest for table, digest in digests.items() if table not in computed},
        "computed": {table: digests[table] for table in computed},
        "inputs": [table for table in tables if table in read],
    }


def objects(connection: duckdb.DuckDBPyConnection, is_whole: bool = False) -> dict[str, str]:
    """Return digests of the texts of all objects of the file, by name, e.g. `trigger NAME on main.TABLE`; with `is_whole` also
    triggers and comments."""
    query = f"{_OBJECTS} UNION ALL {_WRITTEN}" if is_whole else _OBJECTS
    with apart(connection) as (cursor, current):
        return {name: _digest(comparable(text or "")) for name, text in cursor.execute(query, [current]).fetchall()}


def found(
    connection: duckdb.DuckDBPyConnection, known: Own, is_whole: bool = False, compare_texts: bool = True
) -> Found:
    """Find objects and rows of a file that charz did not make.

    `is_whole` includes triggers and comments. Without `compare_texts` only names are compared: for a file of another charz
    version, whose objects of these names are replaced without being run.
    """
    there = objects(connection, is_whole)
    if compare_texts:
        digests, kept = known["objects"], known["rows"] | known["computed"]
        differing = sorted(name for name, digest in there.items() if digests.get(name) != digest)
        tables = [table for table in kept if f"table main.{table}" in there]
        rows = _row_digests(connection, [table for table in tables if is_whole or table != _DESCRIBING])
        others = [table for table, digest in rows.items() if kept[table] != digest]
        read = [(table, digest) for table, digest in rows.items() if table in known["inputs"] or table in known["computed"]]
        content = _digest(json.dumps(sorted(read))) if read else ""
        expected = [name for name in digests if is_whole or not name.startswith(_FOR_WRITERS)]
    else:
        digests, others, expected, content = known["objects"], [], [], ""
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
        tables=tuple(table for table in others if table not in _OWN_ROWS and table not in known["computed"]),
        computed=tuple(table for table in others if table in known["computed"]),
        content=content,
    )


def _shadowing(connection: duckdb.DuckDBPyConnection, names: list[str]) -> list[str]:
    """Return the macros among objects that shadow a function of the engine, sorted."""
    macros = {name.partition(".")[2].lower(): name for name in names if name.startswith("macro ")}
    if not macros:
        return []
    query = "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE internal"
    with apart(connection) as (cursor, _):
        return sorted(macros[name] for (name,) in cursor.execute(query).fetchall() if name in macros)


def altered(
    connection: duckdb.DuckDBPyConnection, template: duckdb.DuckDBPyConnection, tables: tuple[str, ...]
) -> dict[str, int]:
    """Count by table the shipped rows that a file changed or lacks, or the rows that the file adds to shipped parts if more rows were
    added. Parts that the file lacks and parts of its user are ignored."""
    counts = {}
    theirs, ours = _parts(connection), _parts(template)
    for table in tables:
        if table == _QUESTIONS:
            continue
        columns, there = _rows(connection, table)
        _, shipped = _rows(template, table)
        lost = [row for row in shipped - there if _part(columns, row, theirs) in theirs]
        more = [row for row in there - shipped if _part(columns, row, ours) in ours]
        if count := max(len(lost), 0 if table == _GROWING else len(more)):
            counts[table] = count
    return counts


def shadowing(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the macros of a file that shadow a function of the engine."""
    return _shadowing(connection, list(objects(connection)))


def drop_macros(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
    """Drop the macros that `shadowing` returned, in the caller's transaction."""
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
    """List missing objects, missing columns and differing tables of `_OWN_ROWS` of a file, sorted; `own` is a file that this charz
    has just made. `triggers.missing` lists triggers."""
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


def _part(columns: Sequence[str], row: Sequence[object], among: set[object]) -> object:
    """Return the part of a row, by its column or by a scope `hardware:NAME`; any of some parts for a row of no part.

    >>> _part(["scope", "resource"], ["hardware:mine", "matrix"], {"t4"}), _part(["family"], ["gpu"], {"t4"})
    ('mine', 't4')
    """
    if "hardware" in columns:
        return row[columns.index("hardware")]
    scope = str(row[columns.index("scope")]) if "scope" in columns else ""
    kind, _, part = scope.partition(":")
    return part if kind == "hardware" else next(iter(among), None)


def _parts(connection: duckdb.DuckDBPyConnection) -> set[object]:
    columns, rows = _rows(connection, "hardware")
    return {row[columns.index("hardware")] for row in rows}


def recomputed(
    connection: duckdb.DuckDBPyConnection, template: duckdb.DuckDBPyConnection, tables: Sequence[str]
) -> dict[str, int]:
    """Count the rows of maintained tables that differ from their recomputation, by table. Only parts whose rows differ from the
    template's are evaluated."""
    parts: set[str] = set()
    for table in tables:
        parts.update(part for part, _ in _digests_by_part(connection, table).items() ^ _digests_by_part(template, table).items())
    # Opening a file without such rows imports no pydantic.
    from . import maintain

    return maintain.altered(connection, tables, sorted(parts))


def _digests_by_part(connection: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    """Return a digest of the rows of a maintained table by part; empty for tables whose rows belong to no part."""
    with apart(connection) as (cursor, current):
        main = f"{ddl.quote(current)}.main"
        columns = [name for name, *_ in cursor.execute(f"FROM {main}.{ddl.quote(table)} LIMIT 0").description or ()]
        rows = f"{main}.{ddl.quote(table)} AS t"
        if "hardware" not in columns and CHAIN not in columns:
            return {}
        if "hardware" not in columns:
            rows += f" JOIN (SELECT DISTINCT hardware, {CHAIN} FROM {main}.part_backend) AS c USING ({CHAIN})"
        values = [f"t.{ddl.quote(name)}" for name in columns]
        query = f"SELECT hardware, {_sum_of_hashes(*values)} FROM {rows} GROUP BY hardware"
        return dict(cursor.execute(query, {"salt": _salt()}).fetchall())


def _row_digests(connection: duckdb.DuckDBPyConnection, tables: list[str]) -> dict[str, str]:
    """Return a digest of the rows of each table, independent of their order, in one query."""
    if not tables:
        return {}
    with apart(connection) as (cursor, current):
        each = [
            f"SELECT {ddl.literal(table)}, {_sum_of_hashes()} FROM {ddl.quote(current)}.main.{ddl.quote(table)}"
            for table in tables
        ]
        return dict(cursor.execute(" UNION ALL ".join(each), {"salt": _salt()}).fetchall())


def _sum_of_hashes(*values: str) -> str:
    """Write the digest of the values of rows, or of whole rows, with a secret of the user."""
    return f"CONCAT(count(*), ' ', sum(CAST({ddl.keyed_hash('salt', *values)} AS HUGEINT)))"


def _salt() -> str:
    return cache.secret("rows")


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
