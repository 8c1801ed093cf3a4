"""Error of predicted latency against timm's measured rows, from the SQL views alone.

    python -m benchmarks.score_timm DATABASE [--sample 0.2] [--hardware rtx4090] [--worst 10]

The database holds ingested timm models and the measurements (`benchmarks/ingest_timm.py` makes one);
catalog tables and views are those of the source tree.
PyTorch 1.13 files are scored apart: they differ from later ones by more than a tenth.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import page
from charz.hardware_catalog.calibration import errors, validation
from charz.hardware_catalog.calibration.rows import shared_rows
from charz.hardware_catalog.calibration.shipped import live
from charz.hardware_catalog.calibration.workbench import Workbench, measured_cases
from charz.session import workspace

CELL = ["hardware", "backend", "memory_format", "software"]


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--sample", type=float, default=1.0, help="share of the models, by a fixed hash")
    parser.add_argument("--hardware", nargs="*", default=["rtx3090", "rtx4090", "i9_10940x"])
    parser.add_argument("--software", nargs="*", default=None, help="e.g. pt240 pt291; default all but pt113")
    parser.add_argument("--worst", type=int, default=12)
    parser.add_argument("--models", default=None, help="SQL pattern of model names, e.g. 'timm:resnet%%'")
    parser.add_argument("--family-only", action="store_true", help="leave out efficiency rows fitted to single parts")
    parser.add_argument("--families", action="store_true", help="score by architecture family too")
    return parser.parse_args()


def cases(connection: duckdb.DuckDBPyConnection, options: argparse.Namespace) -> pl.DataFrame:
    """Measured timm rows the options ask for."""
    parts = ", ".join(f"'{h}'" for h in options.hardware)
    where = f"x.source_id LIKE 'timm:%' AND x.hardware IN ({parts}) AND x.software <> 'pt113'"
    if options.software:
        where += f" AND x.software IN ({', '.join(repr(s) for s in options.software)})"
    if options.models:
        where += f" AND m.model LIKE '{options.models}'"
    # The same models at every call.
    where += f" AND hash(m.model) % 1000 < {options.sample * 1000}"
    return measured_cases(connection, where)


def main() -> None:
    """Print the tables."""
    options = arguments()
    page.print_wide()
    start = time.perf_counter()
    connection = workspace.read(options.database)
    wanted = cases(connection, options)
    print(f"{len(wanted)} rows of {wanted['model'].n_unique()} models, {time.perf_counter() - start:.1f} s")
    tables = live.tables()
    if options.family_only:
        tables["efficiency"] = shared_rows(tables["efficiency"])
    with Workbench(connection, wanted, overrides=tables) as bench:
        predicted = bench.predict(validation.COLUMNS)
        print(f"predicted after {time.perf_counter() - start:.1f} s")
        print(errors.table(predicted, CELL))
        if options.families:
            print(
                errors.table(predicted, ["hardware", "backend", "architecture_family"])
                .filter(pl.col("rows") >= 10)
                .sort("median_error")
            )
        print_worst(predicted, options.worst)
        print_classes(bench)
    print(f"{time.perf_counter() - start:.1f} s")


def print_worst(predicted: pl.DataFrame, count: int) -> None:
    """The worst rows of each cell's part and backend, with where the predicted time goes."""
    for (hardware, backend), group in predicted.group_by(["hardware", "backend"], maintain_order=True):
        print(f"worst on {hardware} {backend}")
        print(
            errors.worst(group, count).select(
                "model", "memory_format", "software", "batch", "log_ratio",
                measured_ms=pl.col("measured_s") * 1e3, predicted_ms=pl.col("latency_s") * 1e3,
                compute=pl.col("compute_s") / pl.col("latency_s"), memory=pl.col("memory_s") / pl.col("latency_s"),
                power=pl.col("power_s") / pl.col("latency_s"), overhead=pl.col("overhead_s") / pl.col("latency_s"),
                kernels=pl.col("kernel_count"),
            )
        )  # fmt: skip


def print_classes(bench: Workbench) -> None:
    """Share of predicted time by kernel class, and by what bounds it."""
    shares = bench.sql(
        """
        SELECT k.hardware, k.backend, k.kernel_class, COUNT(*) AS kernels, SUM(k.latency_s) AS latency_s,
            SUM(k.latency_s) FILTER (WHERE k.compute_s >= k.memory_s) / SUM(k.latency_s) AS compute_bound,
            SUM(k.latency_s) FILTER (WHERE k.is_power_bound) / SUM(k.latency_s) AS power_bound
        FROM kernel_time AS k
        GROUP BY ALL
        """
    )
    share = pl.col("latency_s") / pl.col("latency_s").sum().over("hardware", "backend")
    print(
        shares.with_columns(share=share)
        .drop("latency_s")
        .filter(pl.col("share") > 0.005)
        .sort("hardware", "backend", "share", descending=True)
    )


if __name__ == "__main__":
    main()
