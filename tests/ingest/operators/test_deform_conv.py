"""Deformable convolution against a count by hand."""

import torch
from torch import nn

from charz.ingest.trace import torchvision_schemas


def test_samples_then_multiplies(lowered):
    torchvision_schemas.prepare()
    from torchvision.ops import DeformConv2d

    class Deformable(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = DeformConv2d(8, 16, 3, padding=1)

        def forward(self, x, offset, mask):
            return self.conv(x, offset, mask)

    g = lowered(Deformable(), torch.empty(2, 8, 10, 10), torch.empty(2, 18, 10, 10), torch.empty(2, 9, 10, 10))
    op = g.only("conv")
    assert g.value(op, "macs", "main") == 100 * 16 * 8 * 9
    # 100 pixels * 8 channels * 9 taps, each 4 weighted neighbours (7) and the mask (1)
    assert g.value(op, "flops", "sample") == 100 * 8 * 9 * 8
