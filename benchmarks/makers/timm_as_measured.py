"""Networks whose code in timm has changed since they were measured, in the measured form.

Hiera's global attention had a dimension for its single window, so that PyTorch took its math path there as it does within
windows. timm 1.0.31 gives it four dimensions, with the reason in a comment. The results under PyTorch 2.4 and 2.9 are those of
five dimensions (on an RTX 4090 under 2.9 four are predicted 0.28 too fast, five 0.01 too slow).
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from charz.ingest.trace import torchvision_schemas


def patch() -> None:
    """Replace timm's code by the measured one in this process."""
    torchvision_schemas.prepare()
    from timm.models import hiera

    hiera.MaskUnitAttention.forward = _windowed


def _windowed(self: Any, x: torch.Tensor) -> torch.Tensor:
    samples, tokens, _ = x.shape
    windows = tokens // (self.q_stride * self.window_size) if self.use_mask_unit_attn else 1
    qkv = self.qkv(x).reshape(samples, -1, windows, 3, self.heads, self.head_dim).permute(3, 0, 4, 2, 1, 5)
    q, k, v = qkv.unbind(0)
    if self.q_stride > 1:
        q = q.view(samples, self.heads, windows, self.q_stride, -1, self.head_dim).amax(dim=3)
    x = functional.scaled_dot_product_attention(q, k, v)
    return self.proj(x.transpose(1, 3).reshape(samples, -1, self.dim_out))  # type: ignore[no-any-return]
