"""Calibration of measured parts: one fit per backend from a database's measurements, and its rows."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import polars as pl

from charz.schema import ddl
from charz.schema.errors import CharzError

from . import kernels, whole_models
from .questions import FITTED
from .rows import FittedRows
from .whole_models import Calibration
from .workbench import measured_cases

SCOPES = ("hardware", "family", "architecture")
"""Columns of `hardware` that a scope may name."""

LEAST_ROWS = 20
"""Fewest measured rows that a backend needs."""


def fit(
    connection: duckdb.DuckDBPyConnection,
    scope: str,
    *,
    hardware: Sequence[str] = (),
    backends: Sequence[str] = (),
    where: str = FITTED,
    strength: float = 1.0,
    folds: int = 6,
    host_factor: float = 1.0,
) -> list[Calibration]:
    """Fit a calibration for each backend with enough measured rows, for a scope such as `hardware:rtx4090` or `family:gpu`.

    By default, all measured parts and backends of the scope are fitted; `hardware` and `backends` select some. `where` is a condition
    on rows of `measurement` (alias `x`), `strength` the pull toward the current values, `host_factor` the machine's host time relative
    to the reference. Raises `CharzError` for an invalid scope, or one with no or too few measurements.
    """
    parts = list(hardware) or parts_of(connection, scope)
    efficiency = connection.sql("SELECT * FROM efficiency").pl()
    names = ", ".join(map(ddl.literal, parts))
    cases = measured_cases(connection, f"x.hardware IN ({names}) AND ({where})")
    cases = cases.with_columns(host_factor=pl.lit(host_factor))
    if backends:
        cases = cases.filter(pl.col("backend").is_in(list(backends)))
    if len(cases) < LEAST_ROWS:
        raise CharzError(
            "too few measured rows to fit", scope, f"{len(cases)} of ingested models on known parts",
            "ingest the measured models or import more measurements (`charz measurements list` shows what is there)",
        )  # fmt: skip
    extracted = kernels.extract(connection, cases, efficiency)
    scopes = ["*", f"family:{_family(connection, parts[0])}"] if scope.startswith("hardware:") else ["*"]
    return [
        whole_models.calibrate(
            extracted, scope, name, whole_models.prior_from_rows(efficiency, scopes, name), folds, strength
        )
        for name in sorted(cases["backend"].unique())
        if len(cases.filter(pl.col("backend") == name)) >= LEAST_ROWS
    ]


def parts_of(connection: duckdb.DuckDBPyConnection, scope: str) -> list[str]:
    """Return the measured parts of a scope. Raises `CharzError` for an invalid scope or one without measurements."""
    kind, _, name = scope.partition(":")
    if kind not in SCOPES or not name:
        raise CharzError("not a scope", scope, next="write hardware:rtx4090 or family:gpu")
    found = connection.execute(
        f"SELECT DISTINCT h.hardware FROM hardware AS h JOIN measurement AS x USING (hardware)"
        f" WHERE h.{kind} = ? ORDER BY 1",
        [name],
    ).fetchall()
    if not found:
        raise CharzError(
            "no measurements on parts of the scope", scope, next="`charz measurements import FILE` adds some"
        )
    return [part for (part,) in found]


def rows(calibrations: Sequence[Calibration], is_suite: bool = False) -> FittedRows:
    """Make the rows of all backends. If several parts were fitted, a family's bands come from left-out parts: these show the errors on an
    unseen part. With `is_suite` the rows are kept whatever the error on left-out parts."""
    made = FittedRows()
    for result in calibrations:
        unseen_part = result.part_out_s is not None and not result.scope.startswith("hardware:")
        predicted = "part_out_s" if unseen_part else "family_out_s"
        made.efficiency += whole_models.efficiency_rows(result, is_suite)
        made.bands += whole_models.bands(result.cases, predicted, result.scope, result.backend, result.source.source_id)
        made.sources.append(result.source)
        made.withdrawn.add((result.scope, result.backend))
    return made


def _family(connection: duckdb.DuckDBPyConnection, part: str) -> str:
    query = "SELECT family FROM hardware WHERE hardware = ?"
    return str(connection.execute(query, [part]).fetchall()[0][0])
