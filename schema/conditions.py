"""Words that conditions of a run may have."""

from __future__ import annotations

MEMORY_FORMATS = ("nchw", "nhwc")
"""Orders in which the tensors of images are stored."""

PHASES = ("forward", "prefill", "decode")
"""What of a model a run is."""

CACHE_STATES = ("warm", "cold", "hot")
"""What the last-level cache holds when a kernel begins."""
