"""Fit efficiency rows and error bands to the measurements in a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from charz.schema.errors import CharzError

from . import display
from .workspace import DatabaseOption, change_workspace, database_path, open_workspace

if TYPE_CHECKING:
    import polars as pl

    from charz.ingest.measurements.calibration import Calibration


def command(
    scope: Annotated[str, typer.Argument(help="Whom the rows are for: hardware:PART or family:gpu.")],
    hardware: Annotated[
        list[str] | None,
        typer.Option(help="Parts to fit on; default all measured ones of the scope.", show_default=False),
    ] = None,
    backend: Annotated[
        list[str] | None, typer.Option(help="Backends; default all measured ones.", show_default=False)
    ] = None,
    where: Annotated[str, typer.Option(help="SQL condition on measurement rows, alias x.")] = "x.mode = 'run'",
    strength: Annotated[float, typer.Option(help="Pull toward the family's values; 0 is none.")] = 1.0,
    folds: Annotated[int, typer.Option(min=2, help="Folds of model families left out.")] = 6,
    host_factor: Annotated[float, typer.Option(min=0.0, help="Host time of the machine over the reference.")] = 1.0,
    suite: Annotated[
        bool, typer.Option(help="Fit to a suite of operators: keep the rows whatever the error on those left out.")
    ] = False,
    write: Annotated[bool, typer.Option(help="Store the rows in the database.")] = True,
    csv: Annotated[
        Path | None,
        typer.Option(help="Folder whose efficiency.csv and prediction_band.csv get the rows too.", show_default=False),
    ] = None,
    db: DatabaseOption = None,
) -> None:
    """Fit few parameters a kernel class, print the error on model families and parts left out, store the rows.

    The database keeps its other rows: those of a part win over those of its family.
    """
    results = _fit(database_path(db), scope, hardware, backend, where, strength, folds, host_factor)
    for result in results:
        _print(result)
    rows, bands, sources = _rows(results, suite)
    if csv is not None:
        from charz.ingest.measurements import catalog_csv

        catalog_csv.replace_rows(csv, rows, bands, sources)
    if write:
        _store(db, scope, rows, bands, sources)
        display.note(f"{len(rows)} efficiency rows and {len(bands)} bands stored for {scope}")


def _fit(
    path: Path,
    scope: str,
    hardware: list[str] | None,
    backend: list[str] | None,
    where: str,
    strength: float,
    folds: int,
    host_factor: float,
) -> list[Calibration]:
    """A calibration a backend with enough measured rows."""
    import polars as pl

    from charz.ingest.measurements import calibration, kernels
    from charz.ingest.measurements.workbench import measured_cases

    with open_workspace(path) as connection:
        parts = hardware or _parts_of(connection, scope)
        efficiency = connection.sql("SELECT * FROM efficiency").pl()
        families = dict(connection.sql("SELECT hardware, family FROM hardware").fetchall())
    names = ", ".join(f"'{p}'" for p in parts)
    cases = measured_cases(path, f"x.hardware IN ({names}) AND ({where})")
    cases = cases.with_columns(host_factor=pl.lit(host_factor))
    if backend:
        cases = cases.filter(cases["backend"].is_in(backend))
    if len(cases) < 20:
        raise CharzError(
            "too few measured rows to fit", scope, f"{len(cases)} of ingested models on known parts",
            "ingest the measured models or import more measurements (`charz measurements list` shows what is there)",
        )  # fmt: skip
    extracted = kernels.extract(path, cases, efficiency)
    family = families[parts[0]]
    scopes = ["*", f"family:{family}"] if scope.startswith("hardware:") else ["*"]
    return [
        calibration.calibrate(
            extracted, scope, name, calibration.prior_from_rows(efficiency, scopes, name), folds, strength
        )
        for name in sorted(cases["backend"].unique())
        if len(cases.filter(cases["backend"] == name)) >= 20
    ]


def _parts_of(connection, scope: str) -> list[str]:  # type: ignore[no-untyped-def]  # duckdb is imported by the workspace
    """Measured parts that a scope covers."""
    kind, _, name = scope.partition(":")
    if kind not in ("hardware", "family", "architecture") or not name:
        raise CharzError("not a scope", scope, next="write hardware:rtx4090 or family:gpu")
    column = "hardware" if kind == "hardware" else kind
    found = connection.execute(
        f"SELECT DISTINCT h.hardware FROM hardware AS h JOIN measurement AS x USING (hardware)"
        f" WHERE h.{column} = ? ORDER BY 1",
        [name],
    ).fetchall()
    if not found:
        raise CharzError(
            "no measurements on parts of the scope", scope, next="`charz measurements import FILE` adds some"
        )
    return [part for (part,) in found]


def _print(result: Calibration) -> None:
    """Error on what the fit did not see, and the fitted values."""
    from charz.ingest.measurements import calibration

    display.note(
        f"{result.scope}, {result.backend}: {len(result.kernels.cases)} rows, {len(result.fit.prior)} parameters"
    )
    print_scores(calibration.error_table(result), ["left_out", "hardware", "memory_format", "software"])
    display.note(
        f"a nominal 80 % band covers {calibration.band_coverage(result.cases, 'family_out_s'):.0%} of left-out rows"
    )
    if not result.is_better:
        display.note("no better than the rows in force on families left out: only its bands are kept")


def print_scores(table: pl.DataFrame, by: list[str]) -> None:
    """A score table for people."""
    figures = ["rows", "median_error", "p90_error", "bias", "mape", "within_30_fraction", "spearman"]
    figures += [c for c in ("interval_coverage_fraction",) if c in table.columns]
    headers = [*by, "rows", "median", "p90", "bias", "MAPE", "within 30 %", "Spearman", "coverage"][
        : len(by) + len(figures)
    ]
    rows = [
        [*row[: len(by)], str(row[len(by)]), *(_figure(v) for v in row[len(by) + 1 :])]
        for row in table.select(*by, *figures).rows()
    ]
    display.show(display.table(headers, rows))


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _rows(results: list[Calibration], suite: bool):  # type: ignore[no-untyped-def]  # row types are imported lazily
    """Efficiency rows, bands and sources of all backends. Bands of a family rest on parts left out where
    several were fitted: those are the errors a part never seen will have."""
    from charz.ingest.measurements import calibration

    rows, bands, sources = [], [], []
    for result in results:
        unseen_part = result.part_out_s is not None and not result.scope.startswith("hardware:")
        predicted = "part_out_s" if unseen_part else "family_out_s"
        rows += calibration.efficiency_rows(result, suite)
        bands += calibration.bands(result.cases, predicted, result.scope, result.backend, result.source.source_id)
        sources.append(result.source)
    return rows, bands, sources


def _store(db: Path | None, scope: str, rows: list, bands: list, sources: list) -> None:  # type: ignore[type-arg]
    """Replace the scope's fitted rows of the backends fitted."""
    from charz.ingest.measurements import store
    from charz.schema import database

    with change_workspace(db) as connection:
        for source in sources:
            connection.execute("DELETE FROM source WHERE source_id = ?", [source.source_id])
            backend = source.source_id.rsplit(":", 1)[1]
            for table in ("efficiency", "prediction_band"):
                connection.execute(f"DELETE FROM {table} WHERE scope = ? AND backend = ?", [scope, backend])
        taken = [number for (number,) in connection.execute("SELECT efficiency_id FROM efficiency").fetchall()]
        rows = store.numbered(rows, taken, store.FIRST_OWN_ID)
        for group in (sources, rows, bands):
            database.insert_rows(connection, group)
