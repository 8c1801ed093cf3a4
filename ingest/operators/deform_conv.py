"""Deformable convolution: every tap is interpolated between pixels (4 neighbours: 7 operations, one more
for the modulation mask), then the convolution is the usual implicit GEMM."""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import product
from .registry import Call, Value, gemm, rule, vector


@rule("torchvision.deform_conv2d.default", operator_class="conv")
def deformable_convolution(call: Call) -> list[Step]:
    weight: Value = call["weight"]
    channels_out, channels_in, *kernel = weight.dims
    groups = call["groups"]
    assert isinstance(channels_out, int), "channels are never symbolic"
    batch, _, *pixels = call.output.dims
    samples = product(batch, *pixels, groups, channels_in, *kernel)
    flops = 8 if call["use_mask"] else 7
    return [
        vector("sample", product(flops, samples), samples),
        gemm("main", groups, product(batch, *pixels), channels_out // groups, product(channels_in, *kernel)),
    ]
