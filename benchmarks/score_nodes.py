"""Error of predicted single operators against measured graph nodes.

    python -m benchmarks.score_nodes [MEASUREMENTS] [--family-only] [--fit FOLDER] [--markdown PAGE]

MEASUREMENTS is the folder with `fx_nodes.parquet` and `operators.parquet` (../shared/measurements). Scored
are the nodes of five language models; `--fit` makes efficiency rows of the parts from the other file, timings
of single operators that no node is among, and puts them in the tables of FOLDER.
Nodes without a kernel cost the host's time of a view; every part stood in a host of its own and gets one
factor on that time. `--family-only` leaves out the rows of single parts.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import polars as pl

from benchmarks import catalog, page
from charz.cli.workspace import change_workspace
from charz.ingest.measurements import catalog_csv, collection, operator_times, score, store
from charz.schema.catalog import Source

NODES = "source_id LIKE '%:fx_nodes:%'"
SINGLE = "source_id LIKE '%:operators' AND (operator NOT IN ('conv', 'linear', 'bmm') OR hash(shape) % 20 = 0)"
"""Every twentieth product is plenty; convolutions in fp32 run by algorithms with fewer operations."""
SOURCE_ID = "neusight_operators"


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", type=Path, nargs="?", default=Path("../shared/measurements"))
    parser.add_argument("--family-only", action="store_true")
    parser.add_argument("--fit", type=Path, help="catalog tables that get the fitted rows")
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
    with catalog.database() as database:
        fill(database, options.measurements)
        live = catalog.tables()
        if options.fit is not None:
            fit(database, live, options.fit)
            live = catalog.tables()
        if options.family_only:
            live["efficiency"] = family_rows(live)
        rows = operator_times.predicted(database, NODES, overrides=live)
        unfitted = operator_times.predicted(database, NODES, overrides=live | {"efficiency": family_rows(live)})
    print_scores(rows, options.worst)
    if options.markdown is not None:
        write_page(options.markdown, rows, unfitted)
    print(f"{time.perf_counter() - start:.1f} s")


def family_rows(live: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Efficiency rows that hold for more than one part."""
    return live["efficiency"].filter(~pl.col("scope").str.starts_with("hardware:"))


def fill(database: Path, folder: Path) -> None:
    """Import both operator files."""
    with change_workspace(database) as connection:
        for name in ("fx_nodes", "operators"):
            frame, row_type, sources = collection.read(folder / f"{name}.parquet")
            store.store(connection, frame, row_type, sources)


def fit(database: Path, live: dict[str, pl.DataFrame], folder: Path) -> None:
    """Efficiency rows from the single operators into the CSV tables of a folder."""
    rows = operator_times.efficiencies(database, SINGLE, family_rows(live), SOURCE_ID, live)
    what = "Single operators in fp32, timed one by one on P4, P100, V100, T4, A100 and MI100"
    source = Source(
        source_id=SOURCE_ID,
        kind="measurement",
        locator="github:sitar-lab/NeuSight operator timings",
        licence="MIT",
        what=what,
    )
    catalog_csv.replace_rows(folder, rows, [], [source])
    print(f"{len(rows)} efficiency rows of {len({row.scope for row in rows})} parts")


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
        ("All nodes", score.table(rows, ["hardware"])),
        ("Nodes that run a kernel", score.table(rows.filter(runs), ["hardware"])),
        ("Nothing fitted to a part, nodes that run a kernel", score.table(unfitted.filter(runs), ["hardware"])),
        ("By class", score.table(rows.filter(runs), ["operator_class"])),
    ]
    page.write(path, "Validation of single operators", text, tables)


def print_scores(rows: pl.DataFrame, worst: int) -> None:
    """By part with and without the nodes that run no kernel, by class, and the worst."""
    kernels = rows.filter(~pl.col("is_view"))
    print("all nodes")
    print(score.table(rows, ["hardware"]))
    print("nodes that run a kernel")
    print(score.table(kernels, ["hardware"]))
    print(score.table(kernels, ["operator_class"]))
    columns = ["hardware", "operator", "shape", "measured_s", "latency_s", "compute_s", "memory_s", "log_ratio"]
    print(score.worst(kernels, worst).select(columns))


if __name__ == "__main__":
    main()
