"""From fits of whole-model times to catalog rows: efficiency rows with provenance, and bands of the remaining error.

A calibration is fitted a backend at a time, on the parts it is meant for. Its error is that of
predictions for cases the fit did not see: whole model families left out, then whole parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import polars as pl

from charz.schema.catalog.efficiency import Efficiency, PredictionBand
from charz.schema.catalog.source import Source
from charz.schema.errors import some

from . import errors
from . import fit as fitting
from .kernels import Floats, Kernels

LOW, HIGH = 0.1, 0.9
"""Quantiles of a band: a nominal 80 % interval."""

_LEAST_ROWS = 12
"""Minimum left-out rows for a band; a class with fewer rows uses the band of all."""


@dataclass
class Calibration:
    """The calibration of one scope and backend."""

    scope: str
    backend: str
    fit: fitting.Fit
    kernels: Kernels
    family_out_s: Floats
    """Prediction of each case by a fit without its model family. [s]"""
    part_out_s: Floats | None
    """Prediction of each case by a fit without its part; null for a single part. [s]"""
    prior_s: Floats
    """Prediction of each case by the rows in force before the fit. [s]"""
    source: Source

    @property
    def is_better(self) -> bool:
        """True when the fit beats the rows in force on families it did not see: else it would only add
        parameters."""
        before = errors.table(self.cases, [], "prior_s")["median_error"][0]
        after = errors.table(self.cases, [], "family_out_s")["median_error"][0]
        return bool(after < before)

    @property
    def cases(self) -> pl.DataFrame:
        """Cases with `family_out_s` and, for several parts, `part_out_s`."""
        frame = self.kernels.cases.with_columns(
            family_out_s=pl.Series(self.family_out_s), prior_s=pl.Series(self.prior_s)
        )
        return frame if self.part_out_s is None else frame.with_columns(part_out_s=pl.Series(self.part_out_s))


def calibrate(
    kernels: Kernels,
    scope: str,
    backend: str,
    prior: fitting.Fit,
    fold_count: int = 6,
    strength: float = 1.0,
    least_share: float = 0.01,
    prior_without: fitting.PriorWithout | None = None,
) -> Calibration:
    """Fit one backend on the cases given, and predict each case without its family and its part. Classes and
    operators get parameters of their own from `least_share` of the time on. A prior that saw the cases needs
    `prior_without`, which makes it without given families."""
    own = fitting.subset(kernels, (kernels.cases["backend"] == backend).to_numpy())
    keys = fitting.choose_keys(own, least_share)
    fitted = fitting.fit(own, keys, prior, strength=strength)
    parts = own.cases["hardware"].n_unique()
    return Calibration(
        scope=scope,
        backend=backend,
        fit=fitted,
        kernels=own,
        family_out_s=fitting.left_out(own, keys, _left_out_by(own), fold_count, prior_without or prior, strength),
        part_out_s=fitting.left_out(own, keys, "hardware", parts, prior, strength) if parts > 1 else None,
        prior_s=fitting.predict(own, prior),
        source=_source(own, scope, backend),
    )


def _left_out_by(kernels: Kernels) -> str:
    """Choose to leave out families, or models if one family has half the rows: a suite of small networks is one family."""
    largest = kernels.cases["architecture_family"].value_counts()["count"].max()
    return "model" if 2 * int(largest) >= len(kernels.cases) else "architecture_family"  # type: ignore[arg-type]  # a count


def _source(kernels: Kernels, scope: str, backend: str) -> Source:
    sets = sorted(kernels.cases["source_id"].unique())
    models = kernels.cases["model"].n_unique()
    return Source(
        source_id=f"charz_calibration:{scope}:{backend}",
        kind="measurement",
        locator=some(sets, 4),
        licence=None,
        what=f"charz calibrate on {date.today().isoformat()}: {len(kernels.cases)} whole-model times of {models} models",
    )


def prior_from_rows(efficiency: pl.DataFrame, scopes: Sequence[str], backend: str) -> fitting.Fit:
    """Collect the values in force before the fit; later scopes override earlier ones."""
    value: dict[fitting.Key, float] = {}
    class_of: dict[str, str] = {}
    for scope in scopes:
        for word in ("*", backend):
            rows = efficiency.filter(
                (pl.col("scope") == scope) & (pl.col("backend") == word) & (pl.col("precision_class") == "*")
                & pl.col("resource").is_in(fitting.RESOURCES)
            )  # fmt: skip
            for row in rows.iter_rows(named=True):
                name = row["kernel_class"]
                if row["operator_name"] != "*":
                    name = row["operator_name"]
                    class_of[name] = row["kernel_class"]
                key = (name, row["memory_format"], row["resource"])
                value[(*key, "maximum_fraction")] = row["maximum_fraction"]
                if row["half_work"] > 0 and row["resource"] != "overlap":
                    value[(*key, "half_work")] = row["half_work"]
    return fitting.Fit(value, class_of=class_of)


def error_table(calibration: Calibration) -> pl.DataFrame:
    """Score the left-out predictions by part, format and version; `left_out` names what the fit did not see, and
    `nothing fitted` marks the rows in force before."""
    by = ["hardware", "backend", "memory_format", "software"]
    tables = [
        errors.table(calibration.cases, by, "prior_s").with_columns(left_out=pl.lit("nothing fitted")),
        errors.table(calibration.cases, by, "family_out_s").with_columns(left_out=pl.lit("model family")),
    ]
    if calibration.part_out_s is not None:
        tables.append(errors.table(calibration.cases, by, "part_out_s").with_columns(left_out=pl.lit("part")))
    return pl.concat(tables)


def efficiency_rows(calibration: Calibration, is_suite: bool = False) -> list[Efficiency]:
    """Return the fitted rows, or an empty list if the rows in force predict left-out families as well. A suite always returns
    rows, since it shows each kernel class in only a few networks. Classes and formats without their own half_work use the
    shared one. Rows are numbered from 1; `store.numbered` replaces these by free numbers."""
    if not (calibration.is_better or is_suite):
        return []
    fitted = calibration.fit
    error = errors.table(calibration.cases, [], "family_out_s")["median_error"][0]
    note = f"fitted on {fitted.rows} rows; median |log ratio| {error:.3f} with model families left out"
    # A part's rows override all rows of its family, and its `*` overrides the family's row of a class: so they
    # repeat unchanged values.
    values = fitted.value if calibration.scope.startswith("hardware:") else fitted.prior
    places = sorted({(c, f, r) for c, f, r, _ in values})
    rows = [
        Efficiency(
            efficiency_id=0,
            scope=calibration.scope,
            backend=calibration.backend,
            kernel_class=kernel_class,
            operator_name=operator_name,
            precision_class="*",
            memory_format=memory_format,
            resource=resource,
            maximum_fraction=float(f"{fitted.get(names, memory_format, resource, 'maximum_fraction'):.4g}"),
            half_work=float(f"{half_work(fitted, names, memory_format, resource):.4g}"),
            source_id=calibration.source.source_id,
            confidence="measured",
            note=note,
        )
        for name, memory_format, resource in places
        for names in [fitting.lookup_names(calibration.kernels, name)]
        for kernel_class, operator_name in fitting.places(calibration.kernels, fitted, name)
    ]
    return [row.model_copy(update={"efficiency_id": number}) for number, row in enumerate(rows, start=1)]


def half_work(fitted: fitting.Fit, names: Sequence[str], memory_format: str, resource: str) -> float:
    """Return the half_work of a place; it is 0 for an overlap, a reorder and paging."""
    return 0.0 if resource in ("overlap", *fitting.LIBRARY) else fitted.get(names, memory_format, resource, "half_work")


def bands(cases: pl.DataFrame, predicted: str, scope: str, backend: str, source_id: str) -> list[PredictionBand]:
    """Compute quantiles of measured / predicted for the backend, over all sizes and for each size with enough rows."""
    scored = errors.with_log_ratio(cases, predicted).with_columns(size=errors.batch_class())
    groups = {"*": scored} | {str(k[0]): g for k, g in scored.group_by("size") if len(g) >= _LEAST_ROWS}
    rows = []
    for size, group in sorted(groups.items()):
        # measured / predicted, so that a latency times the factor is a bound.
        ratio = -group[errors.LOG_RATIO].to_numpy()
        low, high = np.quantile(ratio, [LOW, HIGH])
        rows.append(
            PredictionBand(
                scope=scope, backend=backend, batch_class=size, quantity="latency",
                low_factor=float(np.exp(low)), high_factor=float(np.exp(high)),
                median_error_fraction=float(np.median(np.abs(np.expm1(-ratio)))), row_count=len(group), part_count=group["hardware"].n_unique(),
                source_id=source_id, confidence="measured",
            )
        )  # fmt: skip
    return rows


def band_coverage(cases: pl.DataFrame, predicted: str, fold_count: int = 6) -> float:
    """Share of rows inside a band made of other families' residuals: the honest coverage of a nominal
    80 % interval."""
    scored = errors.with_log_ratio(cases, predicted)
    column = "architecture_family" if scored["architecture_family"].n_unique() > 1 else "model"
    inside = 0
    for fold in fitting.folds(scored[column].to_list(), fold_count):
        test = scored[column].is_in(fold)
        if test.all():
            return float("nan")
        low, high = np.quantile(scored.filter(~test)[errors.LOG_RATIO].to_numpy(), [1 - HIGH, 1 - LOW])
        seen = scored.filter(test)[errors.LOG_RATIO]
        inside += int(((seen >= low) & (seen <= high)).sum())
    return inside / max(1, len(scored))
