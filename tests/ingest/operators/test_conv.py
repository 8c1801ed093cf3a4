"""Convolutions against counts by hand."""

import torch
from torch import nn


def test_plain(lowered):
    op = (g := lowered(nn.Conv2d(3, 64, 7, 2, 3), torch.empty(2, 3, 224, 224))).only("conv")
    # 112 * 112 output pixels, 64 channels, 3 * 7 * 7 taps
    assert g.value(op, "macs") == 112 * 112 * 64 * 147 == 118_013_952
    assert g.value(op, "flops") == 2 * 118_013_952
    assert g.value(op, "macs", batch=7) == 7 * 118_013_952
    assert [g.value(op, q) for q in ("groups", "m", "n", "k")] == [1, 12544, 64, 147]


def test_grouped(lowered):
    op = (g := lowered(nn.Conv2d(64, 128, 3, padding=1, groups=4), torch.empty(2, 64, 14, 14))).only("conv")
    # each of 4 groups: 196 pixels, 32 of 128 channels, 16 of 64 channels * 9 taps
    assert [g.value(op, q) for q in ("groups", "m", "n", "k")] == [4, 196, 32, 144]
    assert g.value(op, "macs") == 196 * 128 * 16 * 9


def test_depthwise_is_vector_work(lowered):
    op = (g := lowered(nn.Conv2d(32, 32, 3, padding=1, groups=32), torch.empty(2, 32, 56, 56))).only("depthwise_conv")
    assert op.steps[0].step_class == "vector"
    assert g.value(op, "macs") == 56 * 56 * 32 * 9
    assert g.value(op, "threads") == 56 * 56 * 32


def test_depthwise_with_a_channel_multiplier_is_vector_work(lowered):
    """Two outputs a channel: each of 64 output channels meets 9 taps of one input channel."""
    op = (g := lowered(nn.Conv2d(32, 64, 3, padding=1, groups=32), torch.empty(2, 32, 56, 56))).only("depthwise_conv")
    assert op.steps[0].step_class == "vector"
    assert [g.value(op, q) for q in ("macs", "threads")] == [56 * 56 * 64 * 9, 56 * 56 * 64]


def test_one_group_of_one_channel_is_no_depthwise(lowered):
    assert lowered(nn.Conv2d(1, 8, 3), torch.empty(2, 1, 8, 8)).only("conv").steps[0].step_class == "gemm"


def test_one_and_three_dimensions(lowered):
    op = (g := lowered(nn.Conv1d(16, 32, 5), torch.empty(2, 16, 100))).only("conv")
    assert g.value(op, "macs") == 96 * 32 * 16 * 5
    op = (g := lowered(nn.Conv3d(3, 8, 3), torch.empty(2, 3, 10, 12, 14))).only("conv")
    assert g.value(op, "macs") == 8 * 10 * 12 * 8 * 3 * 27


def test_transposed(lowered):
    op = (g := lowered(nn.ConvTranspose2d(16, 8, 2, 2), torch.empty(2, 16, 7, 9))).only("conv_transposed")
    # every one of 7 * 9 * 16 input elements meets 8 channels * 4 taps
    assert g.value(op, "macs") == 7 * 9 * 16 * 8 * 4
    assert g.value(op, "threads") == 14 * 18 * 8
