"""How much of a model could run at once: stages, critical path, speed-up bounds."""

from __future__ import annotations

from typing import Annotated

import typer

from . import display
from .grid import (
    BackendsOption,
    BatchesOption,
    Grid,
    PartsOption,
    PrecisionsOption,
    SequencesOption,
    asked,
    names,
    numbers,
    show,
)
from .workspace import MOST, DatabaseOption

_COLUMNS = [
    "hardware", "backend", "precision", "batch", "kernel_count", "stage_count", "widest_stage", "widest_stage_kernels",
    "mean_stage_kernels", "critical_path_kernels", "sequential_s", "critical_path_s", "is_exact", "latency_s",
    "concurrent_s", "speedup_bound", "flops_speedup_bound", "critical_path_edp_js",
]  # fmt: skip
_STAGES = [
    "hardware",
    "batch",
    "stage",
    "kernel_count",
    "flops",
    "threads",
    "units_allocated",
    "unit_count",
    "allocated_fraction",
    "sequential_s",
    "longest_s",
]
_CHECKS = ["hardware", "batch", "line", "value", "bound", "holds"]


def command(
    model: Annotated[str, typer.Argument(help="Ingested model; `charz models` lists them.")],
    on: PartsOption = None,
    batch: BatchesOption = None,
    sequence: SequencesOption = None,
    precision: PrecisionsOption = None,
    backend: BackendsOption = None,
    top: Annotated[int, typer.Option("--top", min=1, max=MOST, help="Stages to list.")] = 10,
    db: DatabaseOption = None,
) -> None:
    """Show stages, critical path and the bounds they set, with the lines that validate them."""
    grid = Grid([model], names(on), numbers(batch), numbers(sequence), names([precision or ""]), names([backend or ""]))
    with asked(db, grid, {"model_concurrency", "stage_allocation", "concurrency_check"}) as scope:
        show(scope, "model_concurrency", _COLUMNS, "ORDER BY hardware, backend, batch")
        display.heading("Longest stages")
        show(scope, "stage_allocation", _STAGES, f"ORDER BY longest_s DESC, stage LIMIT {top}")
        display.heading("Validation")
        show(scope, "concurrency_check", _CHECKS, "ORDER BY hardware, batch, line LIMIT 60")
