"""Stated numbers that follow others: what the rules gave when they were stated, kept beside them.

A peak moves with units and clock in proportion, and is what its document says as long as they are. So its row keeps the
product of then (`Row.RATIO_TO`). A client that states a number anew cannot be made to write that column too: a trigger
keeps the product in `restated_number`, which wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb

from charz.schema import database, ddl
from charz.schema.row import Row

RESTATED = "restated_number"
DERIVED = "derived_number"
"""View of what the rules give."""


def ratios() -> Iterator[tuple[type[Row], str, str]]:
    """Tables with a stated column that follows others, and the column that keeps what was derived."""
    for table in database.TABLES:
        for stated, derived in table.RATIO_TO.items():
            yield table, stated, derived


def field(table: type[Row], column: str, alias: str) -> str:
    """SQL of the place of a number in `hardware_value`, of a row."""
    keys = ", '.', ".join(f"{alias}.{ddl.quote(key)}" for key in table.KEY[1:])
    return f"CONCAT('{table.TABLE.removeprefix('hardware_')}.', {keys}, '.{column}')"


def place(table: str, key: Sequence[str], column: str) -> str:
    """Place of a number in `hardware_value`, by the key of its row, the part first."""
    return ".".join((table.removeprefix("hardware_"), *key[1:], column))


def kept_in(table: str, column: str) -> str | None:
    """Column that keeps what was derived when a number was stated; None of one that follows from nothing."""
    return next((kept for found, stated, kept in ratios() if (found.TABLE, stated) == (table, column)), None)


def settle(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep beside each stated number that has nothing yet what the rules give for it now; nothing without the rules."""
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
    """Statement of the places whose number a client stated anew, or took away, of a trigger with these transition tables."""
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
