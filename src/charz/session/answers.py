"""Questions about models on parts."""

from __future__ import annotations

from typing import Annotated, Literal

from .answer import Rows, answer
from .axes import names, one_of, sizes
from .core import Core, Question
from .parameters import (
    Backend,
    Backends,
    Batch,
    Batches,
    Model,
    Models,
    Part,
    Parts,
    Precision,
    Precisions,
    Sequence_,
    Sequences,
    Sizes,
    Text,
    Top,
)

_COST = (
    "model", "hardware", "backend", "precision", "batch", "sequence", "latency_s", "throughput_per_s",
    "energy_per_sample_j", "average_power_w", "edp_js", "bottleneck", "utilization_fraction", "correction_factor",
    "peak_memory_byte", "fits_device", "is_simulated",
)  # fmt: skip
_MEMORY = (
    "model", "hardware", "backend", "precision", "batch", "weight_byte", "activation_byte", "peak_memory_byte",
    "fits_device", "fits_activation_in_cache",
)  # fmt: skip
_SWEEP = (
    "model", "hardware", "backend", "precision", "batch", "sequence", "latency_s", "throughput_per_s",
    "sample_j", "peak_memory_byte", "fits_device", "throughput_fraction", "saturating_batch", "is_simulated",
)  # fmt: skip


class Answers(Core):
    """Reports of runs: time, energy, memory, cost, and what would help."""

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
        top: Top = 60,
        section: Literal["cost", "memory"] = "cost",
    ) -> Rows:
        """Compare models on parts: time, energy, energy-delay product, memory and what sets the pace."""
        narrowed = self.asked(
            Question(names(models), names(on), sizes(batch), sizes(sequence), names(precision), names(backend)),
            "model_report",
        )
        if section == "memory":
            order = f"ORDER BY batch, sequence, peak_memory_byte, model, hardware LIMIT {top}"
            return narrowed.rows("model_memory", _MEMORY, order)
        order = f"ORDER BY batch, sequence, latency_s, model, hardware LIMIT {top}"
        return narrowed.rows("model_report", _COST, order, beside=("model_energy", "model_latency"))
