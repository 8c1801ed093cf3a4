"""Scaled dot-product attention: one operator of three steps, Q·Kᵀ, softmax and A·V.

Grouped-query attention multiplies every query head, whatever the number of key heads; heads that share keys
are rows of one product, as fused kernels pack them (FlashAttention-2, flash-decoding). Counts are those of the full
product; with a causal mask each step also states its queries and keys, from which `executed_step` subtracts what a kernel skips.
"""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import Size, polynomial, product, ratio
from .elementwise import FLOPS_PER_ELEMENT
from .registry import Call, Value, gemm, rule, vector


@rule("aten.scaled_dot_product_attention.default", operator_class="attention")
def scaled_dot_product_attention(call: Call) -> list[Step]:
    query: Value = call["query"]
    key: Value = call["key"]
    value: Value = call["value"]
    *batch, length, width = query.dims
    context = key.dims[-2]
    sharing = ratio(query.dims[-3], key.dims[-3]) if call["enable_gqa"] else 1
    groups, rows = ratio(product(*batch), sharing), product(sharing, length)
    scores = product(groups, rows, context)
    # softmax, the scale, and the additive mask where there is one
    flops = FLOPS_PER_ELEMENT["softmax"] + 1 + (1 if call["attn_mask"] is not None or call["is_causal"] else 0)
    products = gemm("qk", groups, rows, context, width), gemm("av", groups, rows, value.dims[-1], context)
    if sharing != 1:
        for step in products:
            step.quantities["sharing"] = polynomial(sharing)
    steps = [products[0], vector("softmax", product(flops, scores), scores), products[1]]
    if call["is_causal"]:
        _see_the_past(steps, length, context)
    return steps


def _see_the_past(steps: list[Step], queries: Size, keys: Size) -> None:
    """Record in the steps that each query sees one key more than the one before, the last query all keys."""
    for step in steps:
        step.quantities.update(queries=polynomial(queries), keys=polynomial(keys))


@rule("charz.latent_attention.default", operator_class="attention")
def latent_attention(call: Call) -> list[Step]:
    """Count attention over latents that all heads share. For a single token, products are as wide as a latent, because the weight
    that expands it is multiplied into the query. A prompt expands its latents, which takes as much work, and its products are as wide
    as keys and values. So every query counts the latter width, and one query the excess of the latent's width: this is exact for one
    token, and one query too much for a prompt. If an indexer has chosen each query's keys, these are its context, and as many latents
    move as all queries choose together."""
    query: Value = call["query"]
    latent: Value = call["latent"]
    *batch, heads, length, rank = query.dims
    context, width, value = latent.dims[-2], call["width"], call["value"]
    if call["chosen"] is not None:
        call.context_limit = call["chosen"].dims[-1]
        for kept in (latent, call["key"]):
            call.moves(kept, product(*batch, length, context, kept.dims[-1]))
    rotated = call["rotated"].dims[-1]
    groups, rows = product(*batch), product(heads, length)
    scores = product(groups, rows, context)
    products = gemm("qk", groups, rows, context, width + rotated), gemm("av", groups, rows, value, context)
    for step in products:
        step.quantities["sharing"] = polynomial(heads)
    wide = gemm("qk_wide", groups, heads, context, rank - width), gemm("av_wide", groups, heads, rank - value, context)
    softmax = vector("softmax", product(FLOPS_PER_ELEMENT["softmax"] + 2, scores), scores)
    if call["chosen"] is None:
        _see_the_past([products[0], softmax, products[1]], length, context)
    return [products[0], wide[0], softmax, products[1], wide[1]]
