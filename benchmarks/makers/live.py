"""Shipped catalog as frames, independent of the catalog of a database."""

from __future__ import annotations

import polars as pl

from charz.hardware_catalog import loader
from charz.ingest.measurements import store
from charz.schema.scenario import Scenario


def tables() -> dict[str, pl.DataFrame]:
    """Return every table except scenarios, by name."""
    return {
        row_type.TABLE: store.conform(
            pl.DataFrame([row.model_dump() for row in rows], infer_schema_length=None), row_type
        )
        for row_type, rows in loader.load().rows.items()
        if rows and row_type is not Scenario
    }
