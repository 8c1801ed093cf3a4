"""Fits the shipped bands of single predictions, on runs that the other fits did not use.

The database contains the measured runs and their models. The scope of a band is its evidence: `hardware:X` for a part that was
measured under the backend, `family:X` for other parts of a measured family, `*` for a backend or family without measurements.
Runs of parts without efficiencies of their own under the backend, predicted from their family's rows and their datasheet, give
`family:X`, together with runs of parts that the family's fit did not use, predicted without the part's rows. Each of the former parts
with enough rows also gets a band `hardware:X`. All runs, predicted from the assumed efficiencies alone, give `*`. Each cell (data set,
part, model, precision, batch class) weighs the same, in `family:X` each part, in `*` each family and backend.

A band is fitted to its coverage of rows left out: the rows of each part, model, or family and backend against the band of the
others. Both percentiles are raised to one power until the band covers four fifths of those rows. If no power does, the scope gets
no band, and the next scope applies. Every batch class with enough rows also gets a band of its own. At most `DRAWN_ROWS` runs of
a part under a backend are used.

Parts with rows of their own (`timm`) keep the bands of their fit, with model families left out.
"""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl

from charz.hardware_catalog.calibration import errors, validation
from charz.hardware_catalog.calibration.kernels import Floats
from charz.hardware_catalog.calibration.questions import MEASURED, SCORED
from charz.hardware_catalog.calibration.rows import FittedRows, shared_rows
from charz.schema import ddl
from charz.schema.catalog.efficiency import PredictionBand
from charz.schema.errors import CharzError

from . import live, timm

SOURCE_ID = "charz_latency_band"
POWERS = np.linspace(0.5, 3.0, 51)
_LEAST_ROWS = 12
_LEAST_ROWS_OF_A_PART = 24
_TOLERANCE = 0.08
_NOMINAL = 0.8
DRAWN_ROWS = 120
"""Number of runs that suffice for a part under a backend. If there are more, a fixed sample is drawn."""

DRAWN = f"""
    x.measurement_id IN (
        SELECT measurement_id
        FROM (
            SELECT x.measurement_id, ROW_NUMBER() OVER (
                PARTITION BY x.hardware, x.backend ORDER BY MD5(CAST(x.measurement_id AS VARCHAR)), x.measurement_id
            ) AS place
            FROM {MEASURED}
            WHERE {SCORED} AND x.hardware IS NOT NULL AND x.latency_s > 0 AND x.batch IS NOT NULL AND x.device_count = 1
        )
        WHERE place <= {DRAWN_ROWS}
    )"""
"""Condition that selects drawn rows of `measurement` (alias `x`)."""


def fit(connection: duckdb.DuckDBPyConnection) -> FittedRows:
    """Fit a band for each scope with enough measured runs. Raise `CharzError` if no scope has enough."""
    shipped = live.tables()
    unseen = residuals(connection, shipped)
    found = []
    of_parts = unseen.with_columns(weight=pl.col("weight") / pl.col("weight").sum().over("hardware", "backend"))
    for _, group in of_parts.group_by("family", "backend"):
        scope = f"family:{group['family'][0]}"
        found += by_class(group, scope, group["backend"][0], "hardware")
    for (part, backend), group in unseen.filter(~pl.col("has_own_rows")).group_by("hardware", "backend"):
        if len(group) >= _LEAST_ROWS_OF_A_PART:
            found += by_class(group, f"hardware:{part}", str(backend), "model")
    found += [band for band in by_class(unknown(connection, shipped), "*", "*", "cell") if band["batch_class"] == "*"]
    if not found:
        raise _too_few(len(unseen))
    report = pl.DataFrame(found).sort("scope", "backend", "batch_class")
    bands = [PredictionBand(**row) for row in report.select(list(PredictionBand.model_fields)).iter_rows(named=True)]
    return FittedRows(bands=bands, report=report)


def _too_few(count: int) -> CharzError:
    return CharzError(
        "too few measured rows for a band", "parts without rows of their own", f"{count} of ingested models",
        "import measurements of several parts and ingest their models",
    )  # fmt: skip


