"""Values that conditions of a run may have."""

from __future__ import annotations

MEMORY_FORMATS = ("nchw", "nhwc")
"""Memory orders of image tensors."""

PHASES = ("forward", "prefill", "decode")
"""Phases of a model that a run executes."""

CACHE_STATES = ("warm", "cold", "hot", "weights_resident", "weights_streamed")
"""Contents of the last-level cache when a kernel begins: outputs of earlier kernels (`warm`), nothing (`cold`), all that the kernel reads
if it fits (`hot`), or `warm` with the model's weights kept from run to run (`weights_resident`) or never kept (`weights_streamed`).
Under `warm` the part decides whether weights stay (`part.keeps_weights`)."""

CLIENTS_FROM = 1_000_000
"""Number of the first scenario that a client's INSERT adds without a number."""
