"""The command that sweeps models over every combination of axes."""

from __future__ import annotations

from typing import Annotated

from charz.schema.conditions import MEMORY_FORMATS
from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..axes import cache_state, names, one_of, sizes
from ..core import Core
from ..parameters import (
    Backends,
    Batches,
    Cache,
    Caps,
    IncludeTransfer,
    Models,
    Parts,
    Precisions,
    Sequences,
    Sizes,
    Text,
)
from ..question import TARGET, of_axes, transferred

_SWEPT = (
    *TARGET, "power", "latency_s", "throughput_per_s", "sample_j", "peak_memory_byte", "fits_device", "throughput_fraction",
    "saturating_batch", "is_simulated",
)  # fmt: skip


class Sweep(Core):
    """Sweep of models over axes."""

    @answer()
    def sweep(
        self,
        models: Models,
        *,
        on: Parts = None,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        cap: Caps = None,
        resolution: Annotated[Sizes | None, Text("Image sides, e.g. 192,224,288.")] = None,
        memory_format: Annotated[str, Text("nchw or nhwc.")] = "nchw",
        cache: Cache = "warm",
        include_transfer: IncludeTransfer = False,
    ) -> Rows:
        """Evaluate models at every combination of the given axes, and mark the saturating batch of each part.

        Resolutions and synthetic sizes are separate models: `charz ingest` them first.
        """
        one_of("memory format", memory_format, MEMORY_FORMATS)
        wanted = self._at_resolutions(names(models), sizes(resolution))
        held = cache_state(cache)
        conditions = {"memory_format": memory_format, "cache_state": held, **transferred(include_transfer)}
        question = of_axes(wanted, on, batch, sequence, precision, backend, cap, conditions)
        order = "ORDER BY model, hardware, backend, precision, sequence, batch"
        return self.asked(question, "batch_sweep").rows("batch_sweep", _SWEPT, order)

    def _at_resolutions(self, models: list[str], sides: list[int]) -> list[str]:
        """Return the names of the models at each image side; a model's own side takes no suffix."""
        if not sides:
            return models
        own = dict(self.connection().execute("SELECT model, resolution FROM model").fetchall())
        wanted = [m if own.get(m) == side else f"{m}@{side}" for m in models for side in sides]
        missing = [name for name in wanted if name not in own]
        if missing:
            next = f"`charz ingest {' '.join(missing)}`"
            raise CharzError("not ingested at this resolution", ", ".join(missing), next=next)
        return wanted
