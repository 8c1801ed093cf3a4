"""Errors of the shipped fits to timm's results on what they did not see.

    python -m benchmarks.score_left_out DATABASE [--sample 0.1] [--markdown PAGE]

DATABASE comes from `benchmarks/ingest_timm.py`. The fits are those of `charz calibrate --shipped timm`, which writes
them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import page
from charz.hardware_catalog.calibration import errors
from charz.hardware_catalog.calibration import fit as fitting
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

CPU_CAUSES = {
    "vitamin": "Not found: 0.8 of its time is linear layers and the convolutions of its first stages.",
    "swin_transformer": "Not found: small ones as large, and windows of 144 tokens more than those of 49.",
    "vision_transformer_sam": "Products and softmax over 4,096 tokens take less than matrices read and written in turn; at 224 pixels 0.04.",
    "nfnet": "Weights normalized at every run; the fit without the family knows no other network that does so.",
    "levit": "Not found: batch norms behind linear layers are a fifth of its time.",
    "sequencer": "Recurrent layers: 0.83 of its time.",
}
"""The same on processors."""


BEYOND, LEAST_ROWS = 0.15, 10
"""Families of so many rows whose median error is larger are named with their cause."""

WIDE_SHARE = 0.2
"""Share of a network's products from which its grouped convolutions make it a row of their width."""

RECURRENT = "rnn"

OWN_ROWS = ("rtx4090 eager",)
"""Parts and backends that ship a fit of their own (`timm.shipped_rows`)."""

BANDS = """
    SELECT hardware, backend, batch_class, low_factor, high_factor FROM part_band WHERE quantity = 'latency'
"""

LARGE = ("7", "9")
"""Sides of the filters of large depthwise convolutions."""

CONVOLUTIONS = """
    SELECT o.model, o.operator_class, i.shape AS input, w.shape AS weight, SUM(t.coefficient) AS macs
    FROM operator AS o
    JOIN edge AS ei ON ei.model = o.model AND ei.consumer_operator_id = o.operator_id AND ei.position = 0
    JOIN tensor AS i ON i.model = o.model AND i.tensor_id = ei.tensor_id
    JOIN edge AS ew ON ew.model = o.model AND ew.consumer_operator_id = o.operator_id AND ew.position = 1
    JOIN tensor AS w ON w.model = o.model AND w.tensor_id = ew.tensor_id AND w.role = 'weight'
    JOIN term AS t ON t.model = o.model AND t.operator_id = o.operator_id AND t.quantity = 'macs'
    WHERE o.operator_class IN ('conv', 'depthwise_conv')
    GROUP BY ALL
"""


