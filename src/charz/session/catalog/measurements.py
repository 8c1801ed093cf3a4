"""Commands that import and list measured results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from charz.schema.errors import CharzError

from ..answer import Rows, answer, of_frame
from ..core import Core
from ..parameters import File, Names, Text

if TYPE_CHECKING:
    from charz.ingest.measurements.files import Batch
    from charz.ingest.sources.spec import Spec

    Wanted = list[tuple[Spec, list[dict[str, Any]]]]
    """Models, each with the settings of its measurements."""


class Measurements:
    """Measured results of a session's database."""

    def __init__(self, session: Core) -> None:
        self.session = session

    @answer(is_writing=True)
    def import_(
        self,
        file: Annotated[
            File, Text("CSV file of timm, any CSV or parquet file, PyTorch trace (.json, .json.gz), or a folder of such files.")
        ],
        *,
        map: Annotated[Names | None, Text("Value of a field of `measurement`: field=column, field=column*1e-3 or field:=text; repeatable.")] = None,
        source: Annotated[str | None, Text("Name of the data set; default the file's name without suffix.")] = None,
        hardware: Annotated[str | None, Text("Hardware part on which the PyTorch trace was recorded.")] = None,
        model: Annotated[str | None, Text("Model of the PyTorch trace.")] = None,
        backend: Annotated[str, Text("Backend of the PyTorch trace.")] = "eager",
    ) -> Rows:
        """Import measured results from a file. They replace an earlier import of the same name.

        Each --map fills a field of `measurement` (`charz schema measurement` lists them):
        `charz measurements import runs.csv --map model=net --map hardware:=rtx4090 --map latency_s=ms*1e-3`.
        """
        from charz.ingest.measurements import files

        file = Path(file)
        paths = files.in_folder(file) if file.is_dir() else [file]
        trace = files.TraceContext(hardware, model, backend)
        mapping = [map] if isinstance(map, str) else list(map or ())
        batches = [files.read(path, mapping, source, trace) for path in paths]
        with self.session.changing() as connection:
            files.store_batches(connection, batches)
            unknown = files.unmatched(connection, batches)
            unscored = files.unscored(connection, batches)
        for path, batch in zip(paths, batches, strict=True):
            self._say_what_is_missing(path.name, batch)
            if path.suffix in files.TRACES:
                compared = f"charz diff {model or 'MODEL'} {path} --on {hardware} --backend {backend}"
                self.session.messages.remark(f"next: {compared} compares the calls of {path.name} with the predicted kernels")
        if unknown:
            more = ", ..." if len(unknown) > 6 else ""
            self.session.messages.warn(
                f"parts not in the catalog: {', '.join(unknown[:6])}{more} (their rows are stored but not scored; `charz hardware add` adds a part)"
            )
        if unscored:
            reasons = ", ".join(f"{count} {reason}" for reason, count in unscored[:6])
            self.session.messages.warn(
                f"measurements without a row in prediction_error: {reasons}; see unscored_measurement. `charz validate` predicts all measured"
                " conditions; `charz scenario add` adds a single condition"
            )
        rows = [
            (path.name, batch.row_type.TABLE, len(batch.frame), batch.untimed_count)
            for path, batch in zip(paths, batches, strict=True)
        ]
        return Rows(("file", "table", "row_count", "untimed_count"), rows)

    def _say_what_is_missing(self, name: str, batch: Batch) -> None:
        """Warn of columns that were not imported, and of fields that were filled with assumed values."""
        if batch.left_out:
            next = "--map FIELD=COLUMN imports a column, `charz schema measurement` lists the fields"
            self.session.messages.warn(f"{name}: columns left out: {', '.join(batch.left_out)} ({next})")
        if batch.assumed:
            said = ", ".join(f"{field} {value}" for field, value in batch.assumed.items())
            self.session.messages.warn(f"{name}: assumed where the file states none: {said} (--map FIELD=COLUMN or FIELD:=VALUE)")

    @answer()
    def list(self) -> Rows:
        """List the data sets of measurements, with the number of rows that can be compared with predictions."""
        from charz.ingest.measurements import files

        table = files.overview(self.session.connection())
        if not len(table):
            raise CharzError("no measurements in the database", next="charz measurements import FILE")
        return of_frame(table)
