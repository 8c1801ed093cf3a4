"""Fits the constants of a collective call to NCCL's timings in aiconfigurator-core.

The three fractions of `collective`, whose class gives the formula, minimize the mean |log ratio| over parts with NVLink. Latency
and bandwidth of the link are those of the catalog. Parts, collectives, sizes and counts of devices weigh the same.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from charz.hardware_catalog.calibration.rows import FittedRows
from charz.schema.catalog.devices import Collective

from . import aiconfigurator, live

LINK = "nvlink"
FRACTIONS = ("call_fraction", "step_fraction", "bandwidth_fraction")


def fit(connection: duckdb.DuckDBPyConnection, package: Path | None = None) -> FittedRows:
    """Fit the link's row of `collective`, without reading the database. Raise `CharzError` if the package is missing."""
    from scipy.optimize import minimize

    shipped = live.tables()
    measured = timings(package, shipped["hardware_interconnect"])
    row = shipped["collective"].row(by_predicate=pl.col("interconnect") == LINK, named=True)

    def error(logarithms: np.ndarray) -> float:
        return float(np.mean(np.abs(log_ratio(measured, *np.exp(logarithms)))))

    first = np.log([row[name] for name in FRACTIONS])
    found = minimize(error, first, method="Nelder-Mead").x
    fractions = {name: float(f"{value:.3g}") for name, value in zip(FRACTIONS, np.exp(found), strict=True)}
    report = pl.DataFrame({**fractions, "mean_error_before": error(first), "mean_error": error(found)})
    return FittedRows(constants=[Collective(**{**row, **fractions})], report=report)


def timings(package: Path | None, links: pl.DataFrame) -> pl.DataFrame:
    """Read measured collectives, the median over versions, with the part's link and the ring's `steps` and `share`."""
    connection = duckdb.connect()
    aiconfigurator.relation(connection, aiconfigurator.data_root(package), "nccl").create_view("timing")
    connection.register("link", links.to_arrow())
    return connection.sql(
        """
        SELECT t.hardware, t.op_name, t.num_gpus AS n, l.latency_s AS link_s, l.bandwidth_byte_per_s,
            t.message_size * CASE t.precision WHEN 'fp16' THEN 2 ELSE 1 END AS byte,
            (t.num_gpus - 1) * CASE t.op_name WHEN 'all_reduce' THEN 2 ELSE 1 END AS steps,
            steps / t.num_gpus AS share, median(t.latency_s) AS measured_s
        FROM timing AS t
        JOIN link AS l ON l.hardware = t.hardware AND l.interconnect = $link
        GROUP BY ALL
        ORDER BY ALL
        """,
        params={"link": LINK},
    ).pl()


def log_ratio(measured: pl.DataFrame, call: float, step: float, fraction: float) -> np.ndarray:
    """Compute the logarithm of predicted over measured time."""
    latency = pl.col("link_s") * (call + step * pl.col("steps"))
    transfer = pl.col("share") * pl.col("byte") / (fraction * pl.col("bandwidth_byte_per_s"))
    return measured.select(((latency + transfer) / pl.col("measured_s")).log()).to_series().to_numpy()
