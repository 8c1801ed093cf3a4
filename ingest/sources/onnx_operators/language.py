"""Operators of exported language models: attention with its cache, rotary embedding, normalization fused with a sum, and packed
weights.

Operators with the prefix `com.microsoft.` are those of ONNX Runtime
(https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md), which its model builder and its optimizer write.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from charz.schema.errors import CharzError

from ...trace import bounded
from .registry import Step, operator

_LIBRARY = torch.library.Library(bounded.NAMESPACE, "FRAGMENT")
_LIBRARY.define("packed_linear(Tensor input, Tensor weight, Tensor scales, Tensor? zeros, Tensor? bias) -> Tensor")
_LIBRARY.define("packed_embedding(Tensor weight, Tensor indices, Tensor scales, Tensor? zeros) -> Tensor")


def _packed_linear(input: Tensor, weight: Tensor, scales: Tensor, zeros: Tensor | None, bias: Tensor | None) -> Tensor:
    return input.new_empty((*input.shape[:-1], weight.shape[0]))


def _packed_embedding(weight: Tensor, indices: Tensor, scales: Tensor, zeros: Tensor | None) -> Tensor:
    return scales.new_empty((*indices.shape, *weight.shape[1:]))


for _name, _function in (("packed_linear", _packed_linear), ("packed_embedding", _packed_embedding)):
    _LIBRARY.impl(_name, _function, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{bounded.NAMESPACE}::{_name}", _function, lib=_LIBRARY)


@operator("charz.PackedLinear")
def packed_linear(
    _: Step, source: Tensor, weight: Tensor, scales: Tensor, zeros: Any = None, bias: Any = None
) -> Tensor:
    """Multiply by a packed weight, which the kernel unpacks as it reads it."""
    return torch.ops.charz.packed_linear(source, weight, scales, zeros if isinstance(zeros, Tensor) else None, bias)  # type: ignore[no-any-return]


@operator("com.microsoft.GatherBlockQuantized")
def packed_embedding(step: Step, weight: Tensor, index: Tensor, scales: Tensor, zeros: Any = None) -> Tensor:
    """Look up rows of a packed table."""
    if step.get("gather_axis", 0) != 0 or not isinstance(index, Tensor):
        raise ValueError("rows are gathered along the first axis alone")
    return torch.ops.charz.packed_embedding(weight, index, scales, zeros if isinstance(zeros, Tensor) else None)  # type: ignore[no-any-return]


def _heads(value: Tensor, count: int) -> Tensor:
    """Unpack heads into the shape (samples, heads, tokens, width)."""
    return value if value.dim() == 4 else value.unflatten(-1, (count, -1)).transpose(1, 2)


def _mixed(step: Step, query: Tensor, key: Tensor, value: Tensor, mask: Any = None, is_causal: Any = False) -> Tensor:
    """Compute attention of separate heads; query heads may share key and value heads."""
    shares = query.shape[1] != key.shape[1]
    is_causal = bool(is_causal) and not isinstance(mask, Tensor)
    mask = mask if isinstance(mask, Tensor) else None
    return functional.scaled_dot_product_attention(
        query, key, value, mask, is_causal=is_causal, scale=step.get("scale") or None, enable_gqa=shares
    )


def _joined(mixed: Tensor) -> Tensor:
    """Pack heads into the shape (samples, tokens, width)."""
    return mixed.transpose(1, 2).flatten(2)


def _with_past(past: Any, new: Tensor) -> Tensor:
    """Append new tokens to a cache. Raises ValueError for a cache of another type."""
    if isinstance(past, Tensor) and past.dtype != new.dtype:
        raise ValueError("a cache of another type than keys and values")
    return torch.cat([past, new], 2) if isinstance(past, Tensor) else new


@operator("Attention")
def attention(
    step: Step, query: Tensor, key: Tensor, value: Tensor, mask: Any = None, past_key: Any = None, past_value: Any = None,
    *_lengths: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Compute attention with a cache of earlier tokens. Raises CharzError if the scores are an output."""
    if len(step.outputs) > 3 and step.outputs[3]:
        raise CharzError(
            "the products of an attention as a result of their own are not read", step.name or step.outputs[0]
        )
    is_packed = query.dim() == 3
    query, key = _heads(query, step.get("q_num_heads", 0)), _heads(key, step.get("kv_num_heads", 0))
    key = _with_past(past_key, key)
    value = _with_past(past_value, _heads(value, step.get("kv_num_heads", 0)))
    mixed = _mixed(step, query, key, value, mask, step.get("is_causal", 0))
    return _joined(mixed) if is_packed else mixed, key, value


