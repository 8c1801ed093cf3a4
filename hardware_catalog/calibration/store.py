"""Fitted rows into a database, beside those of the shipped catalog."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from charz.schema import database
from charz.schema.catalog import Efficiency, PredictionBand, Source

from .rows import FittedRows

FIRST_OWN_ID = 1_000_000
"""Least `efficiency_id` of a row that is fitted into a database: those below are the shipped catalog's, also of later
versions."""


def numbered(rows: Iterable[Efficiency], taken: Iterable[int], first: int = 1) -> list[Efficiency]:
    """The rows with numbers above those taken, `first` and more."""
    start = max([first - 1, *taken]) + 1
    return [row.model_copy(update={"efficiency_id": start + i}) for i, row in enumerate(rows)]


def replace(connection: duckdb.DuckDBPyConnection, rows: FittedRows) -> None:
    """Put the efficiency rows, bands and sources in place of those of the same scopes and backends, in the caller's
    transaction."""
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
