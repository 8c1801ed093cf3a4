"""Efficiency rows of single parts from one framework's timings of matrix products in aiconfigurator-core.

    python -m benchmarks.fit_gemm FOLDER [--package DIR] [--rows 500]

For every part five numbers are fitted: what share of its tensor cores' peak large tiles sustain under its power
limit, the work that a kernel's start and end cost, the share of bandwidth, the bytes that reaching it costs, and
how much of memory's time hides behind arithmetic. They are drawn toward the rows in force without them and put
in the CSV tables of FOLDER. `python -m benchmarks.score_gemm` scores them on the other frameworks.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from benchmarks import catalog, sampled, score_gemm
from charz.ingest.measurements import bare, catalog_csv, store
from charz.ingest.measurements.workbench import Workbench
from charz.schema.catalog import Efficiency

PULL = 1e-4
"""Mean error that a parameter one step away from the family's value must gain at least."""
EVALUATIONS = 130


@dataclass(frozen=True, slots=True)
class Parameter:
    """One fitted number: where it stands in an efficiency row, its range and its step."""

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


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="catalog tables that get the fitted rows")
    parser.add_argument("--package", type=Path, help="unpacked aiconfigurator_core folder; default the installed one")
    parser.add_argument("--rows", type=int, default=500, help="timings a part")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--hardware", nargs="*", default=sampled.PARTS)
    return parser.parse_args()


def main() -> None:
    """Fit and write the rows."""
    options = arguments()
    start = time.perf_counter()
    with catalog.database() as database:
        with duckdb.connect(str(database), read_only=True) as connection:
            if not connection.execute("SELECT 1 FROM source WHERE source_id = 'charz_gemm_fit'").fetchall():
                raise SystemExit("the catalog has no source charz_gemm_fit")
            efficiency = score_gemm.shared_rows(connection.sql("SELECT * FROM efficiency").pl())
            measured = score_gemm.states(connection, score_gemm.timings(
                options.package, options.precision, options.hardware, options.rows
            ))  # fmt: skip
        measured = measured.filter(score_gemm.is_fitted())
        rows = [
            row
            for part in options.hardware
            for row in fitted_rows(database, part, measured.filter(hardware=part), efficiency, options.precision)
        ]
    catalog_csv.replace_rows(options.folder, rows, [], [])
    print(f"{len(rows)} rows, {time.perf_counter() - start:.0f} s")


def fitted_rows(
    database: Path, part: str, measured: pl.DataFrame, efficiency: pl.DataFrame, precision: str
) -> list[Efficiency]:
    """Rows of one part."""
    shapes = bare.numbered(measured.select("m", "n", "k"))
    prior = prior_values(efficiency)
    with bare.product_bench(
        database, shapes, [part], precision, efficiency, cache_states=tuple(measured["cache_state"].unique().sort())
    ) as bench:
        found, error = search(bench, part, measured.join(shapes, on=["m", "n", "k"]), efficiency, prior)
    versions = ", ".join(measured.select(pl.format("{} {}", "framework", "version")).unique().to_series().sort())
    note = f"bf16 products of aiconfigurator-core, {versions} only: MAPE {error:.3f} there; drawn toward the family row"
    print(
        part, dict(zip([f"{p.resource}.{p.column}" for p in PARAMETERS], found.round(4).tolist(), strict=True)), error
    )
    return part_rows(part, found, note)


def prior_values(efficiency: pl.DataFrame) -> np.ndarray:
    """What holds for products on a GPU without rows of the part."""
    rows = efficiency.filter(scope="family:gpu", backend="*", kernel_class="linear")
    return np.array([rows.filter(resource=p.resource)[p.column].item() for p in PARAMETERS], dtype=float)


def search(
    bench: Workbench, part: str, measured: pl.DataFrame, efficiency: pl.DataFrame, prior: np.ndarray
) -> tuple[np.ndarray, float]:
    """Values of least error near the prior, and their error."""
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

    # Half-way to a part whose memory starts late: the simplex reaches the prior and beyond in one step.
    inside = (np.clip(prior + np.array([0.2, -0.5, 0.3, 0.8, 0.0]) * step, low, high) - prior) / step
    simplex = np.vstack([inside, inside + np.diag(np.where(prior + (inside + 1) * step > high, -1.0, 1.0))])
    best = minimize(objective, inside, method="Nelder-Mead", options={
        "maxfev": EVALUATIONS, "initial_simplex": simplex, "xatol": 1e-2, "fatol": 1e-5,
    })  # fmt: skip
    values = np.clip(prior + best.x * step, low, high)
    return values, error(values)


def part_rows(part: str, values: np.ndarray, note: str) -> list[Efficiency]:
    """The values as efficiency rows, numbered from 1."""
    of = {(p.resource, p.column): float(f"{v:.4g}") for p, v in zip(PARAMETERS, values, strict=True)}
    return [
        Efficiency(
            efficiency_id=number, scope=f"hardware:{part}", backend="*", kernel_class="linear", operator_name="*", precision_class="*", memory_format="*",
            resource=resource, maximum_fraction=of[resource, "maximum_fraction"],
            half_work=of.get((resource, "half_work"), 0.0), source_id="charz_gemm_fit", confidence="derived", note=note,
        )
        for number, resource in enumerate(("matrix", "memory", "overlap"), start=1)
    ]  # fmt: skip


if __name__ == "__main__":
    main()
