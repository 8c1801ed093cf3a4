"""Normalizations against the table's formulas."""

import torch
from torch import nn


def test_batch_norm_scales_and_shifts(lowered):
    op = (g := lowered(nn.BatchNorm2d(8), torch.empty(2, 8, 5, 5))).only("batch_norm")
    assert g.value(op, "flops") == 2 * 8 * 25


def test_layer_norm(lowered):
    op = (g := lowered(nn.LayerNorm(16), torch.empty(2, 3, 16))).only("norm")
    assert g.value(op, "flops") == 7 * 48
    op = (g := lowered(nn.LayerNorm(16, elementwise_affine=False), torch.empty(2, 3, 16))).only("norm")
    assert g.value(op, "flops") == 5 * 48


def test_rms_and_group_norm(lowered):
    op = (g := lowered(nn.RMSNorm(16), torch.empty(2, 3, 16))).only("norm")
    assert g.value(op, "flops") == 4 * 48
    op = (g := lowered(nn.GroupNorm(2, 8), torch.empty(2, 8, 5))).only("norm")
    assert g.value(op, "flops") == 7 * 40
