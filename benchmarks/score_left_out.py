"""Errors of the shipped fits to timm's results on what they did not see.

    python -m benchmarks.score_left_out DATABASE [--sample 0.1] [--markdown PAGE]

DATABASE comes from `benchmarks/ingest_timm.py`. The fits are those of `charz calibrate --shipped timm`, which writes
them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from benchmarks import page
from charz.hardware_catalog.calibration import errors
from charz.hardware_catalog.calibration.shipped import timm
from charz.hardware_catalog.calibration.whole_models import Calibration
from charz.session import workspace

CAUSES = {
    "convmixer": "Depthwise convolutions of 9x9, channels-last by one kernel of cuDNN for all sizes.",
    "cait": "Mixing across heads: products of 4 to 16 columns.",
    "twins": "Attention in separate kernels over windows of 49 tokens.",
    "vision_transformer_sam": "Attention with decomposed relative positions: einsums and a mask as large as the scores.",
    "efficientvit_msra": "Waits for the host: 23 us a kernel under eager on that machine against the 30 us that ship.",
    "ghostnet": "Waits for the host.",
    "repghost": "Waits for the host.",
}
"""Why families stand where they do on GPUs, as far as their kernels show it."""


def main() -> None:
    """Fit, print, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--sample", type=float, default=1.0, help="share of the models, by a fixed hash")
    parser.add_argument("--folds", type=int, default=10, help="groups of model families left out in turn")
    parser.add_argument("--markdown", type=Path, help="write the errors to this page")
    options = parser.parse_args()
    page.print_wide(3)
    with workspace.read(options.database) as connection:
        families, parts_of = timm.calibrations(connection, options.sample, options.folds)
    table = timm.error_table(families, parts_of)
    print(table)
    if options.markdown is not None:
        write_page(options.markdown, families, table)


def write_page(path: Path, families: list[Calibration], table: pl.DataFrame) -> None:
    """The errors as a page."""
    models = max(family.cases["model"].n_unique() for family in families)
    text = [
        "Written by `python -m benchmarks.score_left_out DATABASE --markdown docs/validation-left-out.md`; do not edit.",
        f"Errors of predictions for timm's results (PyTorch 2.4, {models} models) by fits that did not see them: whole model"
        " families left out in turn, or the whole part. Columns as in [validation](validation.md). With a part left out"
        " it is predicted from the other GPU's fit and its own datasheet. Fits start from constants that know no network;"
        " what a part's own fit is pulled toward has not seen the families left out either.",
    ]
    worst = [
        (f"Families furthest off, {family.scope.split(':')[1]} {family.backend}", _by_family(family))
        for family in families
    ]
    page.write(path, "Validation on what the fits did not see", text, [("Errors", table), *worst])


def _by_family(family: Calibration) -> pl.DataFrame:
    scored = errors.table(family.cases, ["architecture_family"], "family_out_s")
    first = scored.sort("median_error", descending=True).head(15)
    causes = CAUSES if family.scope == "family:gpu" else {}
    why = pl.Series("why", [causes.get(name, "") for name in first["architecture_family"]])
    return first.select("architecture_family", "rows", "median_error", "bias", why)


if __name__ == "__main__":
    main()
