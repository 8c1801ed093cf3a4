"""Compare models on parts, side by side."""

from __future__ import annotations

from typing import Annotated

import typer

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
from .workspace import MOST, DatabaseOption

_COST = [
    "model", "hardware", "backend", "precision", "batch", "latency_s", "throughput_per_s", "energy_per_sample_j",
    "average_power_w", "edp_js", "bottleneck", "utilization_fraction", "correction_factor", "is_simulated",
]  # fmt: skip
_MEMORY = [
    "model", "hardware", "backend", "precision", "batch", "weight_byte", "activation_byte", "peak_memory_byte",
    "fits_device", "fits_activation_in_cache",
]  # fmt: skip


def command(
    models: ModelsArgument,
    on: PartsOption = None,
    batch: BatchesOption = None,
    sequence: SequencesOption = None,
    precision: PrecisionsOption = None,
    backend: BackendsOption = None,
    top: Annotated[int, typer.Option("--top", min=1, max=MOST, help="Rows a table.")] = 60,
    db: DatabaseOption = None,
) -> None:
    """Compare models on parts: time, energy, energy-delay product, memory and what sets the pace."""
    grid = Grid(
        names(models), names(on), numbers(batch), numbers(sequence), names([precision or ""]), names([backend or ""])
    )
    with asked(db, grid, {"model_report", "model_memory"}) as scope:
        order = f"ORDER BY batch, sequence, latency_s, model LIMIT {top}"
        show(scope, "model_report", _COST, order, beside=("model_energy", "model_latency"))
        display.heading("Memory")
        show(
            scope,
            "model_memory",
            _MEMORY,
            f"ORDER BY batch, sequence, peak_memory_byte, model, hardware LIMIT {top}",
        )
