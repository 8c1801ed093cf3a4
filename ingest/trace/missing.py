"""Result shapes of PyTorch operators that lack a kernel for meta tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor


def _rounded(source: Tensor, *_rest: object) -> tuple[Tensor, Tensor]:
    """Return the values on the grid, and the mask of those within its ends."""
    return torch.empty_like(source), torch.empty_like(source, dtype=torch.bool)


SHAPES: dict[str, Callable[..., object]] = {
    "fake_quantize_per_tensor_affine_cachemask": _rounded,
    "fake_quantize_per_channel_affine_cachemask": _rounded,
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": _rounded,
}


@cache
def register() -> torch.library.Library:
    """Register the shapes that this torch lacks, and return the library that keeps them registered."""
    library = torch.library.Library("aten", "IMPL", "Meta")
    for name, shapes in SHAPES.items():
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "Meta"):
            library.impl(name, shapes)
    return library
