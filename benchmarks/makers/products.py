"""Measured matrix products of aiconfigurator-core, and what lay in the last-level cache when each was timed.

That differs by framework and can be read off the timings: weights took turns (six copies), SGLang's activations too,
vLLM's and TensorRT-LLM's did not. TensorRT-LLM took no more copies than fill the cache. Operands stay where all that
goes round fits; a cache of two halves holds what both read twice. SGLang 0.5.6 timed one set of operands again and
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import polars as pl

from benchmarks.makers import bare

from . import timings

COPIES = 6
"""Sets of weights the timing loop goes round."""
KEPT_FRACTION = {"l40s": 1.05}
"""Share of the last-level cache that operands going round may fill and still be found there: a little more than
all of one cache, which does not forget in order; half of one in two halves, each with the data its side reads."""
CACHE_STATES = ("cold", "warm", "hot")


def measured(package: Path | None, precision: str, hardware: Sequence[str], rows: int) -> pl.DataFrame:
    """Measured products: `hardware, framework, version, m, n, k, latency_s`, of each part, framework and version so
    many by a fixed hash."""
    connection = timings.of(package, "gemm", hardware)
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


def cache_byte(
    connection: duckdb.DuckDBPyConnection,
    shapes: pl.DataFrame,
    hardware: Sequence[str],
    shipped: dict[str, pl.DataFrame],
) -> pl.DataFrame:
    """Last-level cache of the parts under the shipped tables, asked for over any numbered product: `hardware,
    cache_byte`."""
    with bare.product_bench(connection, shapes, list(hardware), "bf16", overrides=shipped) as bench:
        return bench.sql("SELECT hardware, cache_byte FROM part")


def states(cache_byte: pl.DataFrame, products: pl.DataFrame) -> pl.DataFrame:
    """The products with what lay in the last-level cache of their part: `cache_byte` by `hardware`."""
    return products.join(cache_byte, on="hardware").with_columns(cache_state=cache_state())


def is_fitted() -> pl.Expr:
    """Timings of the version that constants were fitted on: SGLang's newest of every part."""
    return (pl.col("framework") == "sglang") & ~repeats()


def repeats() -> pl.Expr:
    """Timings of one set of operands again and again."""
    return (pl.col("framework") == "sglang") & pl.col("version").str.starts_with("0.5.6")


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
