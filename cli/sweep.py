"""Sweep a model over any axes: parts, batches, sequences, precisions, backends, resolutions, sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from charz.schema.errors import CharzError
from charz.schema.scenario import MEMORY_FORMATS

from . import display
from .grid import (
    BackendsOption,
    BatchesOption,
    Grid,
    ModelsArgument,
    PartsOption,
    PrecisionsOption,
    SequencesOption,
    asked,
    names,
    numbers,
    show,
)
from .sql import Format, write
from .workspace import DatabaseOption, one_of, open_workspace

_COLUMNS = [
    "model", "hardware", "backend", "precision", "batch", "sequence", "latency_s", "throughput_per_s",
    "sample_j", "peak_memory_byte", "fits_device", "throughput_fraction", "saturating_batch", "is_simulated",
]  # fmt: skip


def command(
    models: ModelsArgument,
    on: PartsOption = None,
    batch: BatchesOption = None,
    sequence: SequencesOption = None,
    precision: PrecisionsOption = None,
    backend: BackendsOption = None,
    resolution: Annotated[str | None, typer.Option("--resolution", help="Image sides, e.g. 192,224,288.")] = None,
    memory_format: Annotated[str, typer.Option("--memory-format", help="nchw or nhwc.")] = "nchw",
    format: Annotated[Format, typer.Option("--format", help="How the rows are written.")] = Format.table,
    out: Annotated[Path | None, typer.Option("--out", help="File for the rows; else standard output.")] = None,
    db: DatabaseOption = None,
) -> None:
    """Sweep models over every combination of the axes given, and mark where each part saturates.

    Resolutions and synthetic sizes are models of their own: `charz ingest` them first.
    """
    one_of("memory format", memory_format, MEMORY_FORMATS)
    wanted = _at_resolutions(db, names(models), numbers(resolution))
    grid = Grid(
        wanted,
        names(on),
        numbers(batch),
        numbers(sequence),
        names([precision or ""]),
        names([backend or ""]),
        {"memory_format": memory_format},
    )
    with asked(db, grid, {"batch_sweep"}) as scope:
        order = "ORDER BY model, hardware, backend, precision, sequence, batch"
        if out is None and format is Format.table:
            show(scope, "batch_sweep", _COLUMNS, order)
            return
        write(scope.connection.sql(f"SELECT * FROM batch_sweep {order}").pl(), format, out)
    if out is not None:
        display.note("one row a combination; the columns are those of the view batch_sweep")


def _at_resolutions(db: Path | None, models: list[str], sides: list[int]) -> list[str]:
    """Names of the models at each image side; the side a model has by itself goes without a suffix."""
    if not sides:
        return models
    with open_workspace(db) as connection:
        own = dict(connection.execute("SELECT model, resolution FROM model").fetchall())
    wanted = [m if own.get(m) == side else f"{m}@{side}" for m in models for side in sides]
    missing = [name for name in wanted if name not in own]
    if missing:
        raise CharzError(
            "not ingested at this resolution", ", ".join(missing), next=f"`charz ingest {' '.join(missing)}`"
        )
    return wanted
