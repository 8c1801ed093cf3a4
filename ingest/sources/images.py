"""What sources of image models share: a request for a module that takes one image tensor."""

from __future__ import annotations

import inspect

import torch

from ..trace.export import BATCH, Request
from .spec import Spec


def request(
    spec: Spec, module: torch.nn.Module, shape: tuple[int, ...], default: int | None, name: str, family: str
) -> Request:
    """Request for a module of one image (or clip) input; `shape` is without the batch."""
    side = shape[-1] if shape[-1] == shape[-2] else None
    first = next(iter(inspect.signature(module.forward).parameters))
    batch = spec.batch or 2
    image = torch.empty(batch, *shape, device="meta")
    return Request(
        name=name if side in (None, default) else f"{name}@{side}",
        source=spec.source,
        module=module.eval(),
        arguments=(image,),
        axes={} if spec.batch else {first: {0: BATCH}},
        family=family,
        resolution=side,
        default_batch=batch,
    )
