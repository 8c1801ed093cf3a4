"""Imports of a worker process, made once by the fork server."""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it silently at any point

import torch  # noqa: E402

from . import pipeline, sources  # noqa: E402
from .trace import lower, torchvision_schemas  # noqa: E402

torch.set_num_threads(1)  # nothing is computed; threads would only compete for the cores
torchvision_schemas.prepare()

__all__ = ["lower", "pipeline", "sources"]
