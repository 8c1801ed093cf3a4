"""Memory of a model: split, timeline, which levels it fits, the largest batch, checkpointing."""

from __future__ import annotations

from typing import Annotated

import typer

from . import display
from .grid import BackendsOption, BatchesOption, Grid, PrecisionsOption, SequencesOption, asked, names, numbers, show
from .workspace import MOST, DatabaseOption

_SPLIT = [
    "backend", "precision", "batch", "weight_byte", "buffer_byte", "kv_cache_byte", "activation_byte", "rounding_byte",
    "workspace_byte", "peak_memory_byte", "reserved_byte", "device_fraction", "fits_device", "peak_operator",
    "peak_module",
]  # fmt: skip
_FIT = ["backend", "precision", "batch", "level", "capacity_byte", "fits_weight", "fits_activation", "fits_all"]
_LARGEST = [
    "backend", "precision", "sequence", "fixed_byte", "sample_byte", "largest_batch", "peak_memory_byte",
    "largest_on_chip_batch", "is_exact",
]  # fmt: skip
_CHECKPOINT = [
    "backend", "precision", "batch", "group_count", "stored_byte", "checkpointed_byte", "saved_byte", "saved_fraction",
    "recompute_s",
]  # fmt: skip
_TIMELINE = ["kernel_id", "kernel", "module", "storage_count", "live_byte", "total_byte"]


def command(
    model: Annotated[str, typer.Argument(help="Ingested model; `charz models` lists them.")],
    on: Annotated[str, typer.Option("--on", help="Part; `charz hardware list` shows all.")],
    batch: BatchesOption = None,
    sequence: SequencesOption = None,
    precision: PrecisionsOption = None,
    backend: BackendsOption = None,
    top: Annotated[int, typer.Option("--top", min=1, max=MOST, help="Kernels of the timeline to list.")] = 8,
    db: DatabaseOption = None,
) -> None:
    """Show where memory goes and what would fit. `charz plot memory` draws the timeline."""
    grid = Grid([model], [on], numbers(batch), numbers(sequence), names([precision or ""]), names([backend or ""]))
    views = ("model_memory", "memory_fit", "largest_batch", "checkpoint_saving", "memory_timeline")
    with asked(db, grid, views) as scope:
        show(scope, "model_memory", _SPLIT, "ORDER BY backend, precision, batch")
        display.heading("Levels")
        show(scope, "memory_fit", _FIT, "ORDER BY backend, precision, batch, depth")
        display.heading("Largest batch")
        show(scope, "largest_batch", ["batch", *_LARGEST], "ORDER BY backend, precision, batch")
        display.heading("Checkpointing in training")
        show(scope, "checkpoint_saving", _CHECKPOINT, "ORDER BY backend, precision, batch")
        display.heading("Kernels at which most is held")
        show(scope, "memory_timeline", _TIMELINE, f"ORDER BY live_byte DESC, kernel_id LIMIT {top}")
