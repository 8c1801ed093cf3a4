"""Recurrences over a state that stays between tokens, as fused kernels run them (`sources.recurrences`).

A step of one token reads the state, changes it by an outer product and reads it again. For a prompt, kernels take a chunk of
tokens at a time: those products become matrix products, and each token also meets the others of its chunk. Both are one polynomial
in the length S: a state's products grow with S and those within a chunk with S - 1, as whole squares of the chunk, because kernels
do not skip the masked half (Yang et al. 2024, arXiv:2406.06484 and arXiv:2412.06464; Dao and Gu 2024, arXiv:2405.21060).
"""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import Size, product, scaled, total
from .elementwise import FLOPS_PER_ELEMENT
from .registry import Call, Value, gemm, rule, vector


@rule("charz.state_conv.default", "charz.state_conv.stateless", operator_class="depthwise_conv")
def causal_convolution(call: Call) -> list[Step]:
    """Count a convolution over positions, each channel separately; the state supplies the inputs before the first position."""
    source: Value = call["input"]
    weight: Value = call["weight"]
    macs = product(source.numel, weight.dims[-1])
    return [vector("main", scaled(macs, 2.0), source.numel, macs=macs)]


@rule("charz.delta_rule.default", "charz.delta_rule.stateless", operator_class="recurrence")
def delta_rule(call: Call) -> list[Step]:
    """Count the gated delta rule. The value that a key recalls from the state is subtracted from its new value before the write. Within
    a chunk keys meet keys and queries, a triangular system gives what each token adds, and queries read their share of it. Elementwise
    arithmetic adds the norms and the scale of queries and keys, the step size, and the decay."""
    value: Value = call["value"]
    batch, length, heads, width = value.dims
    key_width = call["key"].dims[-1]
    groups, tokens = product(batch, heads), product(batch, heads, length)
    flops = total(
        product(tokens, total(product(FLOPS_PER_ELEMENT["square"] + 4, key_width), product(3, width))),
        product(2, call["decay"].numel),
        product(groups, key_width, width, _decays(length, call["chunk"])),
    )
    return [
        gemm("recall", groups, length, width, key_width),
        gemm("read", groups, length, width, key_width),
        gemm("update", groups, key_width, width, length),
        *_within("within", groups, length, call["chunk"], total(product(3, key_width), product(2, width))),
        vector("gates", flops, value.numel),
    ]


@rule("charz.state_space.default", "charz.state_space.stateless", operator_class="recurrence")
def state_space(call: Call) -> list[Step]:
    """Count Mamba 2: the heads of a group share keys and queries, and each token and head scales its write by a step size."""
    source: Value = call["input"]
    batch, length, heads, width = source.dims
    shared, state = call["key"].dims[-2:]
    groups, tokens = product(batch, heads), product(batch, heads, length)
    flops = total(
        product(tokens, total(FLOPS_PER_ELEMENT["softplus"] + 4, product(3, width))),
        product(groups, width, state, _decays(length, call["chunk"])),
    )
    return [
        gemm("read", groups, length, width, state),
        gemm("update", groups, width, state, length),
        *_within("scores", product(batch, shared), length, call["chunk"], state),
        *_within("within", groups, length, call["chunk"], width),
        vector("gates", flops, source.numel),
    ]


@rule("charz.selective_scan.default", "charz.selective_scan.stateless", operator_class="recurrence")
def selective_scan(call: Call) -> list[Step]:
    """Count Mamba, for each element of the state and token: the decay (a product, an exponential), the write (two products), the new
    state (a product, a sum), and its share of the result (a multiply-accumulate)."""
    source: Value = call["input"]
    states = product(source.numel, call["decay"].dims[-1])
    gate = FLOPS_PER_ELEMENT["silu"] + 1 if call["gate"] is not None else 0
    skip = 2 if call["skip"] is not None else 0
    flops = total(product(8, states), product(FLOPS_PER_ELEMENT["softplus"] + 1 + skip + gate, source.numel))
    return [vector("main", flops, source.numel, macs=states)]


def _within(name: str, groups: Size, length: Size, chunk: int, width: Size) -> list[Step]:
    """Count the products of each token except the first with all of its chunk; a single token has none."""
    others = total(length, -1)
    return [gemm(name, groups, others, chunk, width)] if others != 0 else []


def _decays(length: Size, chunk: int) -> Size:
    """Return how many times a state decays: once a chunk, and once by a single token."""
    return total(scaled(total(length, -1), 1 / chunk), 1)
