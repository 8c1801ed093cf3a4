"""Single kernels as serving frameworks run them, timed in the PyPI package aiconfigurator-core.

Kernels are evaluated by the same SQL as those of a network (`benchmarks/makers/bare.py`). A framework times a whole step of
attention or experts: one constant for each version, fitted to the rows predicted shortest, represents the small kernels around
it.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl

from benchmarks.makers import bare, live, products, timings
from benchmarks.makers import collectives as fitted_collectives
from benchmarks.study import Given
from charz.hardware_catalog.calibration.rows import shared_rows
from charz.ingest.operators.elementwise import FLOPS_PER_ELEMENT
from charz.sql import macros, views

PARTS = list(timings.PARTS)
UNSEEN = ["b300_sxm", "gb200_gpu"]
"""Parts in the package on which nothing was fitted."""
ROWS = {"gemm": 300, "attention": 300, "experts": 50}
"""Number of timings for each part, framework, version and kind, chosen by a fixed hash."""
ABSENT = pl.lit(None, pl.Float64)


def _of(frame: pl.DataFrame, family: pl.Expr, standing: str, predicted: str = "device_s") -> pl.DataFrame:
    return frame.select(
        "hardware", pl.col("framework").alias("backend"), family.alias("family"), pl.col("latency_s").alias("measured"),
        pl.col(predicted).alias("predicted"), pl.lit(standing).alias("standing"),
    )  # fmt: skip


def gemm(given: Given) -> pl.DataFrame:
    """Predict matrix products of frameworks outside every fit, with the rows of single parts and without."""
    size = pl.when(pl.col("m") <= 16).then(pl.lit("to 16")).when(pl.col("m") <= 1024).then(pl.lit("17 to 1024"))
    found = []
    with given.connection() as connection:
        efficiency = connection.sql("SELECT * FROM efficiency").pl()
        cache_byte = connection.sql("SELECT hardware, cache_byte FROM part").pl()
        for parts, rows, standing in (
            (PARTS, efficiency, "other framework"),
            (PARTS + UNSEEN, shared_rows(efficiency), "nothing fitted to a part"),
        ):
            measured = products.states(cache_byte, products.measured(given.package, "bf16", parts, ROWS["gemm"]))
            shapes, known = measured.select("m", "n", "k").unique(), measured["hardware"].unique().sort().to_list()
            times = bare.times(connection, shapes, known, "bf16", rows, cache_states=products.CACHE_STATES)
            both = measured.join(times, on=["m", "n", "k", "hardware", "cache_state"])
            unseen = both.filter(~products.is_fitted() | pl.col("hardware").is_in(UNSEEN))
            found.append(_of(unseen, size.otherwise(pl.lit("above 1024")), standing))
    return pl.concat(found)


SHAPE = ["queries", "context", "batch", "num_heads", "num_key_value_heads", "head_dim"]
KINDS = {"context_attention": "prefill", "generation_attention": "decode"}
SOFTMAX_FLOPS = FLOPS_PER_ELEMENT["softmax"] + 2
"""Operations for each score: softmax, scale and mask, as the rule for attention counts them."""
SERVED = "vllm"
"""Backend whose blocks of queries represent those of all frameworks."""


def attention(given: Given) -> pl.DataFrame:
    """Predict prefill and decode in bf16 without a window. Only the share of the matrix peak was fitted, on prefill."""
    measured = pl.concat([_attention_timings(given, kind) for kind in KINDS])
    shapes = measured.select("kind", *SHAPE).unique(maintain_order=True).with_row_index("operator_id")
    shapes = shapes.with_columns(pl.col("operator_id").cast(pl.Int64))
    with given.connection() as connection:
        steps = _attention_steps(_seen(connection, shapes))
        operators = _attention_operators(shapes)
        times = bare.operator_times(connection, operators, PARTS, "bf16", bare.PRODUCT_BACKEND, steps=steps)
    both = measured.join(shapes, on=["kind", *SHAPE]).join(times, on=["operator_id", "hardware"])
    stepped = _with_step(both, ["kind", "hardware", "framework", "version"])
    return _of(stepped, pl.col("kind"), "one constant a framework", "step_s")


def _with_step(both: pl.DataFrame, groups: list[str]) -> pl.DataFrame:
    """Add `step_s`: the time of the kernels and of those that a framework, identified by `groups`, runs around them."""
    is_short = pl.col("device_s") <= pl.col("device_s").quantile(0.25).over(groups)
    around = (pl.col("latency_s") - pl.col("device_s")).filter(is_short).median().over(groups)
    return both.with_columns(step_s=pl.col("device_s") + around.clip(0.0))


def _attention_timings(given: Given, kind: str) -> pl.DataFrame:
    return timings.of(given.package, kind, PARTS).sql(
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
        ) <= {ROWS["attention"]}
        """
    ).pl()