def main() -> None:
    """Fit, print, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--sample", type=float, default=1.0, help="share of the models, by a fixed hash")
    parser.add_argument("--folds", type=int, default=10, help="groups of model families left out in turn")
    parser.add_argument("--rows", type=Path, help="write every row with what was predicted there, as parquet")
    parser.add_argument("--markdown", type=Path, help="write the errors to this page")
    options = parser.parse_args()
    page.print_wide(3)
    with workspace.read(options.database) as connection:
        families, parts_of = timm.calibrations(connection, options.sample, options.folds)
        convolutions = connection.sql(CONVOLUTIONS).pl()
        bands = connection.sql(BANDS).pl()
    if options.rows is not None:
        told = [f.cases.with_columns(scope=pl.lit(f.scope)) for f in (*families, *parts_of)]
        pl.concat(told, how="diagonal_relaxed").write_parquet(options.rows)
    tables = [
        ("Errors", timm.error_table(families, parts_of)),
        ("Families of ten rows or more beyond 0.15", beyond(families)),
        ("Grouped convolutions, each width left out", widths_out(families[0], convolutions)),
        ("Networks of one operator, families left out", of_operators(families, convolutions)),
        ("What the shipped bands cover, families left out", coverage(families, parts_of, bands)),
    ]
    for heading, frame in tables:
        print(heading, frame, sep="\n")
    if options.markdown is not None:
        write_page(options.markdown, families, tables)


def write_page(path: Path, families: list[Calibration], tables: list[tuple[str, pl.DataFrame]]) -> None:
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
        (f"Families furthest off, {family.scope.split(':')[1]} {family.backend}", _by_family(family).head(15))
        for family in families
    ]
    page.write(path, "Validation on what the fits did not see", text, [*tables, *worst])


def beyond(families: list[Calibration]) -> pl.DataFrame:
    """Families that are far off in many rows."""
    is_far = (pl.col("rows") >= LEAST_ROWS) & (pl.col("median_error") > BEYOND)
    return pl.concat(
        _by_family(family)
        .filter(is_far)
        .select(pl.lit(family.scope).alias("scope"), pl.lit(family.backend).alias("backend"), pl.all())
        for family in families
    )


def widths_out(family: Calibration, convolutions: pl.DataFrame) -> pl.DataFrame:
    """Errors for networks of grouped convolutions by fits without the networks of that width."""
    width = _dimension("weight", 1).cast(pl.Int64)
    sized = convolutions.with_columns(
        width=width, is_grouped=(width > 1) & (width < _dimension("input", 1).cast(pl.Int64))
    )
    share = pl.col("macs") / pl.col("macs").sum().over("model")
    of_width = (
        sized.with_columns(share=share).filter("is_grouped").group_by("model", "width").agg(pl.col("share").sum())
    )
    of_width = of_width.filter(pl.col("share") >= WIDE_SHARE).sort("share").unique("model", keep="last")
    found = []
    start_values = timm.start(family.backend, is_gpu=True)
    for width_of, models in of_width.sort("width").group_by("width", maintain_order=True):
        test = family.kernels.cases["model"].is_in(models["model"].implode()).to_numpy()
        if not test.any():
            continue
        fit = fitting.fit(family.kernels, list(family.fit.prior), start_values, ~test, timm.FITS[0][3])
        predicted = fitting.predict(fitting.subset(family.kernels, test), fit)
        cases = family.kernels.cases.filter(pl.Series(test)).with_columns(
            width=pl.lit(width_of[0]), latency_s=pl.Series(predicted), networks=pl.lit(len(models))
        )
        found.append(errors.table(cases, ["width", "networks", "hardware", "memory_format"]))
    return pl.concat(found).select(
        "width", "networks", "hardware", "memory_format", "rows", "median_error", "p90_error", "bias"
    )


def of_operators(families: list[Calibration], convolutions: pl.DataFrame) -> pl.DataFrame:
    """Errors for networks of recurrent layers and of large depthwise convolutions."""
    side = _dimension("weight", -1)
    large = convolutions.filter(pl.col("operator_class") == "depthwise_conv").with_columns(side=side)
    large = large.filter(pl.col("side").is_in(LARGE)).sort("side").unique("model", keep="last")
    of_side = large.select("model", operator=pl.format("depthwise {}x{}", "side", "side"))
    found = []
    for family in families:
        is_recurrent = (family.kernels.group["kernel_class"] == RECURRENT).to_numpy()[family.kernels.group_of]
        rows = family.cases.with_row_index("row")
        recurrent = rows.filter(pl.col("row").is_in(np.unique(family.kernels.case[is_recurrent])))
        labelled = recurrent.select("model", operator=pl.lit("recurrent")).unique()
        cases = family.cases.join(pl.concat([of_side, labelled]), on="model")
        found.append(errors.table(cases, ["operator", "hardware", "backend", "memory_format"], "family_out_s"))
    return pl.concat(found).select(
        "operator", "hardware", "backend", "memory_format", "rows", "median_error", "p90_error", "bias"
    )


def _dimension(column: str, place: int) -> pl.Expr:
    """A number of a shape that is written as a list."""
    return pl.col(column).str.strip_chars("[]").str.split(", ").list.get(place)


def coverage(families: list[Calibration], parts_of: list[Calibration], bands: pl.DataFrame) -> pl.DataFrame:
    """Share of the runs that the shipped band holds round predictions that did not see the family, by the fit that the part ships;
    `band_width` is the mean logarithm of its ends' ratio."""
    rows = pl.concat(
        fitted.cases.drop("part_out_s", strict=False).filter(
            (pl.concat_str("hardware", pl.lit(" "), "backend").is_in(OWN_ROWS)) == is_own
        )
        for is_own, group in ((False, families), (True, parts_of))
        for fitted in group
    )
    scored = errors.with_log_ratio(rows, "family_out_s").with_columns(batch_class=errors.batch_class())
    return errors.band_table(scored.join(bands, on=["hardware", "backend", "batch_class"]), ["hardware", "backend"])


def _by_family(family: Calibration) -> pl.DataFrame:
    scored = errors.table(family.cases, ["architecture_family"], "family_out_s")
    first = scored.sort("median_error", descending=True)
    causes = CAUSES if family.scope == "family:gpu" else CPU_CAUSES
    why = pl.Series("why", [causes.get(name, "") for name in first["architecture_family"]])
    return first.select("architecture_family", "rows", "median_error", "bias", why)


if __name__ == "__main__":
    main()
