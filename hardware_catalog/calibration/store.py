"""Writing of fitted rows into a database, in addition to those of the shipped catalog."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from charz.schema import database
from charz.schema.catalog.efficiency import Efficiency, PredictionBand
from charz.schema.catalog.source import Source

from .rows import FittedRows

FIRST_OWN_ID = 1_000_000
"""Least `efficiency_id` of a row fitted in a database: lower ones are the shipped catalog's, also in later versions."""


def numbered(rows: Iterable[Efficiency], taken: Iterable[int], first: int = 1) -> list[Efficiency]:
    """Number the rows above those taken, from `first`."""
    start = max([first - 1, *taken]) + 1
    return [row.model_copy(update={"efficiency_id": start + i}) for i, row in enumerate(rows)]


def replace(connection: duckdb.DuckDBPyConnection, rows: FittedRows) -> None:
    """Replace the efficiency rows, bands and sources of the same scopes and backends, in the caller's transaction."""
    names = [source.source_id for source in rows.sources]
    connection.execute(f"DELETE FROM {Source.TABLE} WHERE list_contains(?, source_id)", [names])
    places = {(row.scope, row.backend) for row in rows.efficiency} | {(band.scope, band.backend) for band in rows.bands}
    places |= rows.withdrawn
    for table in (Efficiency.TABLE, PredictionBand.TABLE):
        for place in sorted(places):
            connection.execute(f"DELETE FROM {table} WHERE scope = ? AND backend = ?", list(place))
    taken = [number for (number,) in connection.execute(f"SELECT efficiency_id FROM {Efficiency.TABLE}").fetchall()]
    for group in (rows.sources, numbered(rows.efficiency, taken, FIRST_OWN_ID), rows.bands):
        database.insert_rows(connection, group)
