"""Fits the shipped efficiencies of whole networks to timm's results.

The database contains timm's models and results (`benchmarks/makers/ingest_timm.py` makes one). One set of constants is fitted for
all GPUs and one for all CPUs, each with whole model families left out in turn, the GPUs' also with each part left out. A part
gets rows of its own if a fit to it alone is better than its family's on the same families left out. Only files of PyTorch 2.4 are
used, since other versions of the same part are near-copies. The fit takes eight minutes and 12 GB for 1,250 models; `python -m
benchmarks.study left_out` gives the errors on the families and parts left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import numpy as np
import polars as pl

from charz.hardware_catalog.calibration import errors, kernels, whole_models
from charz.hardware_catalog.calibration import fit as fitting
from charz.hardware_catalog.calibration.rows import FittedRows, shared_rows
from charz.hardware_catalog.calibration.whole_models import Calibration
from charz.hardware_catalog.calibration.workbench import measured_cases
from charz.schema import ddl
from charz.schema.catalog.efficiency import Efficiency, PredictionBand
from charz.schema.errors import CharzError

from . import live

GPUS, CPUS = ("rtx4090", "rtx3090"), ("i9_10940x",)
FITS = (
    ("family:gpu", "eager", GPUS, 8.0),
    ("family:gpu", "inductor", GPUS, 8.0),
    ("family:cpu", "inductor", CPUS, 0.3),
)
"""Scope, backend, parts and strength of the pull toward the start values. On GPUs the errors on families left out fall by up to
0.006 as the strength grows from 1 to 6 and stay to 14. The CPUs' start values are guesses far from the result: 0.076 at 0.3,
0.082 at 1, 0.093 at 8."""

LEAST_SHARE = 0.001
"""Share of the ideal time from which classes and operators have parameters of their own."""

FROM_OPERATORS = {
    "norm": 0.6,
    "softmax": 0.65,
    "elementwise": 0.9,
    "activation": 0.9,
    "copy": 0.85,
    "cast": 0.9,
    "bias": 0.85,
}
"""Shares of the memory's peak that single operators reach (`operators`): the start values of eager fits. A bias, which no single
operator shows, has that of a copy. Fits never start at the shipped rows, because earlier fits used the families that are left
out."""

OF_LIBRARY = {"nchw_own": 0.0282, "nchw_wide": 0.0443, "nhwc_wide": 0.0125}
"""Shares of the vector peak that PyTorch's and cuDNN's kernels for depthwise convolutions reach on an H200, as shipped in rows of
`charz_h200_operators`: start values of all GPU fits, since eager and inductor call the same library."""

LARGE = 0.08
"""Share of the memory's peak of depthwise convolutions in channels-last of 2^31 elements, as shipped: start value of all GPU fits."""

BY = ["left_out", "hardware", "backend", "memory_format"]


def fit(connection: duckdb.DuckDBPyConnection) -> FittedRows:
    """Fit the rows of the families and of the parts that need their own. Raise `CharzError` if timm's results are missing."""
    families, parts_of = calibrations(connection)
    made = shipped_rows(families, parts_of)
    made.report = error_table(families, parts_of)
    return made


def calibrations(
    connection: duckdb.DuckDBPyConnection, sample: float = 1.0, folds: int = 10
) -> tuple[list[Calibration], list[Calibration]]:
    """Fit each family under each backend, and each of its parts, to a sample of the models by a fixed hash, with groups of model
    families left out in turn."""
    tables = live.tables()
    efficiency = shared_rows(tables.pop("efficiency"))
    extracted = {parts: extract(connection, parts, efficiency, tables, sample) for parts in (GPUS, CPUS)}
    families, parts_of = [], []
    for scope, backend, parts, strength in FITS:
        whole = extracted[parts]
        start_values = start(backend, parts == GPUS)
        family = whole_models.calibrate(whole, scope, backend, start_values, folds, strength, LEAST_SHARE)
        # The start values are not compared with the fit.
        family.prior_s = np.full(len(family.prior_s), np.inf)
        families.append(family)
        parts_of += [_part(family, part, start_values, folds, strength) for part in _measured(family, parts)]
    return families, parts_of


def extract(
    connection: duckdb.DuckDBPyConnection,
    parts: tuple[str, ...],
    efficiency: pl.DataFrame,
    tables: dict[str, pl.DataFrame],
    sample: float,
) -> kernels.Kernels:
    """Extract the kernels of the measured models on the parts. Raise `CharzError` without any."""
    names = ", ".join(map(ddl.literal, parts))
    where = f"x.source_id LIKE 'timm:%' AND x.hardware IN ({names}) AND x.software = 'pt240'"
    cases = measured_cases(connection, f"{where} AND hash(m.model) % 1000 < {sample * 1000}")
    if not len(cases):
        raise CharzError(
            "no results of timm to fit", ", ".join(parts), next="ingest timm's models and import its results"
        )
    return kernels.extract(connection, cases, efficiency, tables)


