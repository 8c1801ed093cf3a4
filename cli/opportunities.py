"""What would help a model on a part: batch, precision, backend, other part, fusion."""

from __future__ import annotations

from typing import Annotated

import typer

from charz.schema.errors import CharzError

from . import display
from .grid import BackendsOption, BatchesOption, Grid, PrecisionsOption, SequencesOption, asked, names, numbers, show
from .workspace import MOST, PREFERRED_PRECISIONS, DatabaseOption, hardware_name, open_workspace

DEFAULT_BATCHES = [1, 8, 64]

_COLUMNS = [
    "backend", "precision", "batch", "kind", "change", "sample_s", "saved_s", "saved_time_fraction", "saved_j",
    "saved_energy_fraction", "saved_memory_byte", "saved_million_usd", "trade",
]  # fmt: skip
_FUSION = [
    "backend",
    "batch",
    "kernel_id",
    "kernel",
    "unfused_byte",
    "saved_byte",
    "saved_memory_s",
    "saved_launch_count",
]


def command(
    model: Annotated[str, typer.Argument(help="Ingested model; `charz models` lists them.")],
    on: Annotated[str, typer.Option("--on", help="Part; `charz hardware list` shows all.")],
    batch: BatchesOption = None,
    sequence: SequencesOption = None,
    precision: PrecisionsOption = None,
    backend: BackendsOption = None,
    parts: Annotated[bool, typer.Option("--parts", help="Other parts as well.")] = False,
    top: Annotated[int, typer.Option("--top", min=1, max=MOST, help="Rows a table.")] = 15,
    db: DatabaseOption = None,
) -> None:
    """List changes with what each saves and its trade, from the smallest batch and the first precision named that the part
    computes in."""
    batches, precisions = numbers(batch) or DEFAULT_BATCHES, names([precision or ""]) or PREFERRED_PRECISIONS
    with open_workspace(db) as connection:
        part = hardware_name(connection, on)
        backends = names([backend or ""]) or [
            name for (name,) in connection.execute("SELECT backend FROM backend ORDER BY backend").fetchall()
        ]
    grid = Grid([model], [] if parts else [part], batches, numbers(sequence), precisions, backends)
    with asked(db, grid, ("opportunity", "fusion_saving")) as scope:
        query = "SELECT min_by(precision, list_position(?, precision)) FROM part_support WHERE hardware = ?"
        ((precision_asked,),) = scope.connection.execute(query, [list(precisions), part]).fetchall()
        if precision_asked is None:
            raise CharzError(
                "this part does not run this model so",
                f"{model} on {part}",
                next="name another --precision or --backend",
            )
        start = "WHERE hardware = ? AND batch = ? AND precision = ?"
        found = show(
            scope, "opportunity", _COLUMNS,
            f"{start} ORDER BY saved_time_fraction DESC NULLS LAST, kind, change LIMIT {top}",
            [part, batches[0], precision_asked],
        )  # fmt: skip
        if not found:
            raise CharzError(
                "nothing known would help",
                f"{model} on {on}",
                next="widen --batch, --precision, --backend or add --parts",
            )
        display.heading("Fusions that save most")
        show(
            scope,
            "fusion_saving",
            _FUSION,
            f"{start} ORDER BY saved_byte DESC, kernel_id LIMIT {top}",
            [part, batches[-1], precision_asked],
        )
