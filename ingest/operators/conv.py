"""Convolutions as implicit GEMM: M = B * output pixels, N = output channels a group,
K = input channels a group * kernel volume. Depthwise has one input channel a group, so K = kernel volume
and N is the channel multiplier, usually 1: too narrow for a matrix unit, so it is vector arithmetic.
PyTorch calls its depthwise kernels for every multiplier (`is_depthwise` in Convolution.cpp).

Groups may be symbolic: a separate kernel for each sample is a grouped convolution of B groups.

The bias is the accumulator's first value and costs no operation.
"""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import Size, polynomial, product, ratio, scaled, size_product
from .registry import Call, Value, gemm, rule, vector


@rule(
    "aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default",
    "aten.conv1d.padding", "aten.conv2d.padding", "aten.conv3d.padding",
    operator_class="conv",
)  # fmt: skip
def convolution(call: Call) -> list[Step]:
    return _forward(call, call["groups"])


@rule("aten.convolution.default", "aten._convolution.default", operator_class="conv")
def general_convolution(call: Call) -> list[Step]:
    return _transposed(call) if call["transposed"] else _forward(call, call["groups"])


@rule(
    "aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input",
    operator_class="conv_transposed",
)  # fmt: skip
def transposed_convolution(call: Call) -> list[Step]:
    return _transposed(call)


def _forward(call: Call, groups: Size) -> list[Step]:
    weight: Value = call["weight"]
    channels_out, channels_in, *kernel = weight.dims
    spatial = len(kernel)
    n, k = ratio(channels_out, groups), product(channels_in, *kernel)
    m = product(*_batch(call.output, spatial), *call.output.dims[-spatial:])
    if groups != 1 and channels_in == 1:
        call.operator_class = "depthwise_conv"
        return [_depthwise(call, product(groups, m, n, k))]
    step = gemm("main", groups, m, n, k)
    step.quantities["taps"] = polynomial(product(*kernel))
    if call["dilation"] in (1, [1], [1, 1], [1, 1, 1]):
        step.quantities["image"] = polynomial(size_product(call["input"].dims))
    if groups == 1 and _is_plain(call, kernel):
        step.quantities["samples"] = polynomial(call["input"].dims[0])
    return [step]


def _is_plain(call: Call, kernel: list[Size]) -> bool:
    """Return True for a convolution without dilation and with kernel sides of at most 3. For these, PyTorch on a CPU
    uses oneDNN only above some input size (`use_mkldnn` in Convolution.cpp)."""
    source: Value = call["input"]
    is_batched = len(source.dims) > len(kernel) + 1
    is_large = len(kernel) > 1 and all(isinstance(side, int) and side > 3 for side in kernel)
    return is_batched and len(kernel) <= 2 and not is_large and call["dilation"] in (1, [1], [1, 1])


def _transposed(call: Call) -> list[Step]:
    """Count M = B * input pixels: every input element meets every kernel tap of its group's output channels."""
    call.operator_class = "conv_transposed"
    source: Value = call["input"]
    weight: Value = call["weight"]
    channels_in, channels_out, *kernel = weight.dims
    spatial = len(kernel)
    groups = call["groups"]
    m = product(*_batch(source, spatial), *source.dims[-spatial:])
    n, k = product(channels_out, *kernel), ratio(channels_in, groups)
    if groups != 1 and k == 1 and channels_out == 1:
        return [_depthwise(call, product(groups, m, n))]
    return [gemm("main", groups, m, n, k, threads=call.output.numel)]


def _batch(value: Value, spatial: int) -> tuple[Size, ...]:
    """Return the batch dimensions; empty for an unbatched input."""
    return value.dims[: -spatial - 1]


def _depthwise(call: Call, macs: Size) -> Step:
    return vector("main", scaled(macs, 2.0), size_product(call.output.dims), macs=macs)
