"""Attention that no fused kernel takes, traced as the kernels of PyTorch's math path. The steps of a call belong
together, because autocast and type widening apply to the call as a whole."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from unittest import mock

import torch
from torch import Tensor
from torch.fx import Node
from torch.fx.experimental.proxy_tensor import get_proxy_mode

FUSED_DIMENSIONS = 4
"""Dimensions of every fused kernel's operands: samples, heads, positions and width
(https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/transformers/sdp_utils_cpp.h, `check_tensor_dim`)."""


_MARK = "charz_attention"
"""Metadata key in which a traced operator keeps the number of its attention."""


@contextlib.contextmanager
def as_products() -> Iterator[None]:
    """Run `scaled_dot_product_attention` over operands of other dimensions step by step, each step marked with the number
    of its attention."""
    fused = torch.nn.functional.scaled_dot_product_attention
    numbers = itertools.count(1)

    def attention(query: Tensor, key: Tensor, value: Tensor, *rest: object, **more: object) -> Tensor:
        if query.dim() == FUSED_DIMENSIONS:
            return fused(query, key, value, *rest, **more)  # type: ignore[arg-type]
        before = set(_traced())
        result = _products(query, key, value, *rest, **more)  # type: ignore[arg-type]
        number = next(numbers)
        for node in _traced():
            if node not in before:
                node.meta["custom"] = {**(node.meta.get("custom") or {}), _MARK: number}
        return result

    with mock.patch.object(torch.nn.functional, "scaled_dot_product_attention", attention):
        yield


def attention_of(node: Node) -> int | None:
    """Return the number of the attention whose math path contains an operator; None for other operators."""
    return (node.meta.get("custom") or {}).get(_MARK)


def _traced() -> list[Node]:
    """Return the operators traced so far; empty outside a trace."""
    mode = get_proxy_mode()
    return list(mode.tracer.graph.nodes) if mode is not None else []


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
    """Compute attention as `_scaled_dot_product_attention_math` of ATen does
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
    weights = _safe_softmax(weights)
    if dropout_p:
        weights = torch.nn.functional.dropout(weights, dropout_p)
    return weights @ value  # type: ignore[no-any-return]


def _safe_softmax(scores: Tensor) -> Tensor:
    """Compute softmax as `_safe_softmax` of ATen does since PyTorch 2.5, with four kernels
    (https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/SoftMax.cpp)."""
    weights = torch.softmax(scores, -1)
    masked_rows = torch.all(scores == -math.inf, -1, keepdim=True)
    return torch.where(masked_rows, 0.0, weights)
