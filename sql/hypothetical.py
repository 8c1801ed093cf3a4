"""Parts that do not exist, thousands at once: copies of one part with other numbers, known to one connection alone.

Temporary tables hide those of the file, also within views, as in `narrow`. Each fact takes one statement, and each relation of
the hardware layer is evaluated once, for all copies together: its text inlines what it reads, so that table after table, as a
trigger does it, evaluates the same views many times.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import duckdb

from charz.schema import database, ddl
from charz.schema.row import Row

from . import restate
from .installed import Relation, relations
from .layers import HARDWARE
from .maintain import stored
from .narrow import ENERGY

COPIES = "hypothetical_part"
"""Temporary table of the copies, and of their numbers a column each."""


@dataclass(frozen=True, slots=True)
class Varied:
    """A number in which the copies differ from their part."""

    table: str
    key: tuple[tuple[str, str], ...]
    """Columns that name its row, each with its value; the part is among them."""
    column: str
    values: Sequence[float]
    """That of each copy."""


def add(
    connection: duckdb.DuckDBPyConnection,
    base: str,
    copies: Sequence[str],
    varied: Sequence[Varied],
    wanted: Collection[str],
    backends: Sequence[str],
) -> None:
    """Make what some views read of parts hold these copies of a part, its siblings of the same die, which lend efficiencies,
    and no others, under some backends; before `narrow`."""
    _hold_copies(connection, copies, varied)
    needed = _needed(relations(connection), wanted)
    read = {name for relation in needed for name in relation.reads}
    for row_type in database.TABLES:
        if row_type.TABLE in read:
            _copy(connection, row_type, base, varied)
    listed = ", ".join(map(ddl.literal, backends))
    support = stored(connection, "backend_support")
    connection.execute(f"CREATE TEMP TABLE backend_support AS SELECT * FROM {support} WHERE backend IN ({listed})")
    for relation in needed:
        connection.execute(f"CREATE TEMP TABLE {ddl.quote(relation.name)} AS {relation.body}")


def _needed(known: Sequence[Relation], wanted: Collection[str]) -> list[Relation]:
    """Relations of the hardware layer that some views rest on, each after those it reads."""
    found = set(wanted)
    for relation in reversed(known):
        if relation.name in found:
            found.update(relation.reads)
    return [relation for relation in known if relation.name in found and relation.layer == HARDWARE]


def _hold_copies(connection: duckdb.DuckDBPyConnection, copies: Sequence[str], varied: Sequence[Varied]) -> None:
    columns = ["CAST(UNNEST(?) AS VARCHAR) AS hardware"]
    columns += [f"CAST(UNNEST(?) AS DOUBLE) AS {_numbered(i)}" for i in range(len(varied))]
    values = [list(copies), *(list(number.values) for number in varied)]
    connection.execute(f"CREATE TEMP TABLE {COPIES} AS SELECT {', '.join(columns)}", values)


def _numbered(i: int) -> str:
    return f"number_{i}"


def _copy(connection: duckdb.DuckDBPyConnection, row_type: type[Row], base: str, varied: Sequence[Varied]) -> None:
    """Hide a fact behind its rows of the copies, with their numbers, and of the siblings; one without parts stays."""
    name, source = ddl.quote(row_type.TABLE), stored(connection, row_type.TABLE)
    fields = row_type.model_fields
    if "hardware" in fields:
        same = f"architecture = (SELECT architecture FROM {stored(connection, 'hardware')} WHERE hardware = {ddl.literal(base)})"
        kept = f"hardware IN (SELECT hardware FROM {stored(connection, 'hardware')} WHERE {same})"
        rows = f"SELECT * FROM {source} WHERE hardware = {ddl.literal(base)}{_dropped(row_type, varied)}"
        if row_type.TABLE == ENERGY:
            rows += _derived_energies(varied)
        replaced = ["c.hardware AS hardware", *_replaced(row_type, varied)]
    elif "scope" in fields and connection.execute(f"SELECT 1 FROM {source} WHERE {_of(base)} LIMIT 1").fetchall():
        kept, rows = "TRUE", f"SELECT * FROM {source} WHERE {_of(base)}"
        replaced = ["CONCAT('hardware:', c.hardware) AS scope"]
    else:
        return
    copied = f"SELECT b.* REPLACE ({', '.join(replaced)}) FROM ({rows}) AS b CROSS JOIN {COPIES} AS c"
    connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM {source} LIMIT 0")
    connection.execute(
        f"INSERT INTO temp.{name} BY NAME {copied} UNION ALL BY NAME SELECT * FROM {source} WHERE {kept}"
    )


def _of(base: str) -> str:
    return f"scope = {ddl.literal(f'hardware:{base}')}"


def _replaced(row_type: type[Row], varied: Sequence[Varied]) -> Iterator[str]:
    """Columns of a fact with the numbers of the copies in them, and without what a stated number of before was derived beside."""
    columns: dict[str, list[str]] = {}
    for i, number in enumerate(varied):
        if number.table != row_type.TABLE:
            continue
        row = _row(number)
        columns.setdefault(number.column, []).append(f"WHEN {row} THEN c.{_numbered(i)}")
        kept = restate.kept_in(number.table, number.column)
        if kept is not None:
            columns.setdefault(kept, []).append(f"WHEN {row} THEN NULL")
    for column, cases in columns.items():
        yield f"CASE {' '.join(cases)} ELSE b.{ddl.quote(column)} END AS {ddl.quote(column)}"


def _row(number: Varied) -> str:
    tests = [f"b.{ddl.quote(name)} = {ddl.literal(value)}" for name, value in number.key if name != "hardware"]
    return " AND ".join(tests) or "TRUE"


def _dropped(row_type: type[Row], varied: Sequence[Varied]) -> str:
    """Condition that leaves out what was kept of numbers that are stated anew."""
    if row_type.TABLE != restate.RESTATED:
        return ""
    fields = [
        ddl.literal(restate.place(number.table, [value for _, value in number.key], number.column))
        for number in varied
        if restate.kept_in(number.table, number.column) is not None
    ]
    return f" AND field NOT IN ({', '.join(fields)})" if fields else ""


def _derived_energies(varied: Sequence[Varied]) -> str:
    """Rows of energies that follow from rules, where the copies state them."""
    keys = [tuple(ddl.literal(value) for _, value in number.key) for number in varied if number.table == ENERGY]
    listed = ", ".join(f"({', '.join(key)})" for key in keys)
    tail = f" UNION ALL BY NAME SELECT * EXCLUDE (is_stated) FROM part_energy WHERE NOT is_stated AND (hardware, what, key) IN ({listed})"
    return tail if keys else ""
