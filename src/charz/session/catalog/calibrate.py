"""The command that fits catalog rows to measured runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from charz.hardware_catalog.calibration.questions import FITTED

from .. import interruption
from ..answer import Rows, answer, of_frame
from ..axes import names, path_of
from ..core import Core
from ..parameters import File, Names, Text
from .condition import of_session

if TYPE_CHECKING:
    from charz.ingest.sources.spec import Spec

    Wanted = list[tuple[Spec, list[dict[str, Any]]]]
    """Models, each with the settings of its measurements."""


class Calibrate(Core):
    """Fits of catalog rows to measured runs."""

    @answer(is_writing=True)
    def calibrate(
        self,
        target: Annotated[str, Text("Parts that the fitted rows apply to: hardware:PART or family:gpu.")],
        *,
        hardware: Annotated[Names | None, Text("Parts whose measurements are fitted; default every measured part of the target.")] = None,
        backend: Annotated[Names | None, Text("Backends; default every measured backend.")] = None,
        where: Annotated[str, Text("SQL condition on rows of the table measurement, with alias x.")] = FITTED,
        strength: Annotated[float, Text("Strength of the regularization toward the family's values; 0 disables it.", least=0.0)] = 1.0,
        folds: Annotated[int, Text("Number of folds for cross-validation over model families.", least=2)] = 6,
        host_factor: Annotated[float, Text("Host time of this machine divided by that of the reference machine.", least=0.0)] = 1.0,
        suite: Annotated[
            bool, Text("Store the rows even if they do not reduce the error on left-out families, for fits to a suite of operators.")
        ] = False,
        write: Annotated[bool, Text("Store the fitted rows in the database.")] = True,
        csv: Annotated[File | None, Text("Folder of CSV tables to write the fitted rows to, e.g. hardware_catalog/tables.")] = None,
    ) -> Rows:
        """Fit efficiency parameters of each kernel class to measurements, and report the error on left-out model families and parts.

        The fitted rows are stored; other rows of the database stay. Rows of a part take precedence over rows of the part's family.
        """
        csv = path_of(csv)
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
                else "; no smaller error on left-out families than the present rows, so only the bands are stored"
            )
            self.messages.remark(
                f"{result.scope}, {result.backend}: {len(result.kernels.cases)} rows, {len(result.fit.prior)} parameters;"
                f" a nominal 80 % band covers {covered:.0%} of left-out rows{kept}"
            )
            tables.append(whole_models.error_table(result).with_columns(backend=pl.lit(result.backend)))
        return of_frame(pl.concat(tables, how="diagonal_relaxed"))