def _seen(connection: duckdb.DuckDBPyConnection, shapes: pl.DataFrame) -> pl.DataFrame:
    """Add `seen`, the mean number of keys that a query visits under a causal mask."""
    connection.register("shapes", shapes)
    query = f"""
        SELECT s.*, CASE WHEN s.kind = 'prefill' THEN seen_keys(s.queries, s.context, b.causal_block) ELSE s.context END AS seen
        FROM shapes AS s CROSS JOIN backend AS b
        WHERE b.backend = '{SERVED}'
        ORDER BY s.operator_id
        """
    return connection.sql(macros.expanded(query, macros.written_out(views.formulas()), Path(__file__))).pl()


def _attention_steps(shapes: pl.DataFrame) -> pl.DataFrame:
    """List scores, softmax and results of every kernel. Heads that share keys are rows of one product in decode."""
    shared = pl.when(pl.col("kind") == "prefill").then(1.0).otherwise(pl.col("num_heads") / pl.col("num_key_value_heads"))
    groups, rows = pl.col("batch") * pl.col("num_heads") / shared, pl.col("queries") * shared
    scores = groups * rows * pl.col("seen")
    macs = scores * pl.col("head_dim")
    product = {"step_class": pl.lit("gemm"), "macs": macs, "flops": 2 * macs, "m": rows, "groups": groups}
    steps = [
        {"step": pl.lit("qk"), **product, "threads": scores, "n": pl.col("seen"), "k": pl.col("head_dim")},
        {"step": pl.lit("softmax"), **_vector(scores, SOFTMAX_FLOPS * scores)},
        {"step": pl.lit("av"), **product, "threads": groups * rows * pl.col("head_dim"), "n": pl.col("head_dim"), "k": pl.col("seen")},
    ]
    return pl.concat([shapes.select("operator_id", **columns) for columns in steps], how="diagonal_relaxed")


def _attention_operators(shapes: pl.DataFrame) -> pl.DataFrame:
    """List the kernels: they exchange queries and result with other kernels, and read keys and values from the cache."""
    queries = pl.col("batch") * pl.col("num_heads") * pl.col("queries") * pl.col("head_dim")
    cached = 2 * pl.col("batch") * pl.col("num_key_value_heads") * pl.col("context") * pl.col("head_dim")
    border = {"read_elements": queries, "weight_elements": cached, "written_elements": queries}
    return shapes.select("operator_id", operator_class=pl.lit("attention"), **border)


LAYER = ["tokens", "hidden", "inner", "chosen", "experts", "is_balanced"]
KERNELS = 5
"""Kernels of a layer of experts."""
GATE_FLOPS = FLOPS_PER_ELEMENT["silu"] + 1
"""Operations for each gated element: SiLU and the product with the other half."""


