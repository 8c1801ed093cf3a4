"""Stated numbers that scale with other numbers: each is stored with the derived value at the time of the statement.

A peak moves in proportion to units and clock, and equals its document's value while they are unchanged. So its row keeps the product at
that time (`Row.RATIO_TO`). A client that restates a number cannot be made to write that column too: a trigger keeps the product in
`restated_number`, which wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb

from charz.schema import database, ddl
from charz.schema.row import Row

RESTATED = "restated_number"
DERIVED = "derived_number"
"""View of the derived values."""


def ratios() -> Iterator[tuple[type[Row], str, str]]:
    """Yield each table with a stated column that scales with other numbers, the stated column, and the column that stores the derived
    value."""
    for table in database.TABLES:
        for stated, derived in table.RATIO_TO.items():
            yield table, stated, derived


def field(table: type[Row], column: str, alias: str) -> str:
    """Write the SQL expression for the field name of a number in `hardware_value`, from a row `alias`.

    >>> from charz.schema.catalog.part import HardwareMemory
    >>> print(field(HardwareMemory, "bandwidth_byte_per_s", "m"))
    CONCAT('memory.', m."level", '.bandwidth_byte_per_s')
    """
    keys = ", '.', ".join(f"{alias}.{ddl.quote(key)}" for key in table.KEY[1:])
    return f"CONCAT('{table.TABLE.removeprefix('hardware_')}.', {keys}, '.{column}')"


def place(table: str, key: Sequence[str], column: str) -> str:
    """Return the field name of a number in `hardware_value`, from the key of its row, the part first.

    >>> place("hardware_memory", ["a100", "dram"], "bandwidth_byte_per_s")
    'memory.dram.bandwidth_byte_per_s'
    """
    return ".".join((table.removeprefix("hardware_"), *key[1:], column))


def kept_in(table: str, column: str) -> str | None:
    """Return the column that stores the derived value of a stated number; None if the number does not scale with others."""
    return next((kept for found, stated, kept in ratios() if (found.TABLE, stated) == (table, column)), None)


def settle(connection: duckdb.DuckDBPyConnection) -> None:
    """Store the derived value next to each stated number that lacks it; a file without the rules is not changed."""
    known = f"SELECT view_name FROM duckdb_views() WHERE view_name = '{DERIVED}' AND database_name = current_database()"
    if not connection.execute(known).fetchall():
        return
    for table, stated, derived in ratios():
        place = field(table, stated, table.TABLE)
        condition = f"{stated} IS NOT NULL AND {derived} IS NULL"
        query = f"SELECT COUNT(*) FROM {table.TABLE} WHERE {condition}"
        if connection.execute(query).fetchall() != [(0,)]:
            connection.execute(
                f"UPDATE {table.TABLE} SET {derived} = d.value FROM (SELECT hardware, field, value FROM {DERIVED}) AS d"
                f" WHERE d.hardware = {table.TABLE}.hardware AND d.field = {place} AND {condition}"
            )


def changed(table: type[Row], stated: str, derived: str, event: str, old: str, new: str) -> str:
    """Write the query for the fields that a client restated or removed, for a trigger with these transition tables."""
    row = new if event == "INSERT" else old
    query = f"SELECT {row}.hardware, {field(table, stated, row)} AS field FROM {row}"
    if event == "INSERT":
        return f"{query} WHERE {new}.{stated} IS NOT NULL AND {new}.{derived} IS NULL"
    if event == "UPDATE":
        keys = " AND ".join(f"{new}.{ddl.quote(key)} = {old}.{ddl.quote(key)}" for key in table.KEY)
        return (
            f"{query} INNER JOIN {new} ON {keys} WHERE {new}.{stated} IS DISTINCT FROM {old}.{stated}"
            f" AND {new}.{derived} IS NOT DISTINCT FROM {old}.{derived}"
        )
    return query
