"""Writing of fitted rows into a database, in addition to those of the shipped catalog."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from charz.schema import database
from charz.schema.catalog.efficiency import FIRST_OF_CLIENTS, FIRST_OWN_ID, Efficiency, PredictionBand
from charz.schema.catalog.source import Source

from .rows import FittedRows


def numbered(rows: Iterable[Efficiency], taken: Iterable[int], first: int = 1) -> list[Efficiency]:
    """Number the rows above those taken, from `first`."""
    start = max([first - 1, *taken]) + 1
    return [row.model_copy(update={"efficiency_id": start + i}) for i, row in enumerate(rows)]


def taken(connection: duckdb.DuckDBPyConnection) -> list[int]:
    """Return the numbers of the efficiency rows that no client numbered."""
    query = f"SELECT efficiency_id FROM {Efficiency.TABLE} WHERE efficiency_id < ?"
    return [number for (number,) in connection.execute(query, [FIRST_OF_CLIENTS]).fetchall()]


def replace(connection: duckdb.DuckDBPyConnection, rows: FittedRows) -> None:
    """Replace the efficiency rows, bands and sources of the same scopes and backends, in the caller's transaction."""
    names = [source.source_id for source in rows.sources]
    connection.execute(f"DELETE FROM {Source.TABLE} WHERE list_contains(?, source_id)", [names])
    places = {(row.scope, row.backend) for row in rows.efficiency} | {(band.scope, band.backend) for band in rows.bands}
    places |= rows.withdrawn
    for table in (Efficiency.TABLE, PredictionBand.TABLE):
        for place in sorted(places):
            connection.execute(f"DELETE FROM {table} WHERE scope = ? AND backend = ?", list(place))
    for group in (rows.sources, numbered(rows.efficiency, taken(connection), FIRST_OWN_ID), rows.bands):
        database.insert_rows(connection, group)
