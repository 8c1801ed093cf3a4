"""Table look-ups: only the looked-up rows move."""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import product
from .registry import Call, Value, move, rule, vector


@rule("aten.embedding.default", operator_class="embedding")
def embedding(call: Call) -> list[Step]:
    call.moves(call["weight"], call.output.elements)
    return [move(call.output.elements)]


@rule("charz.packed_embedding.default", operator_class="embedding")
def packed_embedding(call: Call) -> list[Step]:
    """Look up rows with their scales and zero points: each element minus a zero point, times a scale."""
    rows = call["indices"].numel
    call.moves(call["weight"], call.output.elements)
    for operand in (call["scales"], call["zeros"]):
        if operand is not None:
            call.moves(operand, product(rows, *operand.dims[1:]))
    return [vector("main", product(2, call.output.elements), call.output.elements)]


@rule("aten.embedding_bag.padding_idx", "aten.embedding_bag.default", "aten._embedding_bag.default",
      "aten._embedding_bag_forward_only.default", operator_class="embedding")  # fmt: skip
def embedding_bag(call: Call) -> list[Step]:
    """Read one row an index, and add it into its bag."""
    weight: Value = call["weight"]
    indices: Value = call["indices"]
    gathered = product(indices.numel, weight.dims[-1])
    call.moves(weight, gathered)
    return [vector("main", gathered, call.output.elements)]
