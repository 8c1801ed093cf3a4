"""Pointwise convolutions and squeeze-and-excite gates, in hand-made graphs."""

from __future__ import annotations

import pytest

from charz.ingest.compile.kinds import kinds
from charz.ingest.graph import Step


def conv(b, *reads, taps, elements=None):
    made = b.op("conv", *reads, elements=elements, macs=100)
    b.graph.operators[-1].steps[0].quantities["taps"] = {(0, 0, 0): float(taps)}
    return made


def test_a_convolution_of_single_pixels(make):
    b = make()
    x = conv(b, b.input(100), b.weight(9), taps=9)
    x = conv(b, x, b.weight(1), taps=1)
    product = b.op("linear", x, b.weight(10), macs=100)
    b.graph.operators[-1].steps.append(Step("main", "gemm"))
    assert kinds(b.output(product)) == ["conv", "pointwise_conv", "linear"]


def gated(make, pool="pooling", squash="aten.sigmoid.default", of_another=False, product="conv", swapped=False):
    """Build x times its gate: x pooled, reduced, ReLU, expanded, squashed."""
    b = make()
    before = b.input(400)
    x = b.op("activation", before, aten_operator="aten.silu_.default", inplace=True)
    h = b.op("view", b.op(pool, before if of_another else x, elements=4))
    h = b.op("activation", b.op(product, h, b.weight(4), elements=1, macs=4), inplace=True)
    h = b.op(product, h, b.weight(4), b.weight(4), elements=4, macs=4)
    gate = b.op("view", b.op("activation", h, aten_operator=squash))
    operands = (x, gate) if swapped else (gate, x)
    return b.output(b.op("elementwise", *operands, elements=400, aten_operator="aten.mul.Tensor"))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"swapped": True},
        {"pool": "reduction"},
        {"product": "linear"},
        {"squash": "aten.hardsigmoid.default"},
    ],
)
def test_squeeze_and_excite(make, given):
    """All operators that make the gate, and the product with the gated tensor, whatever views are between."""
    graph = gated(make, **given)
    found = kinds(graph)
    assert [k for o, k in zip(graph.operators, found, strict=True) if not o.is_view] == [
        "activation",
        *["squeeze_excite"] * 6,
    ]


@pytest.mark.parametrize(
    "given", [{"of_another": True}, {"squash": "aten.tanh.default"}, {"pool": "activation"}, {"product": "matmul"}]
)
def test_what_is_no_squeeze_and_excite(make, given):
    """Not a gate: a gate of another tensor, another function, no pooling, no products by weights."""
    assert "squeeze_excite" not in kinds(gated(make, **given))
