"""Error of predicted layers of experts against the timings in aiconfigurator-core.

    python -m benchmarks.score_moe [DATABASE] [--package DIR] [--rows 250]

Gated experts in bf16, all on one device (`moe_ep_size` 1; what tensor parallelism leaves of each is a narrower expert).
Nothing was fitted on these. A layer is what its tokens go through once they know their experts: rows are gathered, one a
token and chosen expert, and pass both products, with the gate's activation between them; each token adds up its rows.
Products are counted as ingest counts them (`ingest/operators/experts.py`): as one, with the weights of as many experts as
tokens that choose at random are expected to meet; of `balanced` rows each goes to another expert until none is left. A
framework times its whole step, small kernels before and after included: one constant for each kernel source of a
version, from the rows predicted shortest, stands for them in `step_s`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import catalog, page, sampled
from benchmarks.score_attention import with_step
from charz.hardware_catalog.calibration import bare, errors
from charz.hardware_catalog.calibration.shipped import timings as kernel_timings
from charz.ingest.operators.elementwise import FLOPS_PER_ELEMENT

SHAPE = ["tokens", "hidden", "inner", "chosen", "experts", "is_balanced"]
SOURCE = ["hardware", "framework", "version", "kernel_source"]
KERNELS = 5
"""Kernels of a layer."""
GATE_FLOPS = FLOPS_PER_ELEMENT["silu"] + 1
"""Operations a gated element: SiLU and the product with what it gates."""


def arguments() -> argparse.Namespace:
    """Command line."""
    return sampled.parser(__doc__, 250, "timings a kernel source, version, part and distribution").parse_args()


def main() -> None:
    """Print the tables."""
    options = arguments()
    page.print_wide()
    start = time.perf_counter()
    with catalog.connection(options.database) as connection:
        both = scored(connection, options.package, options.hardware, options.rows)
    for by in (["distribution", "hardware"], SOURCE, ["distribution", "rows_per_expert"]):
        print(errors.table(both.with_columns(rows_per_expert=rows_per_expert()), by, "step_s"))
    print(
        errors.worst(both, options.worst, "step_s").select(
            *SOURCE, *SHAPE, "measured_s", "device_s", "compute_s", "memory_s"
        )
    )
    print(f"{time.perf_counter() - start:.1f} s")


def rows_per_expert() -> pl.Expr:
    """Rows an expert gets on average, as a range."""
    mean = pl.col("tokens") * pl.col("chosen") / pl.col("experts")
    return (
        pl.when(mean < 0.5)
        .then(pl.lit("below 0.5"))
        .when(mean < 8)
        .then(pl.lit("0.5 to 8"))
        .otherwise(pl.lit("8 and more"))
    )


def scored(connection: duckdb.DuckDBPyConnection, package: Path | None, hardware: list[str], rows: int) -> pl.DataFrame:
    """Measured and predicted time of every sampled layer."""
    measured = timings(package, hardware, rows).with_columns(is_balanced=pl.col("distribution") == "balanced")
    shapes = measured.select(SHAPE).unique(maintain_order=True).with_row_index("layer")
    shapes = shapes.with_columns(pl.col("layer").cast(pl.Int64))
    operators, steps = layers(shapes)
    kernels = bare.operator_times(connection, operators, hardware, "bf16", bare.PRODUCT_BACKEND, steps=steps)
    predicted = kernels.group_by(pl.col("operator_id") // KERNELS, "hardware").agg(
        pl.col("device_s", "compute_s", "memory_s").sum()
    )
    both = measured.join(shapes, on=SHAPE).join(predicted.rename({"operator_id": "layer"}), on=["layer", "hardware"])
    return with_step(both.rename({"latency_s": "measured_s"}), SOURCE)


def timings(package: Path | None, hardware: list[str], rows: int) -> pl.DataFrame:
    """Measured layers, sampled by a fixed hash: source, `distribution` of tokens over experts, shape and `latency_s`."""
    connection = kernel_timings.of(package, "moe", hardware)
    return connection.sql(
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
        ) <= {rows}
        """
    ).pl()


def layers(shapes: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Every layer's kernels as operators, and what each computes; `operator_id` is the layer's number times `KERNELS` plus
    the place of the kernel in it."""
    rows = pl.col("tokens") * pl.col("chosen")
    images = pl.col("tokens") * pl.col("hidden")
    gathered, gated = rows * pl.col("hidden"), rows * pl.col("inner")
    no_weight = pl.lit(0.0)
    kernels = [
        ("copy", images, no_weight, gathered, _vector(gathered, no_weight)),
        ("matmul", gathered, _weights(2 * pl.col("inner")), 2 * gated, _product(2 * pl.col("inner"), pl.col("hidden"))),
        ("activation", 2 * gated, no_weight, gated, _vector(gated, GATE_FLOPS * gated)),
        ("matmul", gated, _weights(pl.col("inner")), gathered, _product(pl.col("hidden"), pl.col("inner"))),
        ("reduction", gathered, no_weight, images, _vector(images, gathered)),
    ]
    operators = [
        shapes.select(
            operator_id=pl.col("layer") * KERNELS + place, operator_class=pl.lit(kernel_class), read_elements=read,
            weight_elements=weight, written_elements=written,
        )
        for place, (kernel_class, read, weight, written, _) in enumerate(kernels)
    ]  # fmt: skip
    steps = [
        shapes.select(operator_id=pl.col("layer") * KERNELS + place, step=pl.lit("main"), **quantities)
        for place, (*_, quantities) in enumerate(kernels)
    ]
    return pl.concat(operators), pl.concat(steps)


def _weights(width: pl.Expr) -> pl.Expr:
    """Elements of the matrices of the experts that get rows."""
    others = (1 - pl.col("chosen") / pl.col("experts")) ** pl.col("tokens")
    met = pl.col("experts") * (1 - others)
    dealt = pl.min_horizontal(pl.col("tokens") * pl.col("chosen"), pl.col("experts"))
    return pl.when("is_balanced").then(dealt).otherwise(met) * pl.col("hidden") * width


def _product(n: pl.Expr, k: pl.Expr) -> dict[str, pl.Expr]:
    """All rows through matrices of k x n."""
    m = pl.col("tokens") * pl.col("chosen")
    macs = m * n * k
    return {
        "step_class": pl.lit("gemm"), "macs": macs, "flops": 2 * macs, "threads": m * n, "m": m, "n": n, "k": k,
        "groups": pl.lit(1.0),
    }  # fmt: skip


def _vector(threads: pl.Expr, flops: pl.Expr) -> dict[str, pl.Expr]:
    """One step of the vector units."""
    absent = pl.lit(None, pl.Float64)
    return {
        "step_class": pl.lit("vector"), "macs": absent, "flops": flops, "threads": threads, "m": absent, "n": absent,
        "k": absent, "groups": absent,
    }  # fmt: skip


if __name__ == "__main__":
    main()
