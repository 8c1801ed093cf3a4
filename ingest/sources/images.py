"""A request for a module that takes one image tensor, shared by the sources of image models."""

from __future__ import annotations

import inspect

import torch

from ..trace.export import BATCH, Request
from .spec import Spec, shown_sides


def request(
    spec: Spec, module: torch.nn.Module, shape: tuple[int, ...], default: int | None, name: str, family: str
) -> Request:
    """Return a request for a module of one image (or clip) input; `shape` is without the batch."""
    height, width = shape[-2:]
    side = height if height == width else None
    first = next(iter(inspect.signature(module.forward).parameters))
    batch = spec.batch or 2
    image = torch.empty(batch, *shape, device="meta")
    return Request(
        name=name if spec.sides is None or side == default else f"{name}@{shown_sides(height, width)}",
        source=spec.source,
        module=module.eval(),
        arguments=(image,),
        axes={} if spec.batch else {first: {0: BATCH}},
        family=family,
        resolution=side,
        default_batch=batch,
    )
