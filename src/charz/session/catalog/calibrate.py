"""The command that fits catalog rows to measured runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from charz.hardware_catalog.calibration.questions import FITTED
from charz.schema.errors import CharzError

from .. import interruption
from ..answer import Rows, answer, of_frame
from ..axes import names, path_of
from ..core import Core
from ..parameters import File, Names, Text
from .condition import of_session

if TYPE_CHECKING:
    from charz.ingest.sources.spec import Spec

    Wanted = list[tuple[Spec, list[dict[str, Any]]]]
    """Models, each with its settings."""


class Calibrate(Core):
    """Fits of catalog rows to measured runs."""

    @answer(is_writing=True)
    def calibrate(
        self,
        target: Annotated[str | None, Text("Scope of the rows: hardware:PART or family:gpu.")] = None,
        *,
        hardware: Annotated[Names | None, Text("Parts to fit on; default every measured part of the scope.")] = None,
        backend: Annotated[Names | None, Text("Backends; default every measured backend.")] = None,
        where: Annotated[str, Text("SQL condition on measurement rows, alias x.")] = FITTED,
        strength: Annotated[float, Text("Strength of the pull toward the family's values; 0 disables it.", least=0.0)] = 1.0,
        folds: Annotated[int, Text("Number of folds for cross-validation over model families.", least=2)] = 6,
        host_factor: Annotated[float, Text("Ratio of the machine's host time to the reference.", least=0.0)] = 1.0,
        suite: Annotated[
            bool, Text("Fit to a suite of operators: keep the rows whatever their error on left-out families.")
        ] = False,
        shipped: Annotated[
            str | None,
            Text(
                "Fit rows that charz ships, not those of a scope: gemm, tiles_mma, tiles_wgmma, tiles_tcgen05,"
                " collectives, timm, bands or operators. They are written to --csv only."
            ),
        ] = None,
        package: Annotated[
            File | None, Text("Unpacked aiconfigurator_core folder for --shipped; default the installed one.")
        ] = None,
        write: Annotated[bool, Text("Store the rows in the database.")] = True,
        csv: Annotated[File | None, Text("Folder of the CSV tables to write, e.g. hardware_catalog/tables.")] = None,
    ) -> Rows:
        """Fit a few parameters a kernel class, report the error on left-out model families and parts, and store the rows.

        Other rows of the database stay. Rows of a part take precedence over those of its family.
        """
        package, csv = path_of(package), path_of(csv)
        if shipped is not None:
            own = {
                "TARGET": target is not None, "--hardware": bool(hardware), "--backend": bool(backend),
                "--where": where != FITTED, "--strength": strength != 1.0, "--folds": folds != 6,
                "--host-factor": host_factor != 1.0, "--suite": suite,
            }  # fmt: skip
            given = [name for name, is_given in own.items() if is_given]
            if given:
                raise CharzError("--shipped has settings of its own", ", ".join(given), next="leave them out")
            return self._ship(shipped, package, csv)
        if target is None or package is not None:
            where_wrong = "--package" if target else "TARGET"
            raise CharzError(
                "needs a scope, or --shipped", where_wrong, next="write hardware:rtx4090 or --shipped gemm"
            )
        condition = of_session(self, where)
        with interruption.guarded(self.connection(), timeout_s=0):
            return self._calibrated(
                target,
                names(hardware),
                names(backend),
                where=condition,
                strength=strength,
                folds=folds,
                host_factor=host_factor,
                is_suite=suite,
                is_written=write,
                csv=csv,
            )

    def _calibrated(
        self,
        target: str,
        hardware: Sequence[str] = (),
        backends: Sequence[str] = (),
        *,
        is_suite: bool = False,
        is_written: bool = True,
        csv: Path | None = None,
        **options: Any,
    ) -> Rows:
        """Fit, store the rows, and return each backend's error on left-out data."""
        import polars as pl

        from charz.hardware_catalog.calibration import calibrate, catalog_csv, store, whole_models

        results = calibrate.fit(self.connection(), target, hardware=hardware, backends=backends, **options)
        rows = calibrate.rows(results, is_suite)
        if csv is not None:
            catalog_csv.replace_rows(csv, rows)
        if is_written:
            with self.changing() as connection:
                store.replace(connection, rows)
            self.messages.remark(
                f"{len(rows.efficiency)} efficiency rows and {len(rows.bands)} bands stored for {target}"
            )
        tables = []
        for result in results:
            covered = whole_models.band_coverage(result.cases, "family_out_s")
            kept = (
                ""
                if result.is_better
                else "; no better on left-out families than the present rows: only its bands are kept"
            )
            self.messages.remark(
                f"{result.scope}, {result.backend}: {len(result.kernels.cases)} rows, {len(result.fit.prior)} parameters;"
                f" a nominal 80 % band covers {covered:.0%} of left-out rows{kept}"
            )
            tables.append(whole_models.error_table(result).with_columns(backend=pl.lit(result.backend)))
        return of_frame(pl.concat(tables, how="diagonal_relaxed"))

    def _ship(self, name: str, package: Path | None, csv: Path | None) -> Rows:
        """Fit shipped rows, write them to the tables of a folder, and return a report."""
        from charz.hardware_catalog.calibration import catalog_csv
        from charz.hardware_catalog.calibration import shipped as fits

        rows = fits.fit(self.connection(create=True), name, package)
        count = len(rows.efficiency) + len(rows.bands) + len(rows.constants)
        if csv is None:
            self.messages.remark(f"{count} rows fitted; --csv hardware_catalog/tables writes them there")
        else:
            catalog_csv.replace_rows(csv, rows)
            self.messages.remark(f"{count} rows written to {csv}")
        return of_frame(rows.report)
