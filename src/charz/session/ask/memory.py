"""The command that shows the memory of a model on a part."""

from __future__ import annotations

from typing import Literal

from charz.schema.errors import unknown_name

from ..answer import Rows, answer
from ..core import Core
from ..parameters import (
    Backends,
    Batches,
    Caps,
    Context,
    Devices,
    KvPrecisions,
    Model,
    Part,
    Phase,
    Precisions,
    Sequences,
    Top,
    Versions,
)
from ..question import TARGET, of_axes, served
from . import memory_fits

_MEMORY = {
    "split": (
        "model_memory",
        (
            *TARGET, "weight_byte", "buffer_byte", "kv_cache_byte", "gradient_byte", "activation_byte", "rounding_byte", "workspace_byte",
            "reserve_byte", "peak_memory_byte", "context_byte", "reserved_byte", "device_fraction", "fits_device", "peak_operator",
            "peak_module",
        ),
        "ORDER BY backend, precision, batch, sequence",
    ),
    "levels": (
        "memory_fit",
        (*TARGET, "level", "capacity_byte", "fits_weight", "fits_activation", "fits_all"),
        "ORDER BY backend, precision, batch, sequence, depth",
    ),
    "largest_batch": (
        "largest_batch",
        (
            *TARGET, "context_byte", "fixed_byte", "sample_byte", "largest_batch", "largest_batch_byte", "largest_on_chip_batch", "is_exact",
        ),
        "ORDER BY backend, precision, batch, sequence",
    ),
    "checkpointing": (
        "checkpoint_saving",
        (
            *TARGET, "group_count", "stored_byte", "checkpointed_byte", "saved_byte", "saved_fraction", "recompute_s",
        ),
        "ORDER BY backend, precision, batch, sequence",
    ),
    "timeline": (
        "memory_timeline",
        ("model", "backend", "precision", "batch", "kernel_id", "kernel", "module", "storage_count", "live_byte", "total_byte"),
        "ORDER BY live_byte DESC, position, backend, precision, batch LIMIT {top}",
    ),
}  # fmt: skip
"""View, columns and order of each section of `memory`."""


class Memory(Core):
    """Memory of a model, and what fits."""

    @answer("split", "levels", "largest_batch", "checkpointing", "timeline", alone=("fits",))
    def memory(
        self,
        model: Model,
        *,
        on: Part,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        cap: Caps = None,
        phase: Phase = None,
        context: Context = None,
        devices: Devices = None,
        version: Versions = None,
        kv_precision: KvPrecisions = None,
        top: Top = 8,
        section: Literal["split", "levels", "largest_batch", "checkpointing", "timeline", "fits"] = "split",
    ) -> Rows:
        """Show what takes a model's memory and what would fit. `charz plot memory` draws the timeline.

        `charz memory synthetic:mlp --fits` lists, for a family or the family of a model, the largest ingested size whose weights and
        activations stay in each level when double buffered.
        """
        if section == "fits":
            asked = of_axes(self._family(model), [on], batch, sequence, precision, backend, cap)
            ordered = "SELECT * FROM memory_fit ORDER BY hardware, backend, precision, batch, sequence, depth"
            return Rows(
                memory_fits.COLUMNS, memory_fits.fits(self.asked(asked, "memory_fit").records(ordered)), ("memory_fit",)
            )
        asked = served(
            of_axes([model], [on], batch, sequence, precision, backend, cap),
            phase,
            context,
            devices,
            version,
            kv_precision,
        )
        scoped = self.asked(asked, _MEMORY[section][0])
        return self.listed(scoped, _MEMORY[section], top, f"rows of {section}")

    def _family(self, name: str) -> list[str]:
        """Return the ingested models of a source, or of a model's source. Raise `CharzError` if there are no such models."""
        rows = self.connection().execute("SELECT model, source FROM model ORDER BY model").fetchall()
        sources = dict(rows)
        found = [model for model, source in rows if source == sources.get(name, name)]
        if not found:
            next = f"`charz ingest {name} --set ...` adds sizes of a synthetic family"
            raise unknown_name("model or family", name, {*sources, *sources.values()}, next)
        return found
