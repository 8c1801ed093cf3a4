"""Words that conditions of a run may have."""

from __future__ import annotations

MEMORY_FORMATS = ("nchw", "nhwc")
"""Orders in which the tensors of images are stored."""

PHASES = ("forward", "prefill", "decode")
"""What of a model a run is."""

CACHE_STATES = ("warm", "cold", "hot", "weights_resident", "weights_streamed")
"""What the last-level cache holds when a kernel begins: what earlier kernels of the run left (`warm`), nothing (`cold`), all
it reads if that fits (`hot`), or `warm` and beside the activations the model's weights from run to run (`weights_resident`) or
none of them (`weights_streamed`). `warm` leaves it to the part whether weights stay (`part.keeps_weights`)."""
