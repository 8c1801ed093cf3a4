"""Programs that fit rows shipped with charz, each to public data.

    python -m benchmarks.makers NAME [--file FILE] [--package FOLDER] [--csv hardware_catalog/tables]

`gemm`, `tiles_mma`, `tiles_wgmma`, `tiles_tcgen05` and `collectives` are fitted to the kernel timings of the PyPI package
aiconfigurator-core; `timm`, `bands` and `operators` to the measurements of FILE (`benchmarks.makers.ingest_timm` fills one).
Every fit starts from the shipped catalog and ignores the catalog of FILE.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb

from charz.hardware_catalog.calibration.rows import FittedRows
from charz.schema.errors import CharzError, unknown_name

from . import bands, collectives, gemm, operators, tiles, timm

FROM_TIMINGS: dict[str, Callable[[duckdb.DuckDBPyConnection, Path | None], FittedRows]] = {
    "gemm": gemm.fit,
    "collectives": collectives.fit,
    **{f"tiles_{name}": partial(tiles.fit, instruction=name) for name in tiles.PARTS},
}
"""Fits to aiconfigurator-core. They take its unpacked folder, or None for the installed package."""

FROM_DATABASE: dict[str, Callable[[duckdb.DuckDBPyConnection], FittedRows]] = {
    "timm": timm.fit,
    "bands": bands.fit,
    "operators": operators.fit,
}
"""Fits to the measurements of a database."""


def fit(connection: duckdb.DuckDBPyConnection, name: str, package: Path | None = None) -> FittedRows:
    """Fit the shipped rows of a name again; `package` is an unpacked aiconfigurator_core folder.

    Raise `CharzError` for an unknown name, a package that the fit does not read, and missing measurements.
    """
    if name in FROM_TIMINGS:
        return FROM_TIMINGS[name](connection, package)
    if name not in FROM_DATABASE:
        raise unknown_name("shipped fit", name, (*FROM_TIMINGS, *FROM_DATABASE))
    if package is not None:
        raise CharzError("this fit reads no package", name, f"{', '.join(FROM_TIMINGS)} do", "omit --package")
    return FROM_DATABASE[name](connection)
