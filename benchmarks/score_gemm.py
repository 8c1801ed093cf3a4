"""Error of predicted matrix products against the timings in aiconfigurator-core.

    python -m benchmarks.score_gemm [DATABASE] [--package DIR] [--rows 1500] [--family-only]

The products run through the same SQL as a network's (`hardware_catalog/calibration/bare.py`); every framework's
timings are scored on their own. Without a database, the shipped catalog is put into a temporary one.
`--family-only` leaves out every efficiency row of a single part: datasheet and family constants alone.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import catalog, page, sampled
from charz.hardware_catalog.calibration import bare, errors
from charz.hardware_catalog.calibration.rows import shared_rows
from charz.hardware_catalog.calibration.shipped import products


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = sampled.parser(__doc__, 1500, "timings a part, framework and version, by a fixed hash")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--family-only", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    options = arguments()
    page.print_wide()
    start = time.perf_counter()
    with catalog.connection(options.database) as connection:
        both = scored(
            connection, options.package, options.hardware, options.rows, options.family_only, options.precision
        )
    print(f"{len(both)} timings of {both.select('m', 'n', 'k').unique().height} shapes")
    print(errors.table(both, ["hardware", "framework", "version"], "device_s"))
    print(errors.table(both, ["hardware"], "device_s"))
    print("versions that no row of the part was fitted on")
    print(errors.table(both.filter(~products.is_fitted()), ["hardware"], "device_s"))
    most = pl.when(pl.col("m") <= 16).then(16).when(pl.col("m") <= 128).then(128).when(pl.col("m") <= 1024).then(1024)
    print(errors.table(both.with_columns(most_m=most.otherwise(32768)), ["hardware", "most_m"], "device_s"))
    print("one version's timings as the prediction of another's")
    print(framework_noise(both))
    columns = [
        "hardware",
        "framework",
        "cache_state",
        "m",
        "n",
        "k",
        "measured_s",
        "device_s",
        "compute_s",
        "memory_s",
    ]
    print(errors.worst(both, options.worst, "device_s").select(*columns, "tile_m", "tile_n", "waves", "memory_level"))
    print(f"{time.perf_counter() - start:.1f} s")


def scored(
    connection: duckdb.DuckDBPyConnection,
    package: Path | None,
    hardware: list[str],
    rows: int,
    family_only: bool,
    precision: str = "bf16",
) -> pl.DataFrame:
    """Measured and predicted time of every sampled timing."""
    efficiency = connection.sql("SELECT * FROM efficiency").pl()
    cache_byte = connection.sql("SELECT hardware, cache_byte FROM part").pl()
    measured = products.states(cache_byte, products.measured(package, precision, hardware, rows))
    if family_only:
        efficiency = shared_rows(efficiency)
    shapes, hardware = measured.select("m", "n", "k").unique(), measured["hardware"].unique().sort().to_list()
    found = bare.times(connection, shapes, hardware, precision, efficiency, cache_states=products.CACHE_STATES)
    both = measured.join(found, on=["m", "n", "k", "hardware", "cache_state"])
    return both.rename({"latency_s": "measured_s"})


def framework_noise(measured: pl.DataFrame) -> pl.DataFrame:
    """How far two versions' timings of the same products lie apart: the error of a perfect model of one."""
    named = measured.with_columns(name=pl.format("{} {}", "framework", "version"))
    kept = named.select("hardware", "m", "n", "k", "name", "measured_s")
    pairs = kept.join(kept, on=["hardware", "m", "n", "k"], suffix="_other").filter(
        pl.col("name") != pl.col("name_other")
    )
    ratio = pl.col("measured_s") / pl.col("measured_s_other")
    found = pairs.group_by("hardware", "name", "name_other").agg(
        rows=pl.len(), median_error=ratio.log().abs().median(), bias=ratio.log().median(), mape=(ratio - 1).abs().mean()
    )
    return found.rename({"name": "version", "name_other": "of"}).sort("hardware", "version", "of")


if __name__ == "__main__":
    main()