def experts(given: Given) -> pl.DataFrame:
    """Predict layers of experts in bf16: gather, two products, gate, sum. Nothing was fitted on them.

    A product reads the weights of the expected number of experts that tokens choose at random. In `balanced` rows tokens go to
    one expert each until every expert has one.
    """
    measured = _expert_timings(given).with_columns(is_balanced=pl.col("distribution") == "balanced")
    shapes = measured.select(LAYER).unique(maintain_order=True).with_row_index("layer")
    shapes = shapes.with_columns(pl.col("layer").cast(pl.Int64))
    operators, steps = _layers(shapes)
    with given.connection() as connection:
        kernels = bare.operator_times(connection, operators, PARTS, "bf16", bare.PRODUCT_BACKEND, steps=steps)
    times = kernels.group_by((pl.col("operator_id") // KERNELS).alias("layer"), "hardware").agg(pl.col("device_s").sum())
    both = measured.join(shapes, on=LAYER).join(times, on=["layer", "hardware"])
    stepped = _with_step(both, ["hardware", "framework", "version", "kernel_source"])
    return _of(stepped, pl.col("distribution"), "one constant a kernel source", "step_s")


def _expert_timings(given: Given) -> pl.DataFrame:
    return timings.of(given.package, "moe", PARTS).sql(
        f"""
        SELECT hardware, framework, version, kernel_source, distribution, CAST(num_tokens AS DOUBLE) AS tokens,
            CAST(hidden_size AS DOUBLE) AS hidden, inter_size / moe_tp_size AS inner, CAST(topk AS DOUBLE) AS chosen,
            CAST(num_experts AS DOUBLE) AS experts, MEDIAN(latency_s) AS latency_s
        FROM timing
        WHERE precision = 'bf16' AND moe_ep_size = 1 AND kernel_source NOT LIKE '%nongated%'
        GROUP BY
            hardware, framework, version, kernel_source, distribution, num_tokens, hidden_size, inter_size, moe_tp_size, topk,
            num_experts
        QUALIFY ROW_NUMBER() OVER (
            PARTITION BY hardware, framework, version, kernel_source, distribution
            ORDER BY hash(num_tokens * 1000003 + hidden_size * 10007 + inter_size * 101 + moe_tp_size * 13 + num_experts * 7), num_tokens,
                hidden_size, inter_size, moe_tp_size, num_experts, topk
        ) <= {ROWS["experts"]}
        """
    ).pl()


def _layers(shapes: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """List every layer's kernels as operators with their work; `operator_id` is layer times `KERNELS` plus place."""
    rows, inner, hidden = pl.col("tokens") * pl.col("chosen"), pl.col("inner"), pl.col("hidden")
    images, gathered, gated = pl.col("tokens") * hidden, rows * hidden, rows * inner
    met = pl.col("experts") * (1 - (1 - pl.col("chosen") / pl.col("experts")) ** pl.col("tokens"))
    read = pl.when("is_balanced").then(pl.min_horizontal(rows, pl.col("experts"))).otherwise(met) * hidden
    none = pl.lit(0.0)
    kernels = [
        ("copy", images, none, gathered, _vector(gathered, none)),
        ("matmul", gathered, read * 2 * inner, 2 * gated, _product(rows, 2 * inner, hidden)),
        ("activation", 2 * gated, none, gated, _vector(gated, GATE_FLOPS * gated)),
        ("matmul", gated, read * inner, gathered, _product(rows, hidden, inner)),
        ("reduction", gathered, none, images, _vector(images, gathered)),
    ]
    operators, steps = [], []
    for place, (kernel_class, given, weight, written, quantities) in enumerate(kernels):
        number = pl.col("layer") * KERNELS + place
        border = {"read_elements": given, "weight_elements": weight, "written_elements": written}
        operators.append(shapes.select(operator_id=number, operator_class=pl.lit(kernel_class), **border))
        steps.append(shapes.select(operator_id=number, step=pl.lit("main"), **quantities))
    return pl.concat(operators), pl.concat(steps)


def _product(m: pl.Expr, n: pl.Expr, k: pl.Expr) -> dict[str, pl.Expr]:
    macs = m * n * k
    sizes = {"m": m, "n": n, "k": k, "groups": pl.lit(1.0)}
    return {"step_class": pl.lit("gemm"), "macs": macs, "flops": 2 * macs, "threads": m * n, **sizes}


def _vector(threads: pl.Expr, flops: pl.Expr) -> dict[str, pl.Expr]:
    sizes = dict.fromkeys(("m", "n", "k", "groups"), ABSENT)
    return {"step_class": pl.lit("vector"), "macs": ABSENT, "flops": flops, "threads": threads, **sizes}


def collectives(given: Given) -> pl.DataFrame:
    """Predict NCCL's calls with the shipped row, which was fitted on them."""
    tables = live.tables()
    measured = fitted_collectives.timings(given.package, tables["hardware_interconnect"])
    fractions = tables["collective"].filter(interconnect=fitted_collectives.LINK).select(fitted_collectives.FRACTIONS).row(0)
    ratio = fitted_collectives.log_ratio(measured, *fractions)
    return measured.with_columns(pl.Series("ratio", ratio)).select(
        "hardware", backend=pl.lit("nccl"), family="op_name", measured="measured_s", predicted=pl.col("measured_s") * pl.col("ratio").exp(),
        standing=pl.lit("fitted"),
    )  # fmt: skip