def start(backend: str, is_gpu: bool) -> fitting.Fit:
    """Return the start values of a fit: the shares that single operators reach."""
    known = FROM_OPERATORS if backend == "eager" else {}
    shares = {(c, "*", "memory", "maximum_fraction"): v for c, v in known.items()}
    if is_gpu:
        shares |= {("depthwise_conv", f, "vector", "maximum_fraction"): v for f, v in OF_LIBRARY.items()}
        shares["depthwise_conv", "nhwc_large", "memory", "maximum_fraction"] = LARGE
    return fitting.Fit(shares)


def _measured(family: Calibration, parts: tuple[str, ...]) -> list[str]:
    found = set(family.cases["hardware"])
    return [part for part in parts if part in found]


def _part(family: Calibration, part: str, start_values: fitting.Fit, folds: int, strength: float) -> Calibration:
    """Fit one part alone, pulled toward its family's fit and compared with its family's left-out errors. When model families are
    left out, so are they in the fit that it is pulled toward."""
    own = (family.kernels.cases["hardware"] == part).to_numpy()

    def without(families: Sequence[str]) -> fitting.Fit:
        seen = ~family.kernels.cases["architecture_family"].is_in(list(families)).to_numpy()
        return fitting.fit(family.kernels, list(family.fit.prior), start_values, seen, strength)

    found = whole_models.calibrate(
        fitting.subset(family.kernels, own), f"hardware:{part}", family.backend, family.fit, folds, strength, LEAST_SHARE,
        without,
    )  # fmt: skip
    found.prior_s = family.family_out_s[own]
    return found


def error_table(families: list[Calibration], parts_of: list[Calibration]) -> pl.DataFrame:
    """Tabulate left-out errors of the families' constants and of the parts' own."""
    tables = []
    for family in families:
        tables.append(_scored(family.cases, "family_out_s", "model family"))
        if family.part_out_s is not None:
            tables.append(_scored(family.cases, "part_out_s", "part"))
    tables += [_scored(p.cases, "family_out_s", "model family, fitted to the part alone") for p in parts_of]
    return pl.concat(tables)


def _scored(cases: pl.DataFrame, predicted: str, what: str) -> pl.DataFrame:
    figures = ["rows", "median_error", "p90_error", "bias", "mape", "within_30_fraction", "spearman"]
    return errors.table(cases.with_columns(left_out=pl.lit(what)), BY, predicted).select(*BY, *figures)


def shipped_rows(families: Sequence[Calibration], parts_of: Sequence[Calibration]) -> FittedRows:
    """Make efficiency rows, bands and sources for the catalog. A part whose own fit does not improve on its family's loses the rows
    of an earlier fit."""
    made = FittedRows(withdrawn={(part.scope, part.backend) for part in parts_of})
    for family in families:
        name = f"charz_family_fit_{family.scope.split(':')[1]}_{family.backend}"
        made.efficiency += [
            row.model_copy(update={"source_id": name, "confidence": "derived"}) for row in _complete(family)
        ]
        made.sources.append(family.source.model_copy(update={"source_id": name, "licence": "Apache-2.0"}))
        if family.part_out_s is not None:
            made.bands += _bands(family, "part_out_s")
            made.sources.append(family.source)
    for part in parts_of:
        made.efficiency += whole_models.efficiency_rows(part)
        made.bands += _bands(part, "family_out_s")
        made.sources.append(part.source)
    return made


def _bands(fitted: Calibration, predicted: str) -> list[PredictionBand]:
    return whole_models.bands(fitted.cases, predicted, fitted.scope, fitted.backend, fitted.source.source_id)


def _complete(family: Calibration) -> list[Efficiency]:
    """Return the family's rows, with rows for products that the fit lacks, since rows for every backend would override them."""
    rows = whole_models.efficiency_rows(family)
    if family.scope != "family:gpu":
        return rows
    have = {(row.kernel_class, row.memory_format, row.resource): row for row in rows if row.operator_name == "*"}
    missing = [
        have["*", "*", resource].model_copy(update={"kernel_class": kernel_class})
        for kernel_class in ("linear", "matmul")
        for resource in ("memory", "overlap")
        if (kernel_class, "*", resource) not in have
    ]
    return rows + missing
