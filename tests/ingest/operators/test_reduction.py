"""Reductions against counts by hand."""

import torch


def test_sum_mean_max(lowered):
    op = (g := lowered(lambda x: x.sum(-1), torch.empty(2, 3, 10))).only("reduction")
    assert g.value(op, "flops") == 30
    op = (g := lowered(lambda x: x.mean(-1), torch.empty(2, 3, 10))).only("reduction")
    assert g.value(op, "flops") == 30 + 3
    op = (g := lowered(lambda x: x.max(-1).values, torch.empty(2, 3, 10))).only("reduction")
    assert g.value(op, "flops") == 30


def test_maximum_of_two_is_elementwise(lowered):
    op = (g := lowered(lambda x, y: torch.max(x, y), torch.empty(2, 5), torch.empty(2, 5))).only("elementwise")
    assert g.value(op, "flops") == 5


def test_variance(lowered):
    op = (g := lowered(lambda x: x.var(-1), torch.empty(2, 3, 10))).only("reduction")
    assert g.value(op, "flops") == 4 * 30
