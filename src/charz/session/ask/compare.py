"""Models on parts beside each other."""

from __future__ import annotations

from typing import Literal

from ..answer import Rows, answer
from ..axes import cache_state
from ..core import Core
from ..parameters import (
    Backends,
    Batches,
    Cache,
    Models,
    Parts,
    Powers,
    Precisions,
    Sequences,
    Top,
)
from ..question import TARGET, of_axes

_COMPARED = (
    *TARGET, "power", "latency_s", "throughput_per_s", "energy_per_sample_j", "average_power_w", "edp_js", "bottleneck",
    "utilization_fraction", "correction_factor", "peak_memory_byte", "fits_device", "is_simulated", "energy_basis",
)  # fmt: skip

_COMPARED_MEMORY = (
    *TARGET, "weight_byte", "activation_byte", "peak_memory_byte", "fits_device", "fits_activation_in_cache",
)  # fmt: skip


class Compare(Core):
    """Models on parts beside each other."""

    @answer("cost", "memory")
    def compare(
        self,
        models: Models,
        *,
        on: Parts = None,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        cache: Cache = "warm",
        power: Powers = None,
        top: Top = 60,
        section: Literal["cost", "memory"] = "cost",
    ) -> Rows:
        """Compare models on parts: time, energy, energy-delay product, memory and what sets the pace."""
        held = cache_state(cache)
        question = of_axes(models, on, batch, sequence, precision, backend, power, {"cache_state": held})
        scoped = self.asked(question, "model_report")
        if section == "memory":
            order = f"ORDER BY batch, sequence, peak_memory_byte, model, hardware, backend, precision LIMIT {top}"
            return scoped.rows("model_memory", _COMPARED_MEMORY, order)
        order = f"ORDER BY batch, sequence, latency_s, model, hardware, backend, precision LIMIT {top}"
        return scoped.rows("model_report", _COMPARED, order, beside=("model_energy", "model_latency"))
