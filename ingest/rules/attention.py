"""Scaled dot-product attention: one operator of three parts, Q·Kᵀ, softmax and A·V.

Grouped-query attention multiplies every query head, whatever the number of key heads. A causal mask
halves nothing: the counts are those of the full product.
"""

from __future__ import annotations

from ..graph import Part
from ..symbolic import product
from .elementwise import FLOPS_PER_ELEMENT
from .registry import Call, Value, gemm, rule, vector


@rule("aten.scaled_dot_product_attention.default", operator_class="attention")
def scaled_dot_product_attention(call: Call) -> list[Part]:
    query: Value = call["query"]
    key: Value = call["key"]
    value: Value = call["value"]
    *batch, length, width = query.dims
    context = key.dims[-2]
    groups = product(*batch)
    scores = product(groups, length, context)
    # softmax, the scale, and the additive mask where there is one
    flops = FLOPS_PER_ELEMENT["softmax"] + 1 + (1 if call["attn_mask"] is not None or call["is_causal"] else 0)
    return [
        gemm("qk", groups, length, context, width),
        vector("softmax", product(flops, scores), scores),
        gemm("av", groups, length, value.dims[-1], context),
    ]
