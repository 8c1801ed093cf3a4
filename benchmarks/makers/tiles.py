"""Fits the constants of the tiles of one tensor-core instruction to one framework's timings of matrix products.

The constants are the share of the peak that each size of tile sustains, the exposed share of its last wave, the steps of the
reduction that filling takes, and the clocks of a kernel's start with and without a split reduction. They minimize the mean error
of the products of SGLang's newest version over all parts with the instruction, under the parts' current efficiency rows (`gemm`
fits those; run the two in turn). Sizes and splits are those of the catalog. The fit is regularized toward the catalog's values,
so that tiles which attention needs and products do not (128 x 64) stay. `python -m benchmarks.study gemm` scores the result on
the other frameworks.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from benchmarks.makers import bare
from charz.hardware_catalog.calibration.rows import FittedRows
from charz.hardware_catalog.calibration.workbench import Workbench
from charz.schema.catalog.tiling import TilingStrategy

from . import live, products

Case = tuple[Workbench, pl.DataFrame]

PRECISION = "bf16"
PARTS = {"mma": ["a100_sxm4_80", "l40s"], "wgmma": ["h100_sxm5_80", "h200_sxm_141"], "tcgen05": ["b200_sxm"]}
SIZE = ["tile_m", "tile_n"]
PER_SIZE = {"efficiency_fraction": (0.05, 1.0), "wave_quantization_fraction": (0.0, 1.0)}
"""Columns with one value for each size of tile, and their ranges."""
PULL = 1e-3
"""Gain in mean error below which a constant does not move through all of its range."""


def fit(
    connection: duckdb.DuckDBPyConnection,
    package: Path | None = None,
    instruction: str = "wgmma",
    rows: int = 400,
    evaluations: int = 600,
) -> FittedRows:
    """Fit the rows of the instruction's tiles to a number of timings a part. Raise `CharzError` if the package is missing."""
    from scipy.optimize import minimize

    shipped = live.tables()
    strategies = shipped["tiling_strategy"]
    is_fitted = pl.col("matrix_instruction").eq_missing(instruction)
    tiles, others = strategies.filter(is_fitted), strategies.filter(~is_fitted)
    first, limits = values_of(tiles), bounds(tiles)
    ranges = np.diff(np.array(limits)).ravel()
    with ExitStack() as open_benches:
        cases = [open_case(open_benches, connection, part, shipped, package, rows) for part in PARTS[instruction]]

        def error(values: np.ndarray) -> float:
            return mean_error(cases, pl.concat([others, with_values(tiles, values)]))

        def objective(values: np.ndarray) -> float:
            return error(values) + PULL * float((((values - first) / ranges) ** 2).sum())

        allowed = {"maxfev": evaluations, "ftol": 1e-5}
        found = minimize(objective, first, method="Powell", bounds=limits, options=allowed).x
        report = pl.DataFrame({"mape_before": [error(first)], "mape": [error(found)]})
    made = with_values(tiles, found).with_columns(pl.selectors.float().round_sig_figs(3))
    return FittedRows(constants=[TilingStrategy(**row) for row in made.iter_rows(named=True)], report=report)


def open_case(
    open_benches: ExitStack,
    connection: duckdb.DuckDBPyConnection,
    part: str,
    shipped: dict[str, pl.DataFrame],
    package: Path | None,
    rows: int,
) -> Case:
    """Open the views over the products that a part's constants are fitted to, with their timings."""
    measured = products.measured(package, PRECISION, [part], rows).filter(products.is_fitted())
    shapes = bare.numbered(measured.select("m", "n", "k"))
    measured = products.states(products.cache_byte(connection, shapes.head(1), [part], shipped), measured)
    states = tuple(measured["cache_state"].unique().sort())
    bench = bare.product_bench(connection, shapes, [part], PRECISION, overrides=shipped, cache_states=states)
    return open_benches.enter_context(bench), measured.join(shapes, on=["m", "n", "k"])


def mean_error(cases: list[Case], strategies: pl.DataFrame) -> float:
    """Compute the mean absolute relative error with these rows of `tiling_strategy`; parts weigh the same."""
    found = []
    for bench, measured in cases:
        bench.replace("tiling_strategy", strategies)
        both = measured.join(bare.read(bench), on=["operator_id", "cache_state"])
        found.append(both.select((pl.col("device_s") / pl.col("latency_s") - 1).abs().mean()).item())
    return float(np.mean(found))


def values_of(tiles: pl.DataFrame) -> np.ndarray:
    """Return the fitted constants of the rows: those of each size, `fill_k` and the clocks without and with a split."""
    sizes = tiles.unique(SIZE, keep="first", maintain_order=True)
    clocks = [
        tiles.filter(is_split)["latency_clock"][0] for is_split in (pl.col("split_k") == 1, pl.col("split_k") > 1)
    ]
    return np.array([*(v for column in PER_SIZE for v in sizes[column]), tiles["fill_k"][0], *clocks])


def bounds(tiles: pl.DataFrame) -> list[tuple[float, float]]:
    """Return the range of each constant of `values_of`."""
    count = tiles.unique(SIZE).height
    return [limits for limits in PER_SIZE.values() for _ in range(count)] + [(0, 500), (200, 8000), (500, 20000)]


def with_values(tiles: pl.DataFrame, values: np.ndarray) -> pl.DataFrame:
    """Replace the constants of the rows."""
    sizes = tiles.select(SIZE).unique(keep="first", maintain_order=True)
    per_size = np.split(values[:-3], len(PER_SIZE))
    fitted = sizes.with_columns(pl.Series(column, of) for column, of in zip(PER_SIZE, per_size, strict=True))
    fill_k, whole_clock, split_clock = values[-3:]
    made = tiles.drop(*PER_SIZE).join(fitted, on=SIZE, how="left", maintain_order="left")
    clock = pl.when(pl.col("split_k") == 1).then(whole_clock).otherwise(split_clock)
    return made.with_columns(fill_k=pl.lit(float(fill_k)), latency_clock=clock).select(tiles.columns)
