"""Mixture of experts: one product a token and chosen expert."""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import product, scaled
from .registry import Call, gemm, rule


@rule("charz.grouped_mm.default", "aten._grouped_mm.default", operator_class="matmul")
def grouped_product(call: Call) -> list[Step]:
    """Multiply `tokens * top_k` rows, each by one expert's matrix. Tokens are assumed to choose their `top_k` experts
    independently and uniformly. If `top_k` is unknown, each row is assumed to meet another expert until none is
    left."""
    rows, weight = call.tensors()[:2]
    count, k, n = weight.dims
    call.moves(weight, product(rows.dims[0], k, n))
    if call.has("chosen") and isinstance(count, int):
        call.draws(weight, call["chosen"] / count)
    return [gemm("main", 1, rows.dims[0], n, k)]


@rule("charz.expert_linear.default", operator_class="matmul")
def linear_of_experts(call: Call) -> list[Step]:
    """Multiply every row by one expert's linear layer, so that each expert's weights are read by its share of the rows."""
    rows, weights = call["input"], call["weights"]
    n, k = weights[0].dims
    for weight in weights:
        call.moves(weight, scaled(product(*rows.dims[:-1], k, n), 1 / len(weights)))
        call.draws(weight, call["chosen"] / len(weights))
    return [gemm("main", 1, product(*rows.dims[:-1]), n, k)]
