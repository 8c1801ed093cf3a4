"""Area of dice and power at rest: predictions of the silicon rules against stated figures."""

from __future__ import annotations

import polars as pl

from benchmarks.study import Given


def dice(given: Given) -> pl.DataFrame:
    """Predict the area of each published die, for the part that represents it."""
    return _asked(given, "h.family", "printed_mm2", "ruled_mm2", "die_check", "WHERE stands_for_die")


def rest(given: Given) -> pl.DataFrame:
    """Predict power at rest, for parts with a stated or measured figure."""
    return _asked(given, "c.state", "stated_w", "ruled_w", "rest_check", "")


def _asked(given: Given, family: str, measured: str, predicted: str, view: str, where: str) -> pl.DataFrame:
    query = f"""
        SELECT hardware, '-' AS backend, {family} AS family, {measured} AS measured, {predicted} AS predicted
        FROM {view} AS c JOIN hardware AS h USING (hardware) {where}
    """
    with given.connection() as connection:
        return connection.sql(query).pl().with_columns(standing=pl.lit("fits saw part"))
