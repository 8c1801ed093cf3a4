"""Operations on complex numbers as real operations, by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from charz.ingest.compile.dataflow import flow_of
from charz.ingest.compile.precision import propagate


def complex_(*sizes, dtype=torch.complex64):
    return torch.empty(*sizes, dtype=dtype)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x, y: x @ y, [8, 8]),
        (lambda x, y: torch.nn.functional.linear(x, y), [8, 8]),
        (lambda x, y: torch.einsum("bk,kn->bn", x, y), [8, 8]),
    ],
)
def test_a_product_of_complex_numbers_is_four_real_ones(lowered, function, shape):
    """(B, 8) by (8, 8): each of 64 B products is four, as (B, 16) by (16, 16)."""
    for dtype, times in ((torch.float32, 1), (torch.complex64, 4), (torch.complex128, 4)):
        g = lowered(function, torch.empty(2, 8, dtype=dtype), torch.empty(8, 8, dtype=dtype), symbolic=False)
        (op,) = [o for o in g.graph.operators if not o.is_view]
        assert g.value(op, "macs") == times * 2 * 8 * 8
        assert g.value(op, "flops") == 2 * times * 2 * 8 * 8
        sizes = [g.value(op, q) for q in ("groups", "m", "k", "n")]
        assert sizes == ([1, 2, 8, 8] if times == 1 else [1, 2, 16, 16])


def test_a_complex_convolution(lowered):
    g = lowered(nn.Conv2d(3, 5, 3, bias=False, dtype=torch.complex64), complex_(2, 3, 6, 6))
    assert g.value(g.only("conv"), "macs", batch=2) == 4 * 2 * 16 * 5 * 27


def test_a_depthwise_one(lowered):
    g = lowered(nn.Conv2d(4, 4, 3, groups=4, bias=False, dtype=torch.complex64), complex_(2, 4, 6, 6))
    op = g.only("depthwise_conv")
    assert (g.value(op, "macs", batch=2), g.value(op, "flops", batch=2)) == (4 * 2 * 16 * 4 * 9, 8 * 2 * 16 * 4 * 9)


@pytest.mark.parametrize(
    ("function", "flops"),
    [
        (lambda x: x + x, 2), (lambda x: x * x, 6), (lambda x: x / x, 11), (torch.abs, 4), (torch.exp, 5), (lambda x: -x, 2),
        (torch.tan, 2), (lambda x: torch.add(x, x, alpha=2), 4),
    ],
)  # fmt: skip
def test_operations_of_an_element(lowered, function, flops):
    g = lowered(function, complex_(2, 8))
    (op,) = [o for o in g.graph.operators if not o.is_view]
    assert g.value(op, "flops", batch=2) == 2 * 8 * flops


def test_a_sum_adds_both_parts(lowered):
    g = lowered(lambda x: x.sum(1), complex_(2, 8))
    assert g.value(g.only("reduction"), "flops", batch=2) == 2 * 2 * 8


def test_what_states_real_operations_is_left(lowered):
    """A Fourier transform of 8 complex points takes 5 8 log2 8 real operations, a complex number from its polar form 4."""
    g = lowered(torch.fft.fft, complex_(2, 8))
    assert g.value(g.only("fft"), "flops", batch=2) == 2 * 5 * 8 * 3
    g = lowered(torch.polar, torch.empty(2, 8), torch.empty(2, 8))
    assert g.value(g.only("elementwise"), "flops", batch=2) == 2 * 8 * 4


def test_it_is_computed_in_the_type_of_the_parts(lowered, rules):
    """The policy for real numbers does not matter."""
    g = lowered(lambda x, y: x * (y @ y), torch.empty(8, 8), complex_(8, 8, dtype=torch.complex128), symbolic=False)
    flow = flow_of(g.graph, rules.classes)
    types = propagate(flow, rules.policies["fp16"], rules)
    assert [types.operator[o.operator_id] for o in g.graph.operators if not o.is_view] == ["fp64", "fp64"]
