"""The command that distributes a model over several devices."""

from __future__ import annotations

from ..answer import Rows, answer
from ..core import Core
from ..parameters import (
    Backends,
    Batches,
    Caps,
    Model,
    Part,
    Precisions,
    Sequences,
)
from ..question import TARGET, of_axes

_SPREAD = (
    *TARGET, "interconnect", "strategy", "device_count", "latency_s", "round_s", "compute_s", "communication_s",
    "bubble_s", "throughput_per_s", "speedup", "scaling_efficiency_fraction", "device_memory_byte", "fits_device",
    "million_inference_usd", "is_simulated",
)  # fmt: skip


class Parallel(Core):
    """Predictions for a model that is distributed over several devices."""

    @answer()
    def parallel(
        self,
        model: Model,
        *,
        on: Part,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        cap: Caps = None,
    ) -> Rows:
        """Predict a model's time on 1, 2, 4 ... devices for data, tensor, pipeline and expert parallelism, split into computation, communication and
        pipeline bubbles."""
        scoped = self.asked(of_axes([model], [on], batch, sequence, precision, backend, cap), "parallel_plan")
        query = "SELECT count(*) FROM parallel_plan WHERE interconnect <> 'none'"
        if not scoped.value(query):
            self.messages.warn(f"{on} states no interconnect, so the model cannot be distributed")
        order = "ORDER BY batch, sequence, precision, interconnect, strategy, device_count"
        return scoped.rows("parallel_plan", _SPREAD, order)
