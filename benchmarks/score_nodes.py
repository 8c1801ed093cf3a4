"""Error of predicted single operators against measured graph nodes.

    python -m benchmarks.score_nodes [MEASUREMENTS] [--family-only] [--markdown PAGE]

MEASUREMENTS is the folder with `fx_nodes.parquet` (../shared/measurements). Scored are the nodes of five language
models; the rows of single parts come from other timings (`charz calibrate --shipped operators`).
Nodes without a kernel cost the host's time of a view; every part stood in a host of its own and gets one
factor on that time. `--family-only` leaves out the rows of single parts.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import polars as pl

from benchmarks import catalog, page
from charz.hardware_catalog.calibration import errors, operator_times
from charz.hardware_catalog.calibration.rows import shared_rows
from charz.hardware_catalog.calibration.shipped import live
from charz.ingest.measurements import collection, store
from charz.session import workspace

NODES = "source_id LIKE '%:fx_nodes:%'"


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", type=Path, nargs="?", default=Path("../shared/measurements"))
    parser.add_argument("--family-only", action="store_true")
    parser.add_argument("--markdown", type=Path, help="write the tables to this page")
    parser.add_argument("--worst", type=int, default=15)
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    options = arguments()
    page.print_wide()
    start = time.perf_counter()
    if not options.measurements.is_dir():
        raise SystemExit(f"no folder {options.measurements}: it holds others' published figures, see its README")
    tables = live.tables()
    shared = tables | {"efficiency": shared_rows(tables["efficiency"])}
    with catalog.database() as database:
        fill(database, options.measurements)
        with workspace.read(database) as connection:
            unfitted = operator_times.predicted(connection, NODES, overrides=shared)
            rows = unfitted if options.family_only else operator_times.predicted(connection, NODES, overrides=tables)
    print_scores(rows, options.worst)
    if options.markdown is not None:
        write_page(options.markdown, rows, unfitted)
    print(f"{time.perf_counter() - start:.1f} s")


def fill(database: Path, folder: Path) -> None:
    """Import the nodes."""
    with workspace.change(database) as connection:
        store.store(connection, *collection.read(folder / "fx_nodes.parquet"))


def write_page(path: Path, rows: pl.DataFrame, unfitted: pl.DataFrame) -> None:
    """The tables as a page."""
    runs = ~pl.col("is_view")
    text = [
        "Written by `python -m benchmarks.score_nodes --markdown docs/validation-operators.md`; do not edit.",
        f"{len(rows)} measured nodes of five language models in fp32, timed one by one under eager PyTorch. A node's time is"
        " the host's time to issue it and the device's to run it; every part stood in a host of its own and has one factor"
        " on that time, fitted on its short nodes. Columns as in [validation](validation.md).",
        "The rows of single parts were fitted on other timings of the same laboratory, single operators, among which no"
        " node is. `Nothing fitted to a part` leaves those rows out.",
    ]
    tables = [
        ("All nodes", errors.table(rows, ["hardware"])),
        ("Nodes that run a kernel", errors.table(rows.filter(runs), ["hardware"])),
        ("Nothing fitted to a part, nodes that run a kernel", errors.table(unfitted.filter(runs), ["hardware"])),
        ("By class", errors.table(rows.filter(runs), ["operator_class"])),
        ("Products by what they were called", _products(rows)),
    ]
    page.write(path, "Validation of single operators", text, tables)


def _products(rows: pl.DataFrame) -> pl.DataFrame:
    """Linear layers and products of each part by the call: one library runs them all."""
    call = pl.col("operator").str.extract(r"built-in method (\w+)").fill_null("linear layer").alias("call")
    products = rows.filter(pl.col("operator_class").is_in(("linear", "matmul"))).with_columns(call)
    return errors.table(products, ["call", "hardware"])


def print_scores(rows: pl.DataFrame, worst: int) -> None:
    """By part with and without the nodes that run no kernel, by class, and the worst."""
    kernels = rows.filter(~pl.col("is_view"))
    print("all nodes")
    print(errors.table(rows, ["hardware"]))
    print("nodes that run a kernel")
    print(errors.table(kernels, ["hardware"]))
    print(errors.table(kernels, ["operator_class"]))
    print(_products(rows))
    columns = ["hardware", "operator", "shape", "measured_s", "latency_s", "compute_s", "memory_s", "log_ratio"]
    print(errors.worst(kernels, worst).select(columns))


if __name__ == "__main__":
    main()
