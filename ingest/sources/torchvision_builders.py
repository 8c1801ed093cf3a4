"""Builds torchvision's models, and reads what their cards state."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from ..trace import torchvision_schemas


def library() -> Any:
    """Return torchvision, with its operators known to the tracer."""
    torchvision_schemas.prepare()
    import torchvision

    return torchvision


def construct(name: str, **arguments: Any) -> torch.nn.Module:
    """Build the module without weights on the meta device, or on the CPU first where its constructor computes."""
    models = library().models
    parameters = inspect.signature(models.get_model_builder(name)).parameters
    if "weights_backbone" in parameters:
        arguments = {"weights_backbone": None, **arguments}
    if "aux_loss" in parameters:  # the published weights have the auxiliary head, and inference runs it
        arguments = {"aux_loss": True, **arguments}
    if name.startswith(("googlenet", "inception")):
        arguments = {"init_weights": False, "aux_logits": False, **arguments}
    try:
        with torch.device("meta"):
            return models.get_model(name, weights=None, **arguments).eval()
    except (RuntimeError, NotImplementedError):  # the regnets read a tensor's values while they are built
        return models.get_model(name, weights=None, **arguments).eval().to("meta")


def family(name: str) -> str:
    """Return the module that defines the architecture, e.g. `resnet`."""
    return str(library().models.get_model_builder(name).__module__.rsplit(".", 1)[-1])


def published_macs(name: str) -> float | None:
    """Return the multiply-accumulates on the default weights' card, whose unit is 1e9."""
    weights = getattr(library().models.get_model_weights(name), "DEFAULT", None)
    return None if weights is None else round(weights.meta["_ops"] * 1e9)
