"""The rows that a fit writes into the catalog."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from charz.schema.catalog.efficiency import Efficiency, PredictionBand
from charz.schema.catalog.source import Source
from charz.schema.row import Row


@dataclass(slots=True)
class FittedRows:
    """Rows of a fit and their scores, for a database or CSV tables."""

    efficiency: list[Efficiency] = field(default_factory=list)
    bands: list[PredictionBand] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    withdrawn: set[tuple[str, str]] = field(default_factory=set)
    """Scopes and backends whose fitted efficiency rows are removed even without new ones."""
    constants: list[Row] = field(default_factory=list)
    """Rows of other tables; each replaces the one with its key."""
    report: pl.DataFrame = field(default_factory=pl.DataFrame)
    """Scores of the fit."""


def shared_rows(efficiency: pl.DataFrame) -> pl.DataFrame:
    """Select efficiency rows that apply to more than one part."""
    return efficiency.filter(~pl.col("scope").str.starts_with("hardware:"))
