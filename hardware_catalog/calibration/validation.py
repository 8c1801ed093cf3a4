"""Comparison of the installed catalog's predictions with every measured run that can be scored."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl

from charz.schema.errors import CharzError
from charz.sql import PACES

from . import errors
from .kernels import Floats
from .questions import CELLS, SCORED
from .rows import shared_rows
from .workbench import Workbench, measured_cases

COLUMNS = (
    "latency_s",
    *PACES.values(),
    "device_s",
    "host_issue_s",
    "kernel_count",
    "macs",
)
"""Columns read from `model_cost`."""

_DISPATCHED_ALONE = pl.col("backend").is_in(["eager", "inductor"])
"""Backends that issue kernels one by one from Python."""

_HOST_FACTORS = np.exp(np.linspace(np.log(0.2), np.log(20.0), 93))


def validate(connection: duckdb.DuckDBPyConnection, where: str = SCORED, is_family_only: bool = False) -> pl.DataFrame:
    """Predict measured runs, with bands; `is_family_only` leaves out efficiencies fitted to single parts.

    Raises `CharzError` if no measured run can be scored.
    """
    efficiency = connection.sql("SELECT * FROM efficiency").pl()
    if is_family_only:
        efficiency = shared_rows(efficiency)
    frame = predicted(connection, where, efficiency=efficiency)
    if not len(frame):
        raise CharzError("no measured run can be scored", next="import measurements and ingest their models")
    return frame


def score(frame: pl.DataFrame, by: str, least_rows: int = 1) -> pl.DataFrame:
    """Score each cell of a breakdown that has enough rows; see `errors.table`. Raises `CharzError` for a name that is not in `CELLS`."""
    if by not in CELLS:
        raise CharzError("unknown breakdown", by, f"there are {', '.join(CELLS)}")
    return errors.table(frame, CELLS[by]).filter(pl.col("rows") >= least_rows)


def worst(frame: pl.DataFrame, count: int) -> pl.DataFrame:
    """Return the runs with the largest errors, the worst first, each with the reason in `why`."""
    found = errors.worst(frame, count)
    return found.with_columns(why=pl.Series([explain(row) for row in found.iter_rows(named=True)], dtype=pl.String))


def predicted(
    connection: duckdb.DuckDBPyConnection,
    where: str = SCORED,
    host_factor_by_source: bool = True,
    efficiency: pl.DataFrame | None = None,
    overrides: dict[str, pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """Predict measured runs, with bands. `efficiency` replaces the database's efficiency rows, `overrides` whole tables by name.

    With `host_factor_by_source`, the rows of each data set share one factor on the host's dispatch time, chosen on rows that wait for
    the host: labs' hosts differ, and no row names its host. `unfitted_s` is the time without the factor.
    """
    cases = measured_cases(connection, where)
    if not len(cases):
        return cases
    first = _predict(connection, cases, efficiency, overrides)
    unfitted = first["latency_s"]
    if host_factor_by_source:
        chosen = host_factors(first)
        if len(chosen):
            cases = (
                cases.drop("host_factor")
                .join(chosen, on="source_id", how="left")
                .with_columns(pl.col("host_factor").fill_null(1.0))
            )
            first = _predict(connection, cases, efficiency, overrides)
    return with_bands(connection, first.with_columns(unfitted_s=unfitted), overrides)


def _predict(
    connection: duckdb.DuckDBPyConnection,
    cases: pl.DataFrame,
    efficiency: pl.DataFrame | None,
    overrides: dict[str, pl.DataFrame] | None,
) -> pl.DataFrame:
    with Workbench(connection, cases, efficiency, overrides) as bench:
        return bench.predict(COLUMNS)


def queued_s(device_s: Floats, host_s: Floats, kernel_count: Floats) -> Floats:
    """Return the time of runs whose device works while the host issues: the last kernel follows the last call. [s]"""
    return np.maximum(device_s, host_s + device_s / np.maximum(kernel_count, 1))


def host_factors(frame: pl.DataFrame) -> pl.DataFrame:
    """Choose a factor for each source (`source_id, host_factor`): the one with the least mean |log ratio| over the source's host-bound
    rows, at batch 1 if there are any; a median of few rows would jump.

    A row counts if the host's time adds to the device's or exceeds it; a source without such rows keeps 1.
    """
    rows = []
    added = (pl.col("latency_s") - pl.col("device_s") - pl.col("host_issue_s")).abs() < 1e-3 * pl.col("latency_s")
    small = frame.with_columns(is_serial=added).filter(
        _DISPATCHED_ALONE & (pl.col("is_serial") | (pl.col("host_issue_s") > pl.col("device_s")))
    )
    for (source,), rows_of in small.group_by("source_id"):
        alone = rows_of.filter(pl.col("batch") == 1)
        group = alone if len(alone) else rows_of
        device, host, measured = (group[c].to_numpy() for c in ("device_s", "host_issue_s", "measured_s"))
        kernel_count = group["kernel_count"].to_numpy()
        serial = group["is_serial"].to_numpy()
        misses = [
            np.mean(np.abs(np.log(np.where(serial, device + f * host, queued_s(device, f * host, kernel_count)) / measured)))
            for f in _HOST_FACTORS
        ]
        rows.append((source, float(_HOST_FACTORS[int(np.argmin(misses))])))
    return pl.DataFrame(rows, schema={"source_id": pl.String, "host_factor": pl.Float64}, orient="row")


def with_bands(
    connection: duckdb.DuckDBPyConnection, frame: pl.DataFrame, overrides: dict[str, pl.DataFrame] | None = None
) -> pl.DataFrame:
    """Add the columns `p10_s` and `p90_s`."""
    with Workbench(connection, frame.unique("hardware"), overrides=overrides) as bench:
        bands = bench.sql(
            "SELECT hardware, backend, batch_class, low_factor, high_factor FROM part_band WHERE quantity = 'latency'"
        )
    return (
        frame.with_columns(batch_class=errors.batch_class())
        .join(bands, on=["hardware", "backend", "batch_class"], how="left")
        .with_columns(
            p10_s=pl.col("latency_s") * pl.col("low_factor"), p90_s=pl.col("latency_s") * pl.col("high_factor")
        )
        .drop("low_factor", "high_factor")
    )


def explain(row: dict[str, object]) -> str:
    """Describe the shares of a row's predicted time."""
    shares = {n: float(str(row[column])) / float(str(row["latency_s"])) for n, column in PACES.items()}
    parts = [f"{share:.0%} {name}" for name, share in sorted(shares.items(), key=lambda x: -x[1]) if share > 0.05]
    side = "too slow" if float(str(row["log_ratio"])) > 0 else "too fast"
    return f"predicted {side}: {', '.join(parts)} over {row['kernel_count']} kernels"
