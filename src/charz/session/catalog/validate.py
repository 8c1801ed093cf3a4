"""The command that compares predictions with measured runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from charz.hardware_catalog.calibration.questions import CELLS, SCORED
from charz.schema.errors import CharzError

from .. import interruption
from ..answer import Rows, answer, of_frame
from ..axes import names, one_of
from ..core import Core
from ..parameters import AnyModels, Text
from .condition import of_session

if TYPE_CHECKING:
    import duckdb
    import polars as pl

    from charz.ingest.sources.spec import Spec

    Wanted = list[tuple[Spec, list[dict[str, Any]]]]
    """Models, each with the settings of its measurements."""

_WORST = (
    "model", "hardware", "backend", "batch", "measured_s", "unfitted_s", "latency_s", "host_factor", "log_ratio", "why"
)  # fmt: skip


class Validate(Core):
    """Comparison of predictions with measured runs."""

    @answer(*CELLS, "worst")
    def validate(
        self,
        models: AnyModels = None,
        *,
        where: Annotated[str, Text("SQL condition on rows of the table measurement, with alias x.")] = SCORED,
        least_rows: Annotated[int, Text("Smallest number of rows of a listed group.", least=1)] = 5,
        worst: Annotated[int, Text("Number of rows of largest error to list.", least=0)] = 10,
        family_only: Annotated[bool, Text("Ignore efficiency rows fitted to single parts.")] = False,
        section: Literal["part", "source", "precision", "batch", "family", "worst"] = "part",
    ) -> Rows:
        """Report the error of predictions by part, source, precision, batch class and model family, and the rows of largest error.

        The error of a row is the natural logarithm of predicted / measured time. `median_error` and `p90_error` are the median and the 90th
        percentile of its absolute value, `bias` is its median (above 0: predictions are too slow), `mape` the mean of |predicted /
        measured - 1|. `unfitted_median_error` and `unfitted_bias` score the predictions of `report`. All other scores multiply the host's
        dispatch time by a factor for each data set, fitted to the rows that wait for the host.
        """
        self.stays_here("a validation")
        import polars as pl

        from charz.hardware_catalog.calibration import validation

        frame = self._scored(where, family_only)
        if chosen := [self.model_name(name) for name in names(models)]:
            frame = frame.filter(pl.col("model").is_in(chosen))
            if frame.is_empty():
                next = "`charz measurements list` shows the measured models"
                raise CharzError("no measured run can be scored", ", ".join(chosen), next=next)
        if section == "worst":
            return of_frame(validation.worst(frame, worst).select(_WORST))
        kept = validation.score(frame, one_of("breakdown", section, CELLS), least_rows)
        few = len(validation.score(frame, section)) - len(kept)
        if few:
            self.messages.warn(f"left out: {few} groups by {section} of fewer than {least_rows} rows (--least-rows)")
        return of_frame(kept.with_columns(pl.selectors.float().round(3)))

    def _scored(self, where: str, is_family_only: bool) -> pl.DataFrame:
        """Return measured runs with their predictions, cached for the other sections of the same command."""
        from charz.hardware_catalog.calibration import validation

        connection = self.connection()
        key = (id(connection), where, is_family_only)
        if self._validated is None or self._validated[0] != key:
            condition = of_session(self, where)
            with interruption.guarded(connection, timeout_s=0):
                self._validated = (key, validation.validate(connection, condition, is_family_only))
            self._say_factors(self._validated[1])
            self._say_refused(connection)
        return self._validated[1]

    def _say_refused(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Warn of measured networks that differ from the ingested networks of the same name."""
        query = "SELECT DISTINCT model FROM refused_measurement ORDER BY model"
        refused = [name for (name,) in connection.execute(query).fetchall()]
        if refused:
            self.messages.warn(
                f"refused: rows of {', '.join(refused)}, whose parameters differ from the ingested network's"
            )

    def _say_factors(self, frame: pl.DataFrame) -> None:
        """Report the factors by which the host's time was multiplied, fitted to the scored rows."""
        fitted = frame.filter(frame["host_factor"] != 1.0).unique("source_id").sort("source_id")
        listed = [f"{source} {factor:.2g}" for source, factor in fitted.select("source_id", "host_factor").iter_rows()]
        if listed:
            self.messages.remark(f"factors on the host's time, fitted to the scored rows: {', '.join(listed)}")

    _validated: tuple[tuple[Any, ...], pl.DataFrame] | None = None
