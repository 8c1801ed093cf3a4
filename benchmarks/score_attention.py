"""Error of predicted attention kernels against the timings in aiconfigurator-core.

    python -m benchmarks.score_attention [DATABASE] [--package DIR] [--rows 300]

Prefill (`context_attention`) and decode (`generation_attention`) in bf16 with a cache in bf16, no window. The
kernels run through the same SQL as a network's, with the family's row for attention, whose share of the matrix peak was fitted
on prefill of all frameworks; nothing else was fitted on these.
Prefill kernels skip what a causal mask hides, so they are given the keys that the served backend's blocks of queries visit
(`seen_keys`, `backend.causal_block`); decode kernels take the queries of all heads that share their keys as rows of one product,
so they are given those. A framework times its whole step, small kernels before and after included: one constant for every part,
framework and kind, from the rows predicted shortest, stands for them in `step_s`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import catalog, page, sampled
from charz.hardware_catalog.calibration import bare, errors
from charz.hardware_catalog.calibration.shipped import timings as kernel_timings
from charz.ingest.operators.elementwise import FLOPS_PER_ELEMENT
from charz.sql import macros, views

SHAPE = ["queries", "context", "batch", "num_heads", "num_key_value_heads", "head_dim"]
SOFTMAX_FLOPS = FLOPS_PER_ELEMENT["softmax"] + 2
"""Operations a score: softmax, scale and mask, as the rule for attention counts them."""
SERVED = "vllm"
"""Backend whose blocks of queries stand for those of all frameworks."""
KINDS = {"context_attention": "prefill", "generation_attention": "decode"}


def arguments() -> argparse.Namespace:
    """Command line."""
    return sampled.parser(__doc__, 300, "timings a part, framework, version and kind").parse_args()


def main() -> None:
    """Print the tables."""
    options = arguments()
    page.print_wide()
    start = time.perf_counter()
    with catalog.connection(options.database) as connection:
        both = scored(connection, options.package, options.hardware, options.rows)
    print("the kernel alone")
    print(errors.table(both, ["kind", "hardware"], "device_s"))
    print("with a constant for the step around it")
    print(errors.table(both, ["kind", "hardware", "framework", "version"], "step_s"))
    print(errors.table(both, ["kind", "hardware"], "step_s"))
    print(errors.table(both.with_columns(context=rounded_context()), ["kind", "context"], "step_s"))
    columns = ["kind", "hardware", "framework", *SHAPE, "measured_s", "device_s", "compute_s", "memory_s"]
    print(errors.worst(both, options.worst, "step_s").select(columns))
    print(f"{time.perf_counter() - start:.1f} s")


def rounded_context() -> pl.Expr:
    """Context rounded to a power of four."""
    return (2 ** (2 * pl.col("context").log(4).round())).cast(pl.Int64)


def scored(connection: duckdb.DuckDBPyConnection, package: Path | None, hardware: list[str], rows: int) -> pl.DataFrame:
    """Measured and predicted time of every sampled timing of both kinds."""
    measured = pl.concat([timings(package, kind, hardware, rows) for kind in KINDS])
    shapes = measured.select("kind", *SHAPE).unique(maintain_order=True).with_row_index("operator_id")
    shapes = shapes.with_columns(pl.col("operator_id").cast(pl.Int64))
    predicted = bare.operator_times(
        connection, operators(shapes), hardware, "bf16", bare.PRODUCT_BACKEND, steps=steps(seen(connection, shapes))
    )
    both = measured.join(shapes, on=["kind", *SHAPE]).join(predicted, on=["operator_id", "hardware"])
    return with_step(both.rename({"latency_s": "measured_s"}), ["kind", "hardware", "framework", "version"])


def with_step(both: pl.DataFrame, groups: list[str]) -> pl.DataFrame:
    """The rows with `step_s`: the kernels and what a framework, told by `groups`, runs around them."""
    is_short = pl.col("device_s") <= pl.col("device_s").quantile(0.25).over(groups)
    around = (pl.col("measured_s") - pl.col("device_s")).filter(is_short).median().over(groups)
    return both.with_columns(step_s=pl.col("device_s") + around.clip(0.0))


def timings(package: Path | None, kind: str, hardware: list[str], rows: int) -> pl.DataFrame:
    """Measured kernels of one kind, sampled by a fixed hash: `kind, hardware, framework, version`, shape and
    `latency_s`."""
    connection = kernel_timings.of(package, kind, hardware)
    return connection.sql(
        f"""
        SELECT '{KINDS[kind]}' AS kind, hardware, framework, version, CAST(isl AS DOUBLE) AS queries,
            CAST(isl + step AS DOUBLE) AS context, CAST(batch_size AS DOUBLE) AS batch, CAST(num_heads AS DOUBLE) AS num_heads,
            CAST(num_key_value_heads AS DOUBLE) AS num_key_value_heads, CAST(head_dim AS DOUBLE) AS head_dim,
            MEDIAN(latency_s) AS latency_s
        FROM timing
        WHERE precision = 'bf16' AND kv_cache_dtype = 'bfloat16' AND window_size = 0 AND beam_width = 1
        GROUP BY hardware, framework, version, isl, step, batch_size, num_heads, num_key_value_heads, timing.head_dim
        QUALIFY ROW_NUMBER() OVER (
            PARTITION BY hardware, framework, version
            ORDER BY hash(isl * 1000003 + step * 10007 + batch_size * 1009 + num_heads * 101 + timing.head_dim), num_key_value_heads
        ) <= {rows}
        """
    ).pl()


def seen(connection: duckdb.DuckDBPyConnection, shapes: pl.DataFrame) -> pl.DataFrame:
    """The shapes with `seen`, the keys that a query visits in the mean."""
    connection.register("shapes", shapes)
    query = f"""
        SELECT s.*, CASE WHEN s.kind = 'prefill' THEN seen_keys(s.queries, s.context, b.causal_block) ELSE s.context END AS seen
        FROM shapes AS s CROSS JOIN backend AS b
        WHERE b.backend = '{SERVED}'
        ORDER BY s.operator_id
        """
    return connection.sql(macros.expanded(query, macros.written_out(views.formulas()), Path(__file__))).pl()


def steps(shapes: pl.DataFrame) -> pl.DataFrame:
    """The three steps of every kernel, of shapes with `seen`."""
    is_prefill = pl.col("kind") == "prefill"
    shared = pl.when(is_prefill).then(1.0).otherwise(pl.col("num_heads") / pl.col("num_key_value_heads"))
    groups = pl.col("batch") * pl.col("num_heads") / shared
    rows = pl.col("queries") * shared
    scores = groups * rows * pl.col("seen")
    macs = scores * pl.col("head_dim")
    absent = pl.lit(None, pl.Float64)
    product = {"step_class": pl.lit("gemm"), "macs": macs, "flops": 2 * macs, "m": rows, "groups": groups}
    per_step = [
        {"step": pl.lit("qk"), **product, "threads": scores, "n": pl.col("seen"), "k": pl.col("head_dim")},
        {
            "step": pl.lit("softmax"), "step_class": pl.lit("vector"), "macs": absent, "flops": SOFTMAX_FLOPS * scores,
            "m": absent, "groups": absent, "threads": scores, "n": absent, "k": absent,
        },
        {
            "step": pl.lit("av"), **product, "threads": groups * rows * pl.col("head_dim"),
            "n": pl.col("head_dim"), "k": pl.col("seen"),
        },
    ]  # fmt: skip
    return pl.concat([shapes.select("operator_id", **columns) for columns in per_step])


def operators(shapes: pl.DataFrame) -> pl.DataFrame:
    """The kernels as operators: queries and result from and for other kernels, keys and values from the cache."""
    queries = pl.col("batch") * pl.col("num_heads") * pl.col("queries") * pl.col("head_dim")
    cached = 2 * pl.col("batch") * pl.col("num_key_value_heads") * pl.col("context") * pl.col("head_dim")
    return shapes.select(
        "operator_id", operator_class=pl.lit("attention"), read_elements=queries, weight_elements=cached,
        written_elements=queries,
    )  # fmt: skip


if __name__ == "__main__":
    main()
