"""Resampling against counts by hand."""

import torch
from torch.nn import functional as F


def test_bilinear(lowered):
    op = (g := lowered(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), torch.empty(2, 3, 4, 4))).only(
        "resample"
    )
    # 4 multiplications and 3 additions an output
    assert g.value(op, "flops") == 7 * 3 * 64
    # PyTorch's thread of a pixel loops over 3 channels of every sample
    assert g.value(op, "accesses", batch=5) == 5 * 3


def test_nearest_only_moves(lowered):
    op = (g := lowered(lambda x: F.interpolate(x, scale_factor=2), torch.empty(2, 3, 4, 4))).only("resample")
    assert g.value(op, "flops") == 0
    assert g.value(op, "threads") == 3 * 64


def test_grid_sample(lowered):
    g = lowered(lambda x, y: F.grid_sample(x, y, align_corners=False), torch.empty(2, 3, 8, 8), torch.empty(2, 5, 5, 2))
    # 75 outputs of 7 operations, 50 coordinates of 3
    assert g.value(g.only("resample"), "flops") == 7 * 75 + 3 * 50
