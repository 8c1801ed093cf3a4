"""Spread a model over several parts: data, tensor, pipeline and expert parallel."""

from __future__ import annotations

from typing import Annotated

import typer

from . import display
from .grid import BackendsOption, BatchesOption, Grid, PrecisionsOption, SequencesOption, asked, names, numbers, show
from .workspace import DatabaseOption

_COLUMNS = [
    "precision", "batch", "interconnect", "strategy", "device_count", "latency_s", "round_s", "compute_s", "communication_s",
    "bubble_s", "throughput_per_s", "speedup", "scaling_efficiency_fraction", "device_memory_byte", "fits_device",
    "million_inference_usd",
]  # fmt: skip


def command(
    model: Annotated[str, typer.Argument(help="Ingested model; `charz models` lists them.")],
    on: Annotated[str, typer.Option("--on", help="Part; `charz hardware list` shows all.")],
    batch: BatchesOption = None,
    sequence: SequencesOption = None,
    precision: PrecisionsOption = None,
    backend: BackendsOption = None,
    db: DatabaseOption = None,
) -> None:
    """Split a model's time on 1, 2, 4 ... parts into computing, communicating and waiting."""
    grid = Grid([model], [on], numbers(batch), numbers(sequence), names([precision or ""]), names([backend or ""]))
    with asked(db, grid, {"parallel_plan"}) as scope:
        show(scope, "parallel_plan", _COLUMNS, "ORDER BY batch, interconnect, strategy, device_count")
        ((links, simulated),) = scope.connection.execute(
            "SELECT count(DISTINCT interconnect) FILTER (interconnect <> 'none'), max(is_simulated) FROM parallel_plan"
        ).fetchall()
    if not links:
        display.note(f"{on} states no interconnect, so there is nothing to spread over")
    if simulated:
        display.note("simulated part: no silicon exists to check this against")
