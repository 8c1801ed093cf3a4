"""Shapes of the results of PyTorch's own operators that have no kernel for tensors without values."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor


def _rounded(source: Tensor, *_rest: object) -> tuple[Tensor, Tensor]:
    """Values on the grid, and where they were within its ends."""
    return torch.empty_like(source), torch.empty_like(source, dtype=torch.bool)


SHAPES: dict[str, Callable[..., object]] = {
    "fake_quantize_per_tensor_affine_cachemask": _rounded,
    "fake_quantize_per_channel_affine_cachemask": _rounded,
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": _rounded,
}


@cache
def register() -> torch.library.Library:
    """Make them known where this torch does not; what is returned holds them."""
    library = torch.library.Library("aten", "IMPL", "Meta")
    for name, shapes in SHAPES.items():
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "Meta"):
            library.impl(name, shapes)
    return library
