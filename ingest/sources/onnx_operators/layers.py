"""Products, convolutions, normalizations, pooling and resampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from charz.schema.errors import CharzError

from .registry import Step, number, numbers, operator

CONVOLUTIONS = {1: torch.conv1d, 2: torch.conv2d, 3: torch.conv3d}
TRANSPOSED = {1: torch.conv_transpose1d, 2: torch.conv_transpose2d, 3: torch.conv_transpose3d}
MAX_POOLS = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}
AVERAGE_POOLS: dict[int, Any] = {1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d}


@operator("charz.Linear")
def linear(_: Step, source: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute a product with a weight of shape (outputs, inputs)."""
    return functional.linear(source, weight, bias)


@operator("charz.Attention")
def attention(step: Step, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute scaled dot-product attention, which exporters split into two products and a softmax."""
    key = key.transpose(-2, -1) if step.get("is_turned") else key
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)


@operator("MatMul")
def product(_: Step, left: Tensor, right: Tensor) -> Tensor:
    """Compute a matrix product with broadcasting."""
    return torch.matmul(left, right)


@operator("Gemm")
def scaled_product(step: Step, left: Tensor, right: Tensor, added: Tensor | None = None) -> Tensor:
    """Compute a matrix product plus an optional addend, each with its scale."""
    left = left.t() if step.get("transA") else left
    if added is None or (step.get("alpha", 1.0), step.get("beta", 1.0)) == (1.0, 1.0):
        return functional.linear(left, right if step.get("transB") else right.t(), added)
    right = right.t() if step.get("transB") else right
    return torch.addmm(added, left, right, alpha=step.get("alpha", 1.0), beta=step.get("beta", 1.0))


@operator("Einsum")
def contraction(step: Step, *operands: Tensor) -> Tensor:
    """Apply an Einstein summation."""
    return torch.einsum(step.get("equation"), *operands)


def _padding(step: Step, source: Tensor, kernel: Sequence[int]) -> tuple[Tensor, list[int]]:
    """Pad the source if its padding is asymmetric; return it and the padding left to the operator."""
    spatial = len(kernel)
    pads = step.get("pads", [0] * 2 * spatial)
    if step.get("auto_pad", "NOTSET") in ("SAME_UPPER", "SAME_LOWER"):
        pads = _same(step, source, kernel)
    before, after = list(pads[:spatial]), list(pads[spatial:])
    if before == after:
        return source, before
    around = [side for pair in zip(reversed(before), reversed(after), strict=True) for side in pair]
    return functional.pad(source, around), [0] * spatial


def _same(step: Step, source: Tensor, kernel: Sequence[int]) -> list[int]:
    """Compute the padding with which a side of n gives ceil(n / stride) windows."""
    spatial = len(kernel)
    strides, dilations = step.get("strides", [1] * spatial), step.get("dilations", [1] * spatial)
    total = []
    for size, side, stride, dilation in zip(source.shape[2:], kernel, strides, dilations, strict=True):
        total.append(max((-(-size // stride) - 1) * stride + (side - 1) * dilation + 1 - size, 0))
    low = [t // 2 if step.get("auto_pad") == "SAME_UPPER" else t - t // 2 for t in total]
    return low + [t - lo for t, lo in zip(total, low, strict=True)]


@operator("Conv")
def convolution(step: Step, source: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Apply a convolution of one to three dimensions."""
    spatial = weight.dim() - 2
    source, padding = _padding(step, source, weight.shape[2:])
    strides, dilations = step.get("strides", [1] * spatial), step.get("dilations", [1] * spatial)
    return CONVOLUTIONS[spatial](source, weight, bias, strides, padding, dilations, step.get("group", 1))


@operator("ConvTranspose")
def transposed_convolution(step: Step, source: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Apply a transposed convolution of one to three dimensions with symmetric padding."""
    spatial = weight.dim() - 2
    pads = step.get("pads", [0] * 2 * spatial)
    extra = step.get("output_padding", [0] * spatial)
    strides, dilations = step.get("strides", [1] * spatial), step.get("dilations", [1] * spatial)
    return TRANSPOSED[spatial](source, weight, bias, strides, pads[:spatial], extra, step.get("group", 1), dilations)


@operator("MaxPool")
def max_pool(step: Step, source: Tensor) -> Tensor:
    """Return the maximum of each window."""
    kernel = step.get("kernel_shape")
    source, padding = _padding(step, source, kernel)
    spatial = len(kernel)
    strides, dilations = step.get("strides", [1] * spatial), step.get("dilations", [1] * spatial)
    return MAX_POOLS[spatial](source, kernel, strides, padding, dilations, bool(step.get("ceil_mode", 0)))


@operator("AveragePool")
def average_pool(step: Step, source: Tensor) -> Tensor:
    """Return the mean of each window."""
    kernel = step.get("kernel_shape")
    source, padding = _padding(step, source, kernel)
    counts_border = bool(step.get("count_include_pad", 0))
    ceil = bool(step.get("ceil_mode", 0))
    return AVERAGE_POOLS[len(kernel)](
        source, kernel, step.get("strides", [1] * len(kernel)), padding, ceil, counts_border
    )


@operator("GlobalAveragePool", "GlobalMaxPool")
def global_pool(step: Step, source: Tensor) -> Tensor:
    """Reduce each channel to its mean or maximum."""
    axes = list(range(2, source.dim()))
    if step.operator == "GlobalMaxPool":
        return torch.amax(source, axes, keepdim=True)
    ones = [1] * len(axes)
    pools: dict[int, Any] = {
        1: functional.adaptive_avg_pool1d, 2: functional.adaptive_avg_pool2d, 3: functional.adaptive_avg_pool3d,
    }  # fmt: skip
    return pools[len(axes)](source, ones)


@operator("BatchNormalization")
def batch_norm(step: Step, source: Tensor, scale: Tensor, shift: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """Normalize by given means and variances."""
    return functional.batch_norm(source, mean, variance, scale, shift, False, 0.0, step.get("epsilon", 1e-5))


@operator("LayerNormalization")
def layer_norm(step: Step, source: Tensor, scale: Tensor, shift: Tensor | None = None) -> Tensor:
    """Normalize over the axes from `axis` on."""
    axis = step.get("axis", -1) % source.dim()
    return functional.layer_norm(source, source.shape[axis:], scale, shift, step.get("epsilon", 1e-5))


@operator("RMSNormalization", "SimplifiedLayerNormalization", "com.microsoft.SimplifiedLayerNormalization")
def rms_norm(step: Step, source: Tensor, scale: Tensor) -> Tensor:
    """Normalize by the root mean square over the axes from `axis` on."""
    axis = step.get("axis", -1) % source.dim()
    return functional.rms_norm(source, source.shape[axis:], scale, step.get("epsilon", 1e-5))


@operator("GroupNormalization")
def group_norm(step: Step, source: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Normalize over groups of channels."""
    return functional.group_norm(source, step.get("num_groups"), scale, shift, step.get("epsilon", 1e-5))


@operator("InstanceNormalization")
def instance_norm(step: Step, source: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Normalize each channel of each sample."""
    return functional.instance_norm(source, None, None, scale, shift, eps=step.get("epsilon", 1e-5))


@operator("LRN")
def local_response_norm(step: Step, source: Tensor) -> Tensor:
    """Normalize over neighbouring channels."""
    alpha, beta, bias = step.get("alpha", 1e-4), step.get("beta", 0.75), step.get("bias", 1.0)
    return functional.local_response_norm(source, step.get("size"), alpha, beta, bias)


@operator("Resize", "Upsample")
def resize(step: Step, source: Tensor, *rest: Any) -> Tensor:
    """Interpolate to other sizes, or repeat the nearest pixel."""
    scales, sizes = rest[0] if step.operator == "Upsample" else rest[1], rest[2] if len(rest) > 2 else None
    spatial = source.dim() - 2
    asked = [int(n) for n in numbers(sizes)[-spatial:]] if sizes else None
    factors = None if asked else [float(n) for n in numbers(scales)[-spatial:]]
    mode = step.get("mode", "nearest")
    if mode == "nearest":
        return functional.interpolate(source, asked, factors, "nearest")
    kinds = {("linear", 1): "linear", ("linear", 2): "bilinear", ("linear", 3): "trilinear", ("cubic", 2): "bicubic"}
    if (mode, spatial) not in kinds:
        raise CharzError("a resize of another kind", f"{step.name}: {mode} over {spatial} dimensions")
    corners = step.get("coordinate_transformation_mode", "half_pixel") == "align_corners"
    return functional.interpolate(source, asked, factors, kinds[mode, spatial], corners)


@operator("LSTM", "GRU", "RNN")
def recurrent(step: Step, *_: Any) -> Tensor:
    """Refuse the operator: its weights have another order than PyTorch's."""
    raise CharzError(
        "a recurrent operator of ONNX is not read", f"{step.name} ({step.operator})",
        next="ingest the nn.Module, or torch.export.save its program",
    )  # fmt: skip


@operator("DepthToSpace")
def shuffle(step: Step, source: Tensor) -> Tensor:
    """Move channels into pixels."""
    return functional.pixel_shuffle(source, number(step.get("blocksize")))
