"""Mixture of experts: one product a token and chosen expert."""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import product, scaled
from .registry import Call, gemm, rule


@rule("charz.grouped_mm.default", "aten._grouped_mm.default", operator_class="matmul")
def grouped_product(call: Call) -> list[Step]:
    """Rows are `tokens * top_k`, and each reads one expert's matrix. Tokens are taken to choose their `top_k` experts
    independently of each other, all experts alike; where `top_k` is not known, all rows to meet other experts until
    none is left."""
    rows, weight = call.tensors()[:2]
    count, k, n = weight.dims
    call.moves(weight, product(rows.dims[0], k, n))
    if call.has("chosen") and isinstance(count, int):
        call.draws(weight, call["chosen"] / count)
    return [gemm("main", 1, rows.dims[0], n, k)]


@rule("charz.expert_linear.default", operator_class="matmul")
def linear_of_experts(call: Call) -> list[Step]:
    """One linear layer of each expert: every row meets one of them, so each is read by its share of the rows."""
    rows, weights = call["input"], call["weights"]
    n, k = weights[0].dims
    for weight in weights:
        call.moves(weight, scaled(product(*rows.dims[:-1], k, n), 1 / len(weights)))
        call.draws(weight, call["chosen"] / len(weights))
    return [gemm("main", 1, product(*rows.dims[:-1]), n, k)]
