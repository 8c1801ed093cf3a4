"""torchvision's own models, by name."""

from __future__ import annotations

from typing import Any

import torch

from .. import torchvision_schemas
from ..export import BATCH, Request


def build(name: str, resolution: int | None = None, batch: int = 2) -> Request:
    """Model on the meta device with its published input size."""
    torchvision_schemas.prepare()
    import torchvision

    with torch.device("meta"):
        module = torchvision.models.get_model(name, weights=None).eval()
    side = resolution or 224
    image = torch.empty(batch, 3, side, side, device="meta")
    input_name = "x"
    return Request(name, f"torchvision:{name}", module, (image,), axes={input_name: {0: BATCH}}, resolution=side)


def published(name: str) -> Any:
    """Meta data of a model's default weights."""
    torchvision_schemas.prepare()
    import torchvision

    return torchvision.models.get_model_weights(name).DEFAULT.meta
