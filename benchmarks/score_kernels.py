"""The page on matrix products, attention kernels and layers of experts of aiconfigurator-core.

    python -m benchmarks.score_kernels --markdown docs/validation-kernels.md [--package DIR] [--rows 1500]

Everything on it comes from `score_gemm`, `score_attention` and `score_moe`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import catalog, page, score_attention, score_gemm, score_moe
from charz.hardware_catalog.calibration import errors
from charz.hardware_catalog.calibration.shipped import products, timings

PARTS = list(timings.PARTS)
UNSEEN = ["b300_sxm", "gb200_gpu"]
"""Parts in the package on which nothing was fitted."""
TEXT = [
    "Written by `python -m benchmarks.score_kernels --markdown docs/validation-kernels.md`; do not edit.",
    "Timings of kernels in bf16 from the PyPI package `aiconfigurator-core`: matrix products, attention and layers of"
    " experts, by three serving frameworks. Errors are those of the kernel's time without the host. Columns as in"
    " [validation](validation.md); `mape` is the mean of |predicted / measured - 1|.",
    "Tiles, the family's rows and the parts' rows for products were fitted on one framework's timings, SGLang's. The"
    " first tables hold the other frameworks' alone. The last table on products takes one version's timings as the"
    " prediction of another's: what is left of them where no physics differs.",
    "Of attention one number was fitted, on prefill of all frameworks: the share of the matrix peak of the GPU family."
    " Decode is given the queries of the heads that share keys as rows of one product, as its kernels take them.",
    "On layers of experts nothing was fitted. `balanced` deals rows out to all experts alike, a `power_law` gives some far"
    " more: there the weights of as many are predicted as tokens that choose at random, all experts alike, meet.",
]


def main() -> None:
    """Score and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", type=Path, required=True, help="write the tables to this page")
    parser.add_argument("--package", type=Path, help="unpacked aiconfigurator_core folder; default the installed one")
    parser.add_argument("--rows", type=int, default=1500, help="timings a part, framework, version and kind")
    options = parser.parse_args()
    start = time.perf_counter()
    with catalog.connection() as connection:
        tables = (
            product_tables(connection, options)
            + attention_tables(connection, options)
            + expert_tables(connection, options)
        )
    page.write(options.markdown, "Validation of products, attention and experts", TEXT, tables)
    print(f"{options.markdown} in {time.perf_counter() - start:.0f} s")


def product_tables(
    connection: duckdb.DuckDBPyConnection, options: argparse.Namespace
) -> list[tuple[str, pl.DataFrame]]:
    """Headings and tables on matrix products."""
    seen = score_gemm.scored(connection, options.package, PARTS, options.rows, family_only=False)
    shared = score_gemm.scored(connection, options.package, PARTS + UNSEEN, options.rows, family_only=True)
    by_size = pl.when(pl.col("m") <= 16).then(pl.lit("to 16")).when(pl.col("m") <= 1024).then(pl.lit("17 to 1024"))
    sized = seen.filter(~products.is_fitted()).with_columns(rows_m=by_size.otherwise(pl.lit("above 1024")))
    unfitted = shared.filter(~products.is_fitted() | pl.col("hardware").is_in(UNSEEN))
    return [
        ("Products, versions nothing was fitted on", table(seen.filter(~products.is_fitted()), ["hardware"])),
        ("Products by rows of the result", table(sized, ["hardware", "rows_m"])),
        ("Products, nothing fitted to a part", table(unfitted, ["hardware"])),
        ("Products, every version", table(seen, ["hardware", "framework", "version"])),
        ("Products, one version as prediction of another", score_gemm.framework_noise(seen)),
    ]


def attention_tables(
    connection: duckdb.DuckDBPyConnection, options: argparse.Namespace
) -> list[tuple[str, pl.DataFrame]]:
    """Headings and tables on attention."""
    both = score_attention.scored(connection, options.package, PARTS, options.rows)
    return [
        ("Attention, the kernel alone", table(both, ["kind", "hardware"])),
        (
            "Attention, with one constant a framework for the step around it",
            table(both, ["kind", "hardware"], "step_s"),
        ),
        (
            "Attention by context, with that constant",
            table(both.with_columns(context=score_attention.rounded_context()), ["kind", "context"], "step_s"),
        ),
    ]


def expert_tables(connection: duckdb.DuckDBPyConnection, options: argparse.Namespace) -> list[tuple[str, pl.DataFrame]]:
    """Headings and tables on layers of experts."""
    both = score_moe.scored(connection, options.package, PARTS, options.rows // 6)
    ranged = both.with_columns(rows_per_expert=score_moe.rows_per_expert())
    return [
        ("Experts, with one constant a kernel source", table(both, ["distribution", "hardware"], "step_s")),
        ("Experts by rows of each", table(ranged, ["distribution", "rows_per_expert"], "step_s")),
        ("Experts, every kernel source", table(both, score_moe.SOURCE, "step_s")),
    ]


def table(rows: pl.DataFrame, by: list[str], predicted: str = "device_s") -> pl.DataFrame:
    """A score table of predicted kernel times."""
    return errors.table(rows, by, predicted)


if __name__ == "__main__":
    main()
