"""Measured matrix products of aiconfigurator-core, and the contents of the last-level cache when each was timed.

The timings show that these differ by framework. All alternate between six copies of the weights, SGLang also of the activations,
vLLM and TensorRT-LLM not. TensorRT-LLM uses no more copies than fill the cache. Operands stay in the cache if all copies fit; a
cache of two halves keeps twice the data that both read. SGLang 0.5.6 timed one set of operands repeatedly.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import polars as pl

from benchmarks.makers import bare

from . import timings

COPIES = 6
"""Number of copies of the weights in the timing loop."""
KEPT_FRACTION = {"l40s": 1.05}
"""Share of the last-level cache within which alternating operands stay cached. It is a little above one for a single cache, whose
replacement is not in order, and one half for a cache of two halves, each with the data that its side reads."""
CACHE_STATES = ("cold", "warm", "hot")


def measured(package: Path | None, precision: str, hardware: Sequence[str], rows: int) -> pl.DataFrame:
    """Read measured products: `hardware, framework, version, m, n, k, latency_s`, of each part, framework and version a number of
    rows chosen by a fixed hash."""
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
    """Return the last-level cache of the parts under the shipped tables: `hardware, cache_byte`. Any numbered product serves as
    the query."""
    with bare.product_bench(connection, shapes, list(hardware), "bf16", overrides=shipped) as bench:
        return bench.sql("SELECT hardware, cache_byte FROM part")


def states(cache_byte: pl.DataFrame, products: pl.DataFrame) -> pl.DataFrame:
    """Add to the products the state of their part's last-level cache; `cache_byte` is by `hardware`."""
    return products.join(cache_byte, on="hardware").with_columns(cache_state=cache_state())


def is_fitted() -> pl.Expr:
    """Select timings of the version that constants are fitted to: SGLang's newest of every part."""
    return (pl.col("framework") == "sglang") & ~repeats()


def repeats() -> pl.Expr:
    """Select repeated timings of one set of operands."""
    return (pl.col("framework") == "sglang") & pl.col("version").str.starts_with("0.5.6")


def cache_state() -> pl.Expr:
    """Derive the contents of the last-level cache when a row was timed; see the top of this file."""
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