@operator("com.microsoft.GroupQueryAttention")
def group_query_attention(
    step: Step, query: Tensor, key: Any, value: Any, past_key: Any = None, past_value: Any = None, _lengths: Any = None,
    _total: Any = None, cosines: Any = None, sines: Any = None, positions: Any = None, bias: Any = None, *more: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Compute attention of packed or separate operands, by default causal, with optional rotary embedding."""
    queries, keys = step.get("num_heads"), step.get("kv_num_heads")
    if not isinstance(key, Tensor):
        width = query.shape[-1] // (queries + 2 * keys)
        query, key, value = query.split([queries * width, keys * width, keys * width], -1)
    query, key, value = _heads(query, queries), _heads(key, keys), _heads(value, keys)
    if len(more) > 4 and more[3] is not None:  # weights that normalize queries and keys, head by head
        query, key = (functional.rms_norm(v, v.shape[-1:], w) for v, w in ((query, more[3]), (key, more[4])))
    if step.get("do_rotary", 0):
        query, key = (_rotated(step.get("rotary_interleaved", 0), v, cosines, sines, positions) for v in (query, key))
    key, value = _with_past(past_key, key), _with_past(past_value, value)
    return _joined(_mixed(step, query, key, value, bias, step.get("causal", 1))), key, value


@operator("com.microsoft.MultiHeadAttention")
def multi_head_attention(
    step: Step, query: Tensor, key: Any = None, value: Any = None, added: Any = None, _padding: Any = None, bias: Any = None,
    past_key: Any = None, past_value: Any = None, *_rest: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Compute attention of packed or separate operands, with the biases of the layers before it."""
    count = step.get("num_heads")
    if query.dim() == 5:
        query, key, value = (v.flatten(2) for v in query.unbind(3))
    elif isinstance(key, Tensor) and key.dim() == 5:
        key, value = (v.flatten(2) for v in key.unbind(3))
    if isinstance(added, Tensor):
        parts = added.split([query.shape[-1], query.shape[-1], added.shape[0] - 2 * query.shape[-1]])
        query, key, value = (v + p if v.dim() == 3 else v for v, p in zip((query, key, value), parts, strict=True))
    key, value = _with_past(past_key, _heads(key, count)), _with_past(past_value, _heads(value, count))
    return _joined(_mixed(step, _heads(query, count), key, value, bias, step.get("unidirectional", 0))), key, value


@operator("com.microsoft.Attention")
def projected_attention(
    step: Step, source: Tensor, weight: Tensor, added: Any = None, _mask: Any = None, past: Any = None, bias: Any = None,
    *_rest: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Compute attention including the projection to queries, keys and values."""
    sizes = step.get("qkv_hidden_sizes", [weight.shape[1] // 3] * 3)
    projected = functional.linear(source, weight.t(), added)
    query, key, value = (_heads(v, step.get("num_heads")) for v in projected.split(sizes, -1))
    before = past.unbind(0) if isinstance(past, Tensor) else (None, None)
    key, value = _with_past(before[0], key), _with_past(before[1], value)
    mixed = _joined(_mixed(step, query, key, value, bias, step.get("unidirectional", 0)))
    return (mixed, torch.stack([key, value])) if len(step.outputs) > 1 else (mixed,)


def _rotated(is_interleaved: Any, heads: Tensor, cosines: Tensor, sines: Tensor, positions: Any) -> Tensor:
    """Apply rotary embedding to the first pairs of each head, one for each angle; keep the remaining elements."""
    if isinstance(positions, Tensor):
        cosines, sines = (functional.embedding(positions, table) for table in (cosines, sines))
        if cosines.dim() == 4:  # three streams of positions; each angle belongs to one
            cosines, sines = cosines[0], sines[0]
    elif cosines.dim() == 2:
        cosines, sines = (table[: heads.shape[2]] for table in (cosines, sines))
    cosines, sines = (v.unsqueeze(-3) for v in (cosines, sines))
    width = 2 * cosines.shape[-1]
    turned, left = (heads, None) if width == heads.shape[-1] else (heads[..., :width], heads[..., width:])
    one, other = turned.unflatten(-1, (-1, 2)).unbind(-1) if is_interleaved else turned.chunk(2, -1)
    parts = one * cosines - other * sines, other * cosines + one * sines
    made = torch.stack(parts, -1).flatten(-2) if is_interleaved else torch.cat(parts, -1)
    return made if left is None else torch.cat([made, left], -1)


@operator("RotaryEmbedding")
def rotary(step: Step, source: Tensor, cosines: Tensor, sines: Tensor, positions: Any = None) -> Tensor:
    """Apply rotary embedding to separate or packed heads; without positions each token has its row of angles."""
    made = _rotated(step.get("interleaved", 0), _heads(source, step.get("num_heads", 0)), cosines, sines, positions)
    return made if source.dim() == 4 else _joined(made)


@operator("com.microsoft.RotaryEmbedding", "com.microsoft.MRotaryEmbedding")
def rotary_by_position(step: Step, source: Tensor, positions: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Apply rotary embedding by position. A missing number of heads follows from the angles: a head has twice as many elements.
    A single position is that of the first token."""
    count = step.get("num_heads", 0) or source.shape[-1] // (2 * cosines.shape[-1])
    is_start = not isinstance(positions, Tensor) or positions.dim() < 2
    heads = _heads(source, count)
    made = _rotated(step.get("interleaved", 0), heads, cosines, sines, None if is_start else positions)
    return made if source.dim() == 4 else _joined(made)


@operator("com.microsoft.SkipLayerNormalization", "com.microsoft.SkipSimplifiedLayerNormalization")
def skip_norm(step: Step, source: Tensor, skip: Tensor, scale: Tensor, *shifts: Any) -> tuple[Any, ...]:
    """Return the normalization of a sum, and the sum."""
    is_simple = "Simplified" in step.operator
    shift, bias = (*([None] if is_simple else []), *shifts, None, None)[:2]
    total = source + skip if bias is None else source + skip + bias
    epsilon, width = step.get("epsilon", 1e-12), source.shape[-1:]
    if is_simple:
        return functional.rms_norm(total, width, scale, epsilon), None, None, total
    return functional.layer_norm(total, width, scale, shift, epsilon), None, None, total


@operator("com.microsoft.EmbedLayerNormalization")
def embedded(
    step: Step, words: Tensor, segments: Any, word: Tensor, position: Tensor, segment: Any, scale: Tensor, shift: Tensor,
    _mask: Any = None, positions: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Sum the embeddings of words, positions and segments, and normalize the sum."""
    places = functional.embedding(positions, position) if isinstance(positions, Tensor) else position[: words.shape[1]]
    total = functional.embedding(words, word) + places
    if isinstance(segments, Tensor):
        total = total + functional.embedding(segments, segment)
    return functional.layer_norm(total, total.shape[-1:], scale, shift, step.get("epsilon", 1e-12)), None, total


@operator("com.microsoft.Gelu", "com.microsoft.FastGelu", "com.microsoft.BiasGelu", "com.microsoft.QuickGelu")
def biased_gelu(step: Step, source: Tensor, bias: Tensor | None = None) -> Tensor:
    """Apply GELU by the error function, the hyperbolic tangent or the sigmoid, after adding a bias if given."""
    source = source if bias is None else source + bias
    if step.operator.endswith("QuickGelu"):
        return source * torch.sigmoid(source * step.get("alpha", 1.702))
    return functional.gelu(source, approximate="tanh" if step.operator.endswith("FastGelu") else "none")


@operator("com.microsoft.GatedRMSNorm")
def gated_norm(step: Step, source: Tensor, scale: Tensor, gate: Tensor) -> Tensor:
    """Normalize groups as wide as the scale, and multiply by SiLU of the gate."""
    groups = source.unflatten(-1, (-1, scale.shape[0]))
    made = functional.rms_norm(groups, scale.shape, scale, step.get("epsilon", 1e-5))
    return made.flatten(-2) * functional.silu(gate)


@operator("com.microsoft.FusedMatMul")
def fused_product(step: Step, left: Tensor, right: Tensor) -> Tensor:
    """Compute a scaled matrix product of optionally transposed operands."""
    if step.get("transBatchA", 0) or step.get("transBatchB", 0):
        raise ValueError("batches are not turned")
    left = left.transpose(-2, -1) if step.get("transA", 0) else left
    right = right.transpose(-2, -1) if step.get("transB", 0) else right
    made = torch.matmul(left, right)
    return made if step.get("alpha", 1.0) == 1.0 else made * step.get("alpha")
