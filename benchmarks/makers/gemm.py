"""Fits efficiency rows of single parts to one framework's timings of matrix products in aiconfigurator-core.

For every part five numbers are fitted: the share of the tensor cores' peak that large tiles sustain under the power limit, the
work equivalent to a kernel's start and end, the share of bandwidth, the bytes equivalent to memory's start, and the share of
memory time hidden by arithmetic. The fit is regularized toward the family's rows. `python -m benchmarks.study gemm` scores the
result on the other frameworks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from benchmarks.makers import bare
from charz.hardware_catalog.calibration import store
from charz.hardware_catalog.calibration.rows import FittedRows, shared_rows
from charz.hardware_catalog.calibration.workbench import Workbench
from charz.schema.catalog.efficiency import Efficiency
from charz.schema.errors import CharzError

from . import live, products, timings

SOURCE_ID = "charz_gemm_fit"
PRECISION = "bf16"
PULL = 1e-4
"""Gain in mean error below which a parameter does not move one step from the family's value."""
EVALUATIONS = 130


@dataclass(frozen=True, slots=True)
class Parameter:
    """Fitted number: its resource and column in an efficiency row, its range and its step."""

    resource: str
    column: str
    low: float
    high: float
    step: float


PARAMETERS = (
    Parameter("matrix", "maximum_fraction", 0.3, 1.0, 0.1),
    Parameter("matrix", "half_work", 0.0, 2e7, 1.5e6),
    Parameter("memory", "maximum_fraction", 0.3, 1.0, 0.06),
    Parameter("memory", "half_work", 0.0, 2e5, 2e4),
    Parameter("overlap", "maximum_fraction", 0.0, 1.0, 0.1),
)


def fit(
    connection: duckdb.DuckDBPyConnection,
    package: Path | None = None,
    hardware: Sequence[str] = timings.PARTS,
    rows: int = 500,
) -> FittedRows:
    """Fit the rows of the parts, each to a number of timings. Raise `CharzError` if the package or the rows' source is missing."""
    shipped = live.tables()
    if SOURCE_ID not in shipped["source"]["source_id"]:
        raise CharzError("the catalog has no such source", SOURCE_ID, next="add its row to source.csv")
    efficiency = shared_rows(shipped.pop("efficiency"))
    measured = products.measured(package, PRECISION, hardware, rows).filter(products.is_fitted())
    made, found = FittedRows(), []
    for part in hardware:
        values, error, versions = _fitted(connection, measured.filter(hardware=part), part, efficiency, shipped)
        known = f"bf16 products of aiconfigurator-core, {versions} only"
        note = f"{known}: MAPE {error:.3f} there; drawn toward the family row"
        made.efficiency += part_rows(part, values, note)
        names = (f"{p.resource}.{p.column}" for p in PARAMETERS)
        found.append({"hardware": part, **dict(zip(names, values.tolist(), strict=True)), "mape": error})
    made.report = pl.DataFrame(found)
    return made


def _fitted(
    connection: duckdb.DuckDBPyConnection,
    measured: pl.DataFrame,
    part: str,
    efficiency: pl.DataFrame,
    shipped: dict[str, pl.DataFrame],
) -> tuple[np.ndarray, float, str]:
    """Fit one part. Return its values, their error and the versions of its timings."""
    shapes = bare.numbered(measured.select("m", "n", "k"))
    cache_byte = products.cache_byte(connection, shapes.head(1), [part], shipped)
    measured = products.states(cache_byte, measured)
    states = tuple(measured["cache_state"].unique().sort())
    prior = prior_values(efficiency)
    with bare.product_bench(connection, shapes, [part], PRECISION, efficiency, shipped, states) as bench:
        values, error = search(bench, part, measured.join(shapes, on=["m", "n", "k"]), efficiency, prior)
    versions = ", ".join(measured.select(pl.format("{} {}", "framework", "version")).unique().to_series().sort())
    return values, error, versions


def prior_values(efficiency: pl.DataFrame) -> np.ndarray:
    """Return the values of products on a GPU without rows of its own."""
    rows = efficiency.filter(scope="family:gpu", backend="*", kernel_class="linear")
    return np.array([rows.filter(resource=p.resource)[p.column].item() for p in PARAMETERS], dtype=float)


def search(
    bench: Workbench, part: str, measured: pl.DataFrame, efficiency: pl.DataFrame, prior: np.ndarray
) -> tuple[np.ndarray, float]:
    """Minimize the error near the prior. Return the values and their error."""
    from scipy.optimize import minimize

    step = np.array([p.step for p in PARAMETERS])
    low, high = (np.array([getattr(p, side) for p in PARAMETERS]) for side in ("low", "high"))

    def error(values: np.ndarray) -> float:
        tried = store.numbered(part_rows(part, np.clip(values, low, high), ""), efficiency["efficiency_id"])
        rows = pl.DataFrame([row.model_dump() for row in tried])
        bench.replace("efficiency", pl.concat([efficiency, rows.select(efficiency.columns)], how="vertical_relaxed"))
        both = measured.join(bare.read(bench), on=["operator_id", "cache_state"])
        return float(both.select((pl.col("device_s") / pl.col("latency_s") - 1).abs().mean()).item())

    def objective(scaled: np.ndarray) -> float:
        values = prior + scaled * step
        outside = np.abs(values - np.clip(values, low, high)) / step
        return error(values) + PULL * float((scaled**2).sum()) + float(outside.sum())

    # Starts between the prior and a part whose memory starts late, so that one step of the simplex passes either.
    inside = (np.clip(prior + np.array([0.2, -0.5, 0.3, 0.8, 0.0]) * step, low, high) - prior) / step
    simplex = np.vstack([inside, inside + np.diag(np.where(prior + (inside + 1) * step > high, -1.0, 1.0))])
    best = minimize(objective, inside, method="Nelder-Mead", options={
        "maxfev": EVALUATIONS, "initial_simplex": simplex, "xatol": 1e-2, "fatol": 1e-5,
    })  # fmt: skip
    values = np.clip(prior + best.x * step, low, high)
    return values, error(values)


def part_rows(part: str, values: np.ndarray, note: str) -> list[Efficiency]:
    """Make efficiency rows of the values, numbered from 1."""
    of = {(p.resource, p.column): float(f"{v:.4g}") for p, v in zip(PARAMETERS, values, strict=True)}
    return [
        Efficiency(
            efficiency_id=number, scope=f"hardware:{part}", backend="*", kernel_class="linear", operator_name="*",
            precision_class="*", memory_format="*",
            resource=resource, maximum_fraction=of[resource, "maximum_fraction"],
            half_work=of.get((resource, "half_work"), 0.0), source_id=SOURCE_ID, confidence="derived", note=note,
        )
        for number, resource in enumerate(("matrix", "memory", "overlap"), start=1)
    ]  # fmt: skip
