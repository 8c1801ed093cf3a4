"""Writes docs/validation-h200.md: predictions for an H200 held against models that `benchmarks.measure_cuda` ran on one.

    python -m benchmarks.score_h200 DATABASE [--page docs/validation-h200.md]

DATABASE gets the models that it lacks, and the rows. Three scores: as a part that nobody measured (rows of single parts ignored),
whole model families left out of a fit of the part, and the shipped rows as they answer.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import polars as pl

import charz
from charz.session import Session

from . import page
from .measure_cuda import NAMED

MODELS = Path(__file__).parent / "measured" / "h200_models.csv"

PART = "h200_sxm_141"

SOURCE = "h200"

PLAIN = {named: plain for plain, named in NAMED.items()}
"""Policies of precisions that the rows name otherwise."""

BATCHED = f"x.mode = 'run' AND x.source_id = '{SOURCE}' AND x.backend = 'eager' AND x.batch >= 16"
"""Rows that the part's own rows are fitted to: those that do not wait for the host alone."""

TEXT = (
    "Written by `python -m benchmarks.score_h200 DATABASE --page docs/validation-h200.md`; do not edit.",
    "{models} networks under PyTorch 2.11 on one H200 SXM (`benchmarks/measured`, taken by `benchmarks.measure_cuda`): torchvision's "
    "and four language models at batch 1 to 256, in eager, as CUDA graphs and compiled, and one of each of 46 architectures of timm "
    "at batch 256, in nchw and nhwc. fp32 is fp32 here: TF32 is allowed where a row says tf32. Columns as in "
    "[validation](validation.md).",
    "The part's own efficiency rows are fitted to the eager rows of batch 16 and more. The first table is what a part is told that "
    "nobody measured, the second what is left for families that the fit did not see, the third what charz answers.",
)


def main() -> None:
    """Fill, score, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    rows = pl.read_csv(MODELS)
    is_there = given.database.exists()
    with charz.open(given.database) as db:
        fill(db, rows, given.jobs, is_there=is_there)
        scores = [
            ("As a part that nobody measured", _cells(db, "precision", family_only=True)),
            ("Families left out of the part's fit", _left_out(db)),
            ("As charz answers, by precision", _cells(db, "precision")),
            ("As charz answers, by batch", _cells(db, "batch")),
            ("Architectures furthest off", _furthest(db)),
            ("Power while it runs", _powers(db, rows)),
        ]
    if given.page:
        text = [line.format(models=rows["model"].n_unique()) for line in TEXT]
        page.write(given.page, "Validation on an H200", text, scores)
    page.print_wide()
    for heading, frame in scores:
        print(heading, frame, sep="\n")


def fill(db: Session, rows: pl.DataFrame, jobs: int, *, is_there: bool) -> None:
    """Ingest the models that the file lacks, and take the measurements in."""
    held = set(db.sql("SELECT source FROM model")["source"]) if is_there else set()
    wanted: dict[int | None, list[str]] = defaultdict(list)
    for name, side in rows.select("model_source", "resolution").unique(maintain_order=True).iter_rows():
        if name not in held:
            wanted[side if name.startswith("timm:") else None].append(name)
    for side, names in wanted.items():
        db.ingest(names, resolution=side, no_answers=True, jobs=jobs)
    db.measurements.import_(MODELS, map=[f"{name}={name}" for name in rows.columns], source=SOURCE)


def _cells(db: Session, section: str, *, family_only: bool = False) -> pl.DataFrame:
    frame = db.validate(
        where=f"x.source_id = '{SOURCE}'", section=section, least_rows=1, family_only=family_only
    )
    shown = ["backend", section if section in frame.columns else f"{section}_class", "rows", "median_error", "p90_error", "bias"]
    return frame.select(*shown, "within_30_fraction", "interval_coverage_fraction")


def _furthest(db: Session) -> pl.DataFrame:
    frame = db.validate(where=BATCHED, section="family", least_rows=2)
    return frame.sort("median_error", descending=True).select(
        "architecture_family", "rows", "median_error", "bias"
    ).head(20)  # fmt: skip


def _powers(db: Session, rows: pl.DataFrame) -> pl.DataFrame:
    """The mean power of a run [W], predicted and as the device counted it, of torchvision's and the language models."""
    sources = {source.lower(): model for source, model in db.sql("SELECT source, model FROM model").iter_rows()}
    found = []
    for row in rows.filter(~pl.col("model").str.starts_with("timm:")).iter_rows(named=True):
        precision = PLAIN.get(row["precision"], row["precision"])
        answer = db.sql(
            f"SELECT latency_s, energy_j FROM model_report WHERE memory_format = '{row['memory_format']}'",
            model=sources[row["model_source"].lower()],
            on=PART, backend=row["backend"], precision=precision, batch=row["batch"], sequence=row["sequence"],
        )  # fmt: skip
        if answer.height:
            predicted_w = answer["energy_j"][0] / answer["latency_s"][0]
            found.append((row["backend"], precision, row["batch"], row["energy_j"] / row["latency_s"], predicted_w))
    frame = pl.DataFrame(found, ["backend", "precision", "batch", "measured_w", "predicted_w"], orient="row")
    error = (pl.col("predicted_w") / pl.col("measured_w")).log()
    return frame.group_by("backend", "precision", "batch", maintain_order=True).agg(
        pl.len().alias("rows"), pl.col("measured_w", "predicted_w").median().round(0), error.abs().median().alias("median_error"),
        error.median().alias("bias"),
    )  # fmt: skip


def _left_out(db: Session) -> pl.DataFrame:
    frame = db.calibrate(f"hardware:{PART}", backend="eager", where=BATCHED, write=False)
    return frame.drop("backend", "spearman", strict=False)


if __name__ == "__main__":
    main()
