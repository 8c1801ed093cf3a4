"""What a worker process needs, imported once by the fork server."""

import torch

from . import pipeline, sources
from .trace import lower, torchvision_schemas

torch.set_num_threads(1)  # nothing is computed; threads would only fight over the cores
torchvision_schemas.prepare()

__all__ = ["lower", "pipeline", "sources"]
