"""Bands of remaining error at batch 1, for parts that no whole-model fit has seen.

    python -m benchmarks.fit_bands DATABASE [--tables hardware_catalog/tables] [--write]

DATABASE holds measurements of several sources and parts and their models. A band is the tenth and ninetieth
percentile of measured over predicted time at batch 1, of all parts of a family under one backend, each
(source, part, model, precision) weighing the same. It is set by what it covers when left out: each part's rows
against the band of the other parts. The band is widened or narrowed (both percentiles to one power) until it
covers four fifths of those.

Parts with rows of their own are left out, as are rows of timm, which have their fit (`benchmarks.fit_timm`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from benchmarks import catalog, page
from charz.ingest.measurements import catalog_csv, score, validation
from charz.schema.catalog import PredictionBand

SOURCE_ID = "charz_latency_band"
POWERS = np.linspace(0.5, 3.0, 51)
_LEAST_ROWS = 12
_NOMINAL = 0.8


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--tables", type=Path, default=Path("hardware_catalog/tables"))
    parser.add_argument("--write", action="store_true", help="replace these rows of prediction_band.csv")
    return parser.parse_args()


def main() -> None:
    """Print the bands and what they cover; write them."""
    options = arguments()
    page.print_wide()
    rows = residuals(options.database)
    found = pl.DataFrame([band for _, group in rows.group_by("family", "backend") if (band := fitted(group))])
    print(found.sort("scope", "backend"))
    if options.write:
        fields = list(PredictionBand.model_fields)
        bands = [PredictionBand(**row) for row in found.sort("scope", "backend").select(fields).to_dicts()]
        catalog_csv.replace_rows(options.tables, [], bands, [])


def residuals(database: Path) -> pl.DataFrame:
    """Measured over predicted time of the batch-1 rows, with the family of the part."""
    frame = validation.predicted(
        database,
        "x.mode IN ('run', 'single_stream') AND x.source_id NOT LIKE 'timm:%'",
        overrides=catalog.tables(),
    )
    with duckdb.connect(str(database), read_only=True) as connection:
        families = connection.sql("SELECT hardware, family FROM hardware").pl()
    cell = ["source_id", "hardware", "model", "precision"]
    return (
        score.with_log_ratio(frame.filter(pl.col("batch") == 1))
        .join(families, on="hardware")
        .with_columns(residual=-pl.col(score.LOG_RATIO), weight=1.0 / pl.len().over("family", "backend", *cell))
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


if __name__ == "__main__":
    main()
