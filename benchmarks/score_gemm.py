"""Error of predicted matrix products against the timings in aiconfigurator-core.

    python -m benchmarks.score_gemm [DATABASE] [--package DIR] [--rows 1500] [--family-only]

The products run through the same SQL as a network's (`ingest/measurements/bare.py`); every framework's
timings are scored on their own. Without a database, the shipped catalog is put into a temporary one.
`--family-only` leaves out every efficiency row of a single part: datasheet and family constants alone.

What lay in the last-level cache when a product was timed differs by framework and can be read off the
timings: weights took turns (six copies), SGLang's activations too, vLLM's and TensorRT-LLM's did not.
TensorRT-LLM took no more copies than fill the cache. Operands stay where all that goes round fits; a cache
of two halves holds what both read twice. SGLang 0.5.6 timed one set of operands again and again.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import catalog, page, sampled
from charz.ingest.measurements import bare, score

COPIES = 6
"""Sets of weights the timing loop goes round."""
KEPT_FRACTION = {"l40s": 1.05}
"""Share of the last-level cache that operands going round may fill and still be found there: a little more than
all of one cache, which does not forget in order; half of one in two halves, each with the data its side reads."""
CACHE_STATES = ("cold", "warm", "hot")


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
    with catalog.database(options.database) as database:
        both = scored(database, options.package, options.hardware, options.rows, options.family_only, options.precision)
    print(f"{len(both)} timings of {both.select('m', 'n', 'k').unique().height} shapes")
    print(score.table(both, ["hardware", "framework", "version"], "device_s"))
    print(score.table(both, ["hardware"], "device_s"))
    print("versions that no row of the part was fitted on")
    print(score.table(both.filter(~is_fitted()), ["hardware"], "device_s"))
    most = pl.when(pl.col("m") <= 16).then(16).when(pl.col("m") <= 128).then(128).when(pl.col("m") <= 1024).then(1024)
    print(score.table(both.with_columns(most_m=most.otherwise(32768)), ["hardware", "most_m"], "device_s"))
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
    print(score.worst(both, options.worst, "device_s").select(*columns, "tile_m", "tile_n", "waves", "memory_level"))
    print(f"{time.perf_counter() - start:.1f} s")


def scored(
    database: Path, package: Path | None, hardware: list[str], rows: int, family_only: bool, precision: str = "bf16"
) -> pl.DataFrame:
    """Measured and predicted time of every sampled timing."""
    with duckdb.connect(str(database), read_only=True) as connection:
        efficiency = connection.sql("SELECT * FROM efficiency").pl()
        measured = states(connection, timings(package, precision, hardware, rows))
    if family_only:
        efficiency = shared_rows(efficiency)
    shapes, hardware = measured.select("m", "n", "k").unique(), measured["hardware"].unique().sort().to_list()
    found = bare.times(database, shapes, hardware, precision, efficiency, cache_states=CACHE_STATES)
    both = measured.join(found, on=["m", "n", "k", "hardware", "cache_state"])
    return both.rename({"latency_s": "measured_s"})


def shared_rows(efficiency: pl.DataFrame) -> pl.DataFrame:
    """Efficiency rows that hold for more than one part."""
    return efficiency.filter(~pl.col("scope").str.starts_with("hardware:"))


def states(connection: duckdb.DuckDBPyConnection, measured: pl.DataFrame) -> pl.DataFrame:
    """The timings with what lay in the last-level cache of their part."""
    cache_byte = connection.sql("SELECT hardware, cache_byte FROM part").pl()
    return measured.join(cache_byte, on="hardware").with_columns(cache_state=cache_state())


def is_fitted() -> pl.Expr:
    """Timings of the version that constants were fitted on: SGLang's newest of every part."""
    return (pl.col("framework") == "sglang") & ~repeats()


def repeats() -> pl.Expr:
    """Timings of one set of operands again and again."""
    return (pl.col("framework") == "sglang") & pl.col("version").str.starts_with("0.5.6")


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


def cache_state() -> pl.Expr:
    """What the last-level cache held when a row was timed; see the top of this file."""
    weight, activation, result = (2 * pl.col(a) * pl.col(b) for a, b in ("kn", "mk", "mn"))
    is_sglang = pl.col("framework") == "sglang"
    filling = (pl.col("cache_byte") / weight).ceil().clip(1, COPIES)
    copies = pl.when(pl.col("framework") == "trtllm").then(filling).otherwise(COPIES)
    turning = copies * weight + pl.when(is_sglang).then(copies).otherwise(1) * activation + result
    kept = pl.col("cache_byte") * pl.col("hardware").replace_strict(KEPT_FRACTION, default=0.5)
    return (
        pl.when(repeats() | (turning <= kept))
        .then(pl.lit("hot"))
        .when(is_sglang)
        .then(pl.lit("cold"))
        .otherwise(pl.lit("warm"))
    )


def timings(package: Path | None, precision: str, hardware: list[str], rows: int) -> pl.DataFrame:
    """Measured products: `hardware, framework, version, m, n, k, latency_s`."""
    connection = sampled.timings(package, "gemm", hardware)
    return connection.sql(
        f"""
        SELECT hardware, framework, version, CAST(m AS DOUBLE) AS m, CAST(n AS DOUBLE) AS n, CAST(k AS DOUBLE) AS k,
            MEDIAN(latency_s) AS latency_s
        FROM timing
        WHERE precision = '{precision}'
        GROUP BY hardware, framework, version, m, n, k
        QUALIFY ROW_NUMBER() OVER (
            PARTITION BY hardware, framework, version ORDER BY hash(m * 1000003 + n * 1009 + k)
        ) <= {rows}
        """
    ).pl()


if __name__ == "__main__":
    main()
