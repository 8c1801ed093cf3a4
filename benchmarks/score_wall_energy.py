"""Predicted energy of the accelerator beside measured wall energy of whole systems (MLPerf power).

    python -m benchmarks.score_wall_energy [DATABASE] [--measurements ../shared/measurements] [--markdown PAGE]

DATABASE is made if it is not there (ResNet-50 and BERT-large, a minute). Measured is the wall power of a server
with one accelerator, a sample. charz models the accelerator alone: no host processor, no memory of the host,
no fans, no loss of a power supply. The share of the wall that it explains is therefore given as it is.

A second figure adds one constant a system, the power of all that charz does not model: the median over the
system's other rows of wall power less predicted power of the accelerator, never the row scored. Offline rows say no
batch; `--batch` is taken. A server scenario waits for queries at a rate that the log chose: left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import catalog, page
from charz.hardware_catalog.calibration import errors
from charz.hardware_catalog.calibration.shipped import live
from charz.hardware_catalog.calibration.workbench import Workbench
from charz.ingest.measurements import collection, store
from charz.ingest.run import run
from charz.ingest.sources.spec import parse
from charz.session import workspace
from charz.sql import maintain

MODELS = ("torchvision:resnet50", "hf:bert-large-uncased")
BATCHES = {"single_stream": 1, "multi_stream": 8}
"""Samples of a query by scenario; a log of other scenarios says none."""


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path, nargs="?", default=Path("wall-energy.duckdb"))
    parser.add_argument("--measurements", type=Path, default=Path("../shared/measurements"))
    parser.add_argument("--batch", type=int, default=64, help="samples at once where a log says none")
    parser.add_argument("--markdown", type=Path, help="write the tables to this page")
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    options = arguments()
    page.print_wide()
    path = catalog.published_models(options.measurements)
    if not options.database.exists():
        workspace.read(options.database, create=True).close()
        run(
            [parse(name) for name in MODELS],
            lambda: workspace.change(options.database),
            maintain.add_runs,
            report=lambda o: print(o.message),
        )
    with workspace.read(options.database) as connection:
        rows = scored(connection, path, options.batch)
    for title, table in tables(rows):
        print(title)
        print(table)
    if options.markdown is not None:
        page.write(options.markdown, "Wall energy of MLPerf systems", text(rows, options.batch), tables(rows))


def scored(connection: duckdb.DuckDBPyConnection, path: Path, batch: int) -> pl.DataFrame:
    """Measured rows with the accelerator's predicted energy and power, and the system's with its constant."""
    measured = collection.models(pl.read_parquet(path)).filter(
        (pl.col("energy_scope") == "wall") & (pl.col("device_count") == 1) & (pl.col("energy_j") > 0)
        & (pl.col("mode") != "server")
    )  # fmt: skip
    names = store.hardware_names(connection)
    models = connection.sql("SELECT model, source AS model_source FROM model").pl()
    rows = (
        measured.rename({"model": "published_model"})
        .join(names, on="hardware_name")
        .join(models, on="model_source")
        .with_columns(
            system=pl.col("note").str.extract(r"system=([^;]+)"),
            wall_w=pl.col("note").str.extract(r"avg_wall_watts=([\d.]+)").cast(pl.Float64),
            batch=pl.col("mode").replace_strict(BATCHES, default=batch, return_dtype=pl.Int64),
            host_factor=pl.lit(1.0),
            row=pl.int_range(pl.len()),
        )
        .filter(pl.col("wall_w").is_not_null())
    )
    with Workbench(connection, rows, overrides=live.tables()) as bench:
        found = bench.predict(("latency_s", "energy_j")).rename({"energy_j_right": "accelerator_batch_j"}, strict=False)
    predicted = found.filter(pl.col("latency_s_right").is_not_null()).with_columns(
        accelerator_j=pl.col("accelerator_batch_j") / pl.col("batch"),
        accelerator_w=pl.col("accelerator_batch_j") / pl.col("latency_s_right"),
        predicted_s=pl.col("latency_s_right") / pl.col("batch"),
        # A query at a time is what the log times; else a sample takes the inverse of the rate.
        measured_s=pl.col("energy_j") / pl.col("wall_w"),
    )
    return _with_systems(predicted).with_columns(accelerator_share=pl.col("accelerator_j") / pl.col("energy_j"))


def _with_systems(rows: pl.DataFrame) -> pl.DataFrame:
    """`system_j`: the accelerator's energy and the rest of its system over the predicted time."""
    rest = []
    for row in rows.iter_rows(named=True):
        others = rows.filter((pl.col("system") == row["system"]) & (pl.col("row") != row["row"]))
        rest.append((others["wall_w"] - others["accelerator_w"]).median() if len(others) else None)
    return rows.with_columns(rest_w=pl.Series(rest, dtype=pl.Float64)).with_columns(
        system_j=pl.col("accelerator_j") + pl.col("rest_w") * pl.col("predicted_s")
    )


def tables(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Every table with its title."""
    systems = rows.filter(pl.col("system_j").is_not_null())
    shown = rows.select(
        "system", "hardware", "mode", model=pl.col("published_model"), precision=pl.col("precision"), wall_w=pl.col("wall_w"),
        accelerator_w=pl.col("accelerator_w"), measured_mj=pl.col("energy_j") * 1e3, accelerator_mj=pl.col("accelerator_j") * 1e3,
        system_mj=pl.col("system_j") * 1e3, accelerator_share=pl.col("accelerator_share"),
    ).sort("system", "model", "mode")  # fmt: skip
    return [
        ("System with one constant, by part", errors.table(systems, ["hardware"], "system_j", "energy_j")),
        ("System with one constant, by scenario", errors.table(systems, ["mode"], "system_j", "energy_j")),
        ("Time of a sample", errors.table(rows, ["hardware", "mode"], "predicted_s", "measured_s")),
        ("Rows", shown),
    ]


def text(rows: pl.DataFrame, batch: int) -> list[str]:
    """Paragraphs of the page."""
    share = rows["accelerator_share"].median()
    return [
        "Written by `python -m benchmarks.score_wall_energy --markdown docs/validation-wall-energy.md`; do not edit.",
        f"{len(rows)} measurements of {rows['system'].n_unique()} systems with one accelerator, energy of a sample at the wall."
        " charz models the accelerator: no host, no fans, no loss of a power supply. The accelerator's predicted energy is"
        f" {share:.0%} of the wall's in the median (`accelerator_share`); that is no error and no score.",
        "Scored is the system with one constant: the power of all that charz does not model, the median over the system's other"
        " rows of wall power less predicted power of the accelerator, over the predicted time. A row never counts for its own"
        f" constant. Logs of offline runs say no batch; {batch} is taken. Energies in millijoule, powers in watt.",
    ]


if __name__ == "__main__":
    main()
