"""Pooling against counts by hand."""

import torch
from torch.nn import functional as F


def test_windows(lowered):
    op = (g := lowered(lambda x: F.max_pool2d(x, 3, 2, 1), torch.empty(2, 4, 8, 8))).only("pooling")
    assert g.value(op, "flops") == 9 * 4 * 16
    op = (g := lowered(lambda x: F.avg_pool2d(x, 2), torch.empty(2, 4, 8, 8))).only("pooling")
    assert g.value(op, "flops") == 5 * 4 * 16


def test_global_average_meets_each_element_once(lowered):
    op = (g := lowered(lambda x: F.adaptive_avg_pool2d(x, 1), torch.empty(2, 4, 7, 7))).only("pooling")
    assert g.value(op, "flops") == 4 * 49
