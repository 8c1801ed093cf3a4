"""Reads a file of measured results of any kind, which its name and columns determine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import polars as pl

from charz.schema.catalog.source import Source
from charz.schema.errors import CharzError
from charz.schema.row import Row
from charz.schema.scenario import Measurement, OperatorMeasurement

from . import collection, kineto, limits, mapped, store, timm_results

TRACES = (".json", ".gz")
"""Suffixes of traces of the PyTorch profiler."""

SUFFIXES = (".csv", ".tsv", ".parquet", *TRACES)


@dataclass(frozen=True)
class TraceContext:
    """Facts that a PyTorch trace does not contain."""

    hardware: str | None
    model: str | None
    backend: str


@dataclass(frozen=True)
class Batch:
    """Rows of one file, ready to be stored."""

    frame: pl.DataFrame
    row_type: type[Row]
    sources: list[Source]
    untimed_count: int = 0
    """Number of rows left out because they have no time, as timm writes for a model that did not run."""
    left_out: Sequence[str] = ()
    """Columns of the file that no field takes."""
    assumed: dict[str, object] = field(default_factory=dict)
    """Assumed value of each field that the file lacks in some row."""


def in_folder(folder: Path) -> list[Path]:
    """List the files of a folder that may contain measurements. Raise `CharzError` for an empty list."""
    found = sorted(p for p in folder.iterdir() if p.suffix in SUFFIXES)
    if not found:
        raise CharzError("no CSV, parquet or JSON files in the folder", str(folder))
    return found


def read(path: Path, mapping: Sequence[str], source: str | None, trace: TraceContext) -> Batch:
    """Read the rows of a file. A mapping wins; else name and columns determine the kind. Raise `CharzError` for an
    empty file, which would only delete the rows of an earlier import, and for an invalid time."""
    limits.check(path)
    try:
        batch = _read(path, mapping, source, trace)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise CharzError("the file cannot be read", str(path), str(error).splitlines()[0]) from error
    if not len(batch.frame):
        raise CharzError("no measurements in the file", str(path))
    for name in (c for c in ("latency_s", "throughput_per_s") if c in batch.frame.columns):
        wrong = batch.frame.filter(~((pl.col(name) > 0) & pl.col(name).is_finite()))
        # An operator without a device kernel, such as a view, takes 0 s of device time.
        wrong = wrong.filter(pl.col(name) != 0) if batch.row_type is OperatorMeasurement else wrong
        if len(wrong):
            what = f"{name} is not above 0 in {len(wrong)} of {len(batch.frame)} rows"
            raise CharzError(what, str(path), f"the first is {wrong[name][0]:g}", "correct or remove these rows")
    for column in (c for c, kind in batch.frame.schema.items() if kind.is_float()):
        if count := (~batch.frame[column].is_finite()).sum():
            what = f"{column} is not finite in {count} of {len(batch.frame)} rows"
            raise CharzError(what, str(path), next="correct or remove these rows")
    return batch


def _read(path: Path, mapping: Sequence[str], source: str | None, trace: TraceContext) -> Batch:
    # `bench.a10.csv` and `bench.t4.csv` are two data sets, so only the suffix is removed.
    name = source or Path(path.name.removesuffix(".gz")).stem
    if path.suffix in TRACES:
        if trace.hardware is None:
            raise CharzError("a trace does not name its device", str(path), next="add --hardware PART")
        frame = kineto.read(path, trace.model, trace.hardware, trace.backend, name)
        if frame.is_empty():
            next = "profile with activities=[ProfilerActivity.CPU, ...]"
            raise CharzError("the trace contains no ATen calls", str(path), next=next)
        return Batch(frame, OperatorMeasurement, [_source(name, path, "PyTorch profiler trace")])
    if mapping:
        return _mapped(path, mapping, name)
    if timm_results.settings(path.name):
        frame, found, untimed_count = timm_results.read(path)
        return Batch(frame, Measurement, [found], untimed_count)
    if path.suffix == ".parquet" and collection.kind(list(pl.read_parquet_schema(path))):
        frame, row_type, sources = collection.read(path)
        return Batch(frame, row_type, sources)
    columns = mapped.read_table(path).columns
    if mapped.is_named(columns):
        return _mapped(path, mapping, name)
    raise CharzError(
        "the file's kind is not known",
        str(path),
        f"its columns are {', '.join(columns)}",
        "map the columns: --map model=COLUMN --map hardware=COLUMN --map latency_s=COLUMN*1e-3 --map batch=COLUMN"
        " --map precision=COLUMN --map backend=COLUMN; a column with the name of its field needs no --map",
    )


def _mapped(path: Path, mapping: Sequence[str], name: str) -> Batch:
    found = mapped.read(path, mapping, name)
    sources = [_source(name, path, "measured rows")]
    return Batch(found.frame, Measurement, sources, left_out=found.left_out, assumed=found.assumed)


def store_batches(connection: duckdb.DuckDBPyConnection, batches: Sequence[Batch]) -> None:
    """Replace the stored rows of the batches' data sets by the batches; several may be of one data set."""
    for row_type in (Measurement, OperatorMeasurement):
        of_type = [batch for batch in batches if batch.row_type is row_type]
        if of_type:
            frame = pl.concat([store.conform(batch.frame, row_type) for batch in of_type])
            sources = {source.source_id: source for batch in of_type for source in batch.sources}
            store.store(connection, frame, row_type, list(sources.values()))


def unmatched(connection: duckdb.DuckDBPyConnection, batches: Sequence[Batch]) -> list[str]:
    """List the part names of the batches that the catalog does not know, the most frequent first."""
    return store.unmatched_hardware(connection, _sources(batches))["hardware_name"].to_list()


def _sources(batches: Sequence[Batch]) -> list[str]:
    return sorted({source.source_id for batch in batches for source in batch.sources})


def unscored(connection: duckdb.DuckDBPyConnection, batches: Sequence[Batch]) -> list[tuple[str, int]]:
    """List the reasons why rows of the batches have no prediction, with row counts, the most frequent first."""
    query = (
        "SELECT reason, COUNT(*) AS rows FROM unscored_measurement WHERE list_contains(?, source_id)"
        " GROUP BY reason ORDER BY rows DESC, reason"
    )
    return connection.execute(query, [_sources(batches)]).fetchall()


def overview(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Return a line a data set: rows, rows on known parts, rows of ingested models on known parts."""
    return connection.sql(
        """
        SELECT x.source_id AS source, 'model' AS kind, COUNT(*) AS rows, COUNT(x.hardware) AS on_known_part,
            COUNT(*) FILTER (WHERE x.hardware IS NOT NULL AND m.match = 'matched') AS of_ingested_model
        FROM measurement AS x
        LEFT JOIN measured_model AS m USING (measurement_id)
        GROUP BY x.source_id
        UNION ALL
        SELECT source_id, 'operator', COUNT(*), COUNT(hardware), NULL
        FROM operator_measurement GROUP BY source_id
        ORDER BY kind, source
        """
    ).pl()


def _source(name: str, path: Path, what: str) -> Source:
    return Source(source_id=name, kind="measurement", locator=path.name, licence=None, what=what)
