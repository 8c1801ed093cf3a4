"""Mixture of experts: one product a token and chosen expert."""

from __future__ import annotations

from ..graph import Part
from ..symbolic import product
from .registry import Call, gemm, rule


@rule("charz.grouped_mm.default", "aten._grouped_mm.default", operator_class="matmul")
def grouped_product(call: Call) -> list[Part]:
    """Rows are `tokens * top_k`. Each row reads one expert's matrix, all rows together at most all
    matrices: exact for few tokens on distinct experts and for many tokens, an upper bound between."""
    rows, weight = call.tensors()[:2]
    _, k, n = weight.dims
    call.moves(weight, product(rows.dims[0], k, n))
    return [gemm("main", 1, rows.dims[0], n, k)]
