"""Attention that no fused kernel takes, traced as the products it runs as."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from unittest import mock

import torch
from torch import Tensor

FUSED_DIMENSIONS = 4
"""Samples, heads, positions and width: operands of every fused kernel
(https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/transformers/sdp_utils_cpp.h, `check_tensor_dim`)."""


@contextlib.contextmanager
def as_products() -> Iterator[None]:
    """Within it, `scaled_dot_product_attention` over operands of other dimensions runs step by step."""
    fused = torch.nn.functional.scaled_dot_product_attention

    def attention(query: Tensor, key: Tensor, value: Tensor, *rest: object, **more: object) -> Tensor:
        run = fused if query.dim() == FUSED_DIMENSIONS else _products
        return run(query, key, value, *rest, **more)  # type: ignore[arg-type]

    with mock.patch.object(torch.nn.functional, "scaled_dot_product_attention", attention):
        yield


def _products(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """As `_scaled_dot_product_attention_math` of ATen does it
    (https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/transformers/attention.cpp)."""
    root = math.sqrt(query.shape[-1] ** -0.5 if scale is None else scale)
    scaled = query * root
    if is_causal:
        attn_mask = query.new_ones((query.shape[-2], key.shape[-2]), dtype=torch.bool).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.where(attn_mask, 0.0, -math.inf)
    if enable_gqa:
        shared = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(shared, -3), value.repeat_interleave(shared, -3)
    weights = scaled @ (key.transpose(-2, -1) * root)
    if attn_mask is not None:
        weights = weights + attn_mask
    weights = torch.ops.aten._safe_softmax(weights, -1)
    if dropout_p:
        weights = torch.nn.functional.dropout(weights, dropout_p)
    return weights @ value  # type: ignore[no-any-return]
