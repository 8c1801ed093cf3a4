"""Bands of remaining error at batch 1, for parts that no whole-model fit has seen.

The database holds measurements of several sources and parts and their models. A band is the tenth and ninetieth
percentile of measured over predicted time at batch 1, of all parts of a family under one backend, each
(source, part, model, precision) weighing the same. It is set by what it covers when left out: each part's rows
against the band of the other parts. The band is widened or narrowed (both percentiles to one power) until it
covers four fifths of those.

Parts with rows of their own are left out, as are rows of timm, which have their fit (`timm`).
"""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl

from charz.schema.catalog import PredictionBand
from charz.schema.errors import CharzError

from .. import errors, validation
from ..rows import FittedRows
from . import live

SOURCE_ID = "charz_latency_band"
POWERS = np.linspace(0.5, 3.0, 51)
_LEAST_ROWS = 12
_NOMINAL = 0.8


def fit(connection: duckdb.DuckDBPyConnection) -> FittedRows:
    """A band of each family and backend with enough measured runs. Raises `CharzError` where there is none."""
    rows = residuals(connection)
    found = [band for _, group in rows.group_by("family", "backend") if (band := fitted(group))]
    if not found:
        raise _too_few(len(rows))
    report = pl.DataFrame(found).sort("scope", "backend")
    bands = [PredictionBand(**row) for row in report.select(list(PredictionBand.model_fields)).iter_rows(named=True)]
    return FittedRows(bands=bands, report=report)


def _too_few(count: int) -> CharzError:
    return CharzError(
        "too few measured rows for a band", "batch 1, other than timm's", f"{count} of ingested models",
        "import measurements of several parts and ingest their models",
    )  # fmt: skip


def residuals(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Measured over predicted time of the batch-1 rows, with the family of the part."""
    shipped = live.tables()
    frame = validation.predicted(
        connection,
        "x.mode IN ('run', 'single_stream') AND x.source_id NOT LIKE 'timm:%'",
        overrides=shipped,
    )
    if not len(frame):
        raise _too_few(0)
    families = shipped["hardware"].select("hardware", "family")
    cell = ["source_id", "hardware", "model", "precision"]
    return (
        errors.with_log_ratio(frame.filter(pl.col("batch") == 1))
        .join(families, on="hardware")
        .with_columns(residual=-pl.col(errors.LOG_RATIO), weight=1.0 / pl.len().over("family", "backend", *cell))
    )


def fitted(rows: pl.DataFrame) -> dict[str, object] | None:
    """Band of one family and backend; None with too few rows or groups to leave out."""
    if len(rows) < _LEAST_ROWS or rows["hardware"].n_unique() < 2:
        return None
    covered = [left_out_coverage(rows, power) for power in POWERS]
    power = float(POWERS[int(np.argmin(np.abs(np.array(covered) - _NOMINAL)))])
    low, high = quantiles(rows)
    return {
        "scope": f"family:{rows['family'][0]}", "backend": rows["backend"][0], "batch_class": "1", "quantity": "latency",
        "low_factor": float(np.exp(power * low)), "high_factor": float(np.exp(power * high)), "row_count": len(rows),
        "source_id": SOURCE_ID, "confidence": "derived", "power": power,
        "coverage": left_out_coverage(rows, power), "coverage_as_is": left_out_coverage(rows, 1.0),
    }  # fmt: skip


def left_out_coverage(rows: pl.DataFrame, power: float) -> float:
    """Share of rows inside the band of the other parts' rows."""
    inside = 0.0
    for (part,), group in rows.group_by("hardware"):
        low, high = quantiles(rows.filter(pl.col("hardware") != part))
        inside += float(group.filter(pl.col("residual").is_between(power * low, power * high))["weight"].sum())
    return inside / float(rows["weight"].sum())


def quantiles(rows: pl.DataFrame) -> tuple[float, float]:
    """Weighted tenth and ninetieth percentile of the residuals, never both on one side of zero."""
    ordered = rows.sort("residual")
    share = (ordered["weight"].cum_sum() - ordered["weight"] / 2) / ordered["weight"].sum()
    low, high = np.interp([(1 - _NOMINAL) / 2, (1 + _NOMINAL) / 2], share, ordered["residual"])
    return min(float(low), -0.02), max(float(high), 0.02)
