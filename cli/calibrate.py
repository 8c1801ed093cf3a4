"""Fit efficiency rows and error bands to the measurements in a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from charz.schema.errors import CharzError

from . import display
from .workspace import DatabaseOption, change_workspace, open_workspace

if TYPE_CHECKING:
    import polars as pl

    from charz.hardware_catalog.calibration.whole_models import Calibration

RUNS = "x.mode = 'run'"


def command(
    scope: Annotated[
        str | None,
        typer.Argument(help="Whom the rows are for: hardware:PART or family:gpu.", show_default=False),
    ] = None,
    hardware: Annotated[
        list[str] | None,
        typer.Option(help="Parts to fit on; default all measured ones of the scope.", show_default=False),
    ] = None,
    backend: Annotated[
        list[str] | None, typer.Option(help="Backends; default all measured ones.", show_default=False)
    ] = None,
    where: Annotated[str, typer.Option(help="SQL condition on measurement rows, alias x.")] = RUNS,
    strength: Annotated[float, typer.Option(help="Pull toward the family's values; 0 is none.")] = 1.0,
    folds: Annotated[int, typer.Option(min=2, help="Folds of model families left out.")] = 6,
    host_factor: Annotated[float, typer.Option(min=0.0, help="Host time of the machine over the reference.")] = 1.0,
    suite: Annotated[
        bool, typer.Option(help="Fit to a suite of operators: keep the rows whatever the error on those left out.")
    ] = False,
    shipped: Annotated[
        str | None,
        typer.Option(
            help="Fit rows that charz ships instead of a scope's: gemm, tiles_mma, tiles_wgmma, tiles_tcgen05, collectives,"
            " timm, bands or operators. They go to --csv alone.",
            show_default=False,
        ),
    ] = None,
    package: Annotated[
        Path | None,
        typer.Option(
            help="Unpacked aiconfigurator_core folder for --shipped; default the installed one.", show_default=False
        ),
    ] = None,
    write: Annotated[bool, typer.Option(help="Store the rows in the database.")] = True,
    csv: Annotated[
        Path | None,
        typer.Option(help="Folder whose tables get the rows, e.g. hardware_catalog/tables.", show_default=False),
    ] = None,
    db: DatabaseOption = None,
) -> None:
    """Fit few parameters a kernel class, print the error on model families and parts left out, store the rows.

    The database keeps its other rows: those of a part win over those of its family.
    """
    if shipped is not None:
        own = {
            "SCOPE": scope is not None, "--hardware": bool(hardware), "--backend": bool(backend), "--where": where != RUNS,
            "--strength": strength != 1.0, "--folds": folds != 6, "--host-factor": host_factor != 1.0, "--suite": suite,
        }  # fmt: skip
        given = [name for name, is_given in own.items() if is_given]
        if given:
            raise CharzError("--shipped fits by its own settings", ", ".join(given), next="leave them out")
        _ship(shipped, package, csv, db)
        return
    if scope is None or package is not None:
        where_wrong = "--package" if scope else "SCOPE"
        raise CharzError("needs a scope, or --shipped", where_wrong, next="write hardware:rtx4090 or --shipped gemm")
    from charz.hardware_catalog.calibration import calibrate, catalog_csv, store

    with open_workspace(db) as connection:
        results = calibrate.fit(
            connection, scope, hardware=hardware or (), backends=backend or (), where=where, strength=strength, folds=folds,
            host_factor=host_factor,
        )  # fmt: skip
    for result in results:
        _print(result)
    rows = calibrate.rows(results, suite)
    if csv is not None:
        catalog_csv.replace_rows(csv, rows)
    if write:
        with change_workspace(db) as connection:
            store.replace(connection, rows)
        display.note(f"{len(rows.efficiency)} efficiency rows and {len(rows.bands)} bands stored for {scope}")


def _ship(name: str, package: Path | None, csv: Path | None, db: Path | None) -> None:
    """Fit shipped rows, print what they came to, and put them in the tables of a folder."""
    from charz.hardware_catalog.calibration import catalog_csv
    from charz.hardware_catalog.calibration import shipped as shipped_fits

    with open_workspace(db, create=True) as connection:
        rows = shipped_fits.fit(connection, name, package)
    if rows.report.width:
        display.show(display.table(rows.report.columns, rows.report.rows()))
    count = len(rows.efficiency) + len(rows.bands) + len(rows.constants)
    if csv is None:
        display.note(f"{count} rows fitted; --csv hardware_catalog/tables puts them there")
        return
    catalog_csv.replace_rows(csv, rows)
    display.note(f"{count} rows put in {csv}")


def _print(result: Calibration) -> None:
    """Error on what the fit did not see, and the fitted values."""
    from charz.hardware_catalog.calibration import whole_models

    display.note(
        f"{result.scope}, {result.backend}: {len(result.kernels.cases)} rows, {len(result.fit.prior)} parameters"
    )
    print_scores(whole_models.error_table(result), ["left_out", "hardware", "memory_format", "software"])
    display.note(
        f"a nominal 80 % band covers {whole_models.band_coverage(result.cases, 'family_out_s'):.0%} of left-out rows"
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
