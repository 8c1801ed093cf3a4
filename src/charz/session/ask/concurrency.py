"""The command that shows which kernels can run at the same time."""

from __future__ import annotations

from typing import Literal

from ..answer import Rows, answer
from ..core import Core
from ..parameters import (
    Backends,
    Batches,
    Caps,
    Model,
    Parts,
    Precisions,
    Sequences,
    Top,
)
from ..question import TARGET, of_axes

_CONCURRENT = {
    "bounds": (
        "model_concurrency",
        (
            *TARGET, "kernel_count", "stage_count", "widest_stage", "widest_stage_kernels", "mean_stage_kernels",
            "critical_path_kernels", "sequential_s", "critical_path_s", "is_exact", "latency_s", "concurrent_s",
            "speedup_bound", "flops_speedup_bound", "critical_path_edp_js",
        ),
        "ORDER BY hardware, backend, precision, batch, sequence",
    ),
    "stages": (
        "stage_allocation",
        (
            *TARGET, "stage", "kernel_count", "flops", "threads", "units_allocated", "unit_count", "allocated_fraction",
            "sequential_s", "longest_s",
        ),
        "ORDER BY longest_s DESC, stage, hardware, backend, precision, batch LIMIT {top}",
    ),
    "validation": (
        "concurrency_check",
        (*TARGET, "line", "value", "bound", "holds"),
        "ORDER BY hardware, backend, precision, batch, line",
    ),
}  # fmt: skip
"""View, columns and order of each section of `concurrency`."""


class Concurrency(Core):
    """Concurrency of kernels and the bounds that follow from it."""

    @answer("bounds", "stages", "validation")
    def concurrency(
        self,
        model: Model,
        *,
        on: Parts = None,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        cap: Caps = None,
        top: Top = 10,
        section: Literal["bounds", "stages", "validation"] = "bounds",
    ) -> Rows:
        """Show stages, critical path and the bounds that they set, with the checks that validate them."""
        scoped = self.asked(of_axes([model], on, batch, sequence, precision, backend, cap), _CONCURRENT[section][0])
        scoped.gather(_CONCURRENT[section][0])
        return self.listed(scoped, _CONCURRENT[section], top, f"rows of {section}")