def residuals(connection: duckdb.DuckDBPyConnection, shipped: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Compute measured over predicted time of the runs on parts without fitted rows under the backend, and of those on parts whose
    rows the family's fit did not use, without these rows."""
    fitted = pl.concat(
        rows.filter(pl.col("scope").str.starts_with("hardware:") & (pl.col("backend") != "*"))
        .select(pl.col("scope").str.strip_prefix("hardware:").alias("hardware"), "backend")
        .unique()
        # A fit that adds nothing to the rows of its family, which used the part too, leaves only a band.
        for rows in (shipped["efficiency"], shipped["prediction_band"].filter(confidence="measured"))
    ).unique()
    # Other runs are not predicted: most measured runs are of the few parts with fits of their own.
    pairs = _pairs(fitted)
    others = f"({DRAWN}) AND (x.hardware, x.backend) NOT IN ({pairs})" if pairs else DRAWN
    apart = fitted.filter(~pl.col("hardware").is_in([*timm.GPUS, *timm.CPUS]))
    chosen = _pairs(apart)
    frame = validation.predicted(connection, others, overrides=shipped).with_columns(has_own_rows=False)
    if chosen:
        family = shared_rows(shipped["efficiency"])
        left_out = f"({DRAWN}) AND (x.hardware, x.backend) IN ({chosen})"
        alone = validation.predicted(connection, left_out, efficiency=family, overrides={**shipped, "efficiency": family})
        frame = pl.concat([frame, alone.with_columns(has_own_rows=True)], how="diagonal")
    if not len(frame):
        raise _too_few(0)
    return _weighed(frame, shipped)


def _pairs(parts: pl.DataFrame) -> str:
    """Write the pairs of part and backend as a list in SQL."""
    return ", ".join(f"({ddl.literal(part)}, {ddl.literal(backend)})" for part, backend in parts.sort("hardware").rows())


def unknown(connection: duckdb.DuckDBPyConnection, shipped: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Compute measured over predicted time of runs under assumed efficiencies; `cell` names family and backend."""
    assumed = shared_rows(shipped["efficiency"]).filter(pl.col("confidence") == "assumed")
    frame = validation.predicted(connection, DRAWN, efficiency=assumed, overrides={**shipped, "efficiency": assumed})
    rows = _weighed(frame, shipped)
    return rows.with_columns(weight=pl.col("weight") / pl.col("weight").sum().over("cell"))


def _weighed(frame: pl.DataFrame, shipped: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Add `residual`, `weight` and `cell`, the family and backend, to the rows."""
    families = shipped["hardware"].select("hardware", "family")
    scored = errors.with_log_ratio(frame).join(families, on="hardware")
    scored = scored.with_columns(
        residual=-pl.col(errors.LOG_RATIO),
        batch_class=errors.batch_class(),
        cell=pl.concat_str("family", pl.lit("."), "backend"),
    )
    alike = ["source_id", "hardware", "backend", "model", "precision", "batch_class"]
    return scored.with_columns(weight=1.0 / pl.len().over(alike))


def by_class(rows: pl.DataFrame, scope: str, backend: str, left_out: str) -> list[dict[str, object]]:
    """List the bands of a scope: one for all batch classes, and one for each with enough rows; the values of column `left_out`
    are left out in turn."""
    found = []
    for name in ("*", *sorted(rows["batch_class"].unique())):
        group = rows if name == "*" else rows.filter(pl.col("batch_class") == name)
        if (band := fitted(group, left_out)) is not None:
            found.append({"scope": scope, "backend": backend, "batch_class": name, "quantity": "latency", **band})
    return found


def fitted(rows: pl.DataFrame, left_out: str = "hardware") -> dict[str, object] | None:
    """Fit the band of one scope. Return None for too few rows or groups to leave out, and if no power covers the rows left out."""
    if len(rows) < _LEAST_ROWS or rows[left_out].n_unique() < 2:
        return None
    covered = left_out_coverage(rows, POWERS, left_out)
    best = int(np.argmin(np.abs(np.array(covered) - _NOMINAL)))
    if abs(covered[best] - _NOMINAL) > _TOLERANCE:
        return None
    power = float(POWERS[best])
    low, high = quantiles(rows)
    return {
        "low_factor": float(np.exp(power * low)), "high_factor": float(np.exp(power * high)),
        "median_error_fraction": float(np.median(np.abs(np.expm1(-rows["residual"].to_numpy())))), "row_count": len(rows),
        "part_count": rows["hardware"].n_unique(), "parts": None, "source_id": SOURCE_ID, "confidence": "derived", "power": power,
        "coverage": float(covered[best]),
        "coverage_as_is": float(left_out_coverage(rows, np.ones(1), left_out)[0]),
        "width": float(np.exp(power * (high - low))),
    }  # fmt: skip


def left_out_coverage(rows: pl.DataFrame, powers: Floats, left_out: str = "hardware") -> Floats:
    """Compute for each power the share of rows inside the band of the other groups, with both ends raised to that power."""
    _, group = np.unique(rows[left_out].to_numpy(), return_inverse=True)
    residual, weight = rows["residual"].to_numpy(), rows["weight"].to_numpy()
    low, high = np.array([_quantiles(residual[group != i], weight[group != i]) for i in range(group.max() + 1)])[
        group
    ].T
    inside = (residual >= powers[:, None] * low) & (residual <= powers[:, None] * high)
    return inside @ weight / weight.sum()


def quantiles(rows: pl.DataFrame) -> tuple[float, float]:
    """Compute the weighted tenth and ninetieth percentile of the residuals, never both on one side of zero."""
    return _quantiles(rows["residual"].to_numpy(), rows["weight"].to_numpy())


def _quantiles(residual: Floats, weight: Floats) -> tuple[float, float]:
    order = np.argsort(residual, kind="stable")
    ordered = weight[order]
    share = (np.cumsum(ordered) - ordered / 2) / ordered.sum()
    low, high = np.interp([(1 - _NOMINAL) / 2, (1 + _NOMINAL) / 2], share, residual[order])
    return min(float(low), -0.02), max(float(high), 0.02)
