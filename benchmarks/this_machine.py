"""Error of predictions on the processor this runs on, after `charz measure --characterize` has looked at it.

    python -m benchmarks.this_machine [FOLDER] [--seconds 3] [--markdown docs/validation-this-machine.md]

A quarter of an hour on two cores, and idle ones: other work makes times too long (as root, `chrt -f 10` in front keeps
it away). Neighbours on the same host cannot be seen: suite and models are measured in rounds, and the tenth percentile
of all runs of a network counts, its time when undisturbed.
FOLDER keeps the database and the drafted part; what is there is not done again. The part's peaks
and efficiency rows come from the suite of `ingest/measure/characterize.py`, so that the ten torchvision models, measured
eager at batch 1 and 8, are all left out of the fit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import time
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import page
from charz.hardware_catalog.calibration import errors, validation
from charz.hardware_catalog.calibration.workbench import Workbench, measured_cases
from charz.ingest.measure import characterize
from charz.session.catalog.measure import host_factor

PART = "this_machine"
MODELS = (
    "resnet18", "resnet50", "vgg16", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "densenet121",
    "squeezenet1_1", "convnext_tiny", "vit_b_16",
)  # fmt: skip
BATCHES = (1, 8)
HOW = ("--quantile", "0.1", "--rounds", "3")
"""How suite and models are measured."""


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("this-machine"))
    parser.add_argument("--seconds", type=float, default=3.0, help="least time spent on each measurement")
    parser.add_argument("--markdown", type=Path, help="write the tables to this page")
    return parser.parse_args()


def main() -> None:
    """Characterize, measure, score."""
    options = arguments()
    page.print_wide()
    options.folder.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    start = time.perf_counter()
    if not (options.folder / f"{PART}.yaml").exists():
        charz(options.folder, "measure", "--characterize", PART, *HOW)
        (options.folder / "seconds").write_text(f"{time.perf_counter() - start:.0f}")
    charz(options.folder, "ingest", *MODELS)
    database = options.folder / "charz.duckdb"
    missing = [name for name in MODELS if not is_measured(database, name)]
    if missing:
        batches = [text for batch in BATCHES for text in ("--batch", str(batch))]
        charz(
            options.folder, "measure", *missing, *batches, "--seconds", f"{options.seconds / 3:g}", "--no-operators", *HOW,
            "--hardware", PART,
        )  # fmt: skip
    rows = scored(database)
    for title, table in tables(rows):
        print(title)
        print(table)
    if options.markdown is not None:
        seconds = float((options.folder / "seconds").read_text())
        page.write(options.markdown, "Validation on one machine", text(database, rows, seconds, load), tables(rows))


def charz(folder: Path, *words: str) -> None:
    """Run the command line in the folder."""
    program = shutil.which("charz")
    if program is None:
        raise SystemExit("no `charz` on the path: install the package first")
    subprocess.run([program, *words], cwd=folder, env=os.environ | {"CHARZ_DB": "charz.duckdb"}, check=True)


def is_measured(database: Path, model: str) -> bool:
    """True when the database holds every batch of the model."""
    with duckdb.connect(str(database), read_only=True) as connection:
        found = connection.execute(
            "SELECT COUNT(DISTINCT batch) FROM measurement WHERE hardware = ? AND model_source = ?", [PART, model]
        ).fetchall()
    return int(found[0][0]) >= len(BATCHES)


def scored(database: Path) -> pl.DataFrame:
    """The ten models with predictions and bands, at the host time an operator takes here."""
    with duckdb.connect(str(database), read_only=True) as connection:
        factor = host_factor(connection, characterize.operator_time())
        cases = measured_cases(connection, f"x.hardware = '{PART}'").filter(pl.col("model").is_in(MODELS))
        with Workbench(connection, cases.with_columns(host_factor=pl.lit(factor))) as bench:
            frame = bench.predict(validation.COLUMNS)
        return errors.with_log_ratio(validation.with_bands(connection, frame))


def tables(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Every table with its title."""
    shown = rows.sort("batch", "model").select(
        "model", "batch", measured_ms=pl.col("measured_s") * 1e3, predicted_ms=pl.col("latency_s") * 1e3, log_ratio="log_ratio",
        compute_ms=pl.col("compute_s") * 1e3, memory_ms=pl.col("memory_s") * 1e3,
    )  # fmt: skip
    return [("By batch", errors.table(rows, ["batch"])), ("Rows", shown)]


def text(database: Path, rows: pl.DataFrame, seconds: float, load: float) -> list[str]:
    """Paragraphs of the page."""
    with duckdb.connect(str(database), read_only=True) as connection:
        name, cores = connection.execute(
            "SELECT h.name, u.unit_count FROM hardware AS h INNER JOIN part AS u USING (hardware) WHERE hardware = ?",
            [PART],
        ).fetchall()[0]
    return [
        "Written by `python -m benchmarks.this_machine --markdown docs/validation-this-machine.md`; do not edit.",
        f"{name}, {cores:.0f} cores, fp32, eager. `charz measure --characterize` took {seconds:.0f} s: peaks from large kernels,"
        f" efficiencies and the host's time ({rows['host_factor'][0]:.1f} of the reference) from small synthetic and some whole"
        " networks. None of the ten torchvision models was among them. Times are the tenth percentile of the runs of three"
        " rounds over everything, since neighbours on the same host only ever lengthen them. Columns as in"
        f" [validation](validation.md). One-minute load when it began: {load:.1f}.",
    ]


if __name__ == "__main__":
    main()
