"""The kernel that PyTorch chooses for a depthwise convolution on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

CONSTANTS = {
    "depthwise_taps": 49.0,
    "depthwise_half_taps": 25.0,
    "depthwise_short_taps": 9.0,
    "depthwise_least_channels": 32.0,
    "depthwise_least_width": 7.0,
    "depthwise_strided_channels": 512.0,
    "depthwise_large_channels": 256.0,
    "depthwise_large_width": 28.0,
    "depthwise_large_elements": 2.0**31,
}
"""Limits in `use_cudnn_depthwise` and `check_cudnn_depthwise_workload_with_filter` of PyTorch 2.4, and two found on an H200."""


def given(
    taps: float = 9.0,
    layout: str = "nchw",
    precision: str = "fp16",
    channels: float = 96.0,
    width: float = 56.0,
    stride: float = 1.0,
    batch: int = 32,
    kind: str = "depthwise_conv",
) -> dict[str, Any]:
    """Return a convolution of `batch` images of `width` by `width`: one result per position and channel, one product per tap."""
    results = batch * channels * (width // stride) ** 2
    size = {"batch": batch}
    return {
        "run": {"batch": batch},
        "backend": {"calls_aten": True},
        "executed_kernel": {
            "kernel_class": kind, "anchor_operator_id": 0, "layout": layout, "compute_precision": precision,
        },
        "library_constant": [{"library_constant": name, "value": value} for name, value in CONSTANTS.items()],
        "edge": [{"consumer_operator_id": 0, "position": i, "tensor_id": i} for i in (0, 1)],
        "tensor_size": [
            {"tensor_id": 0, "elements": batch * channels * width**2} | size,
            {"tensor_id": 1, "elements": channels * taps} | size,
        ],
        "step_size": {"step": "main", "macs": taps * results, "threads": results} | size,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("convolution", "algorithm"),
    [
        # Kernels observed on an H200 (benchmarks/measured): `conv2d_c1_k1_nchw_shmem_tiling` of cuDNN, or PyTorch's own
        # `conv_depthwise2d_forward_kernel`.
        ({}, None),
        ({"taps": 25.0}, None),
        ({"taps": 49.0}, "wide"),
        ({"taps": 961.0}, "wide"),
        ({"precision": "fp32"}, "own"),
        ({"precision": "bf16"}, "own"),
        ({"precision": "fp32", "taps": 25.0}, "wide"),
        ({"stride": 2.0}, "own"),
        ({"stride": 2.0, "taps": 25.0}, "wide"),
        ({"stride": 2.0, "channels": 384.0, "width": 28.0}, None),
        ({"stride": 2.0, "channels": 768.0, "width": 14.0}, None),
        # Further cases of the limits.
        ({"stride": 2.0, "channels": 384.0, "width": 26.0}, "own"),
        ({"stride": 2.0, "channels": 255.0, "width": 28.0}, "own"),
        ({"stride": 2.0, "batch": 1}, None),
        ({"stride": 3.0, "channels": 768.0, "batch": 1, "width": 54.0}, "own"),
        ({"channels": 31.0}, "own"),
        ({"channels": 32.0}, None),
        ({"width": 7.0}, None),
        ({"width": 6.0}, "own"),
        ({"taps": 4.0}, "own"),
        ({"taps": 7.0}, "own"),
        ({"taps": 1.0}, None),
        # Channels-last: `conv2d_c1_k1_nhwc` up to 7 x 7, beyond that `conv2d_grouped_direct_kernel`.
        ({"layout": "nhwc", "taps": 49.0}, None),
        ({"layout": "nhwc", "taps": 81.0}, "wide"),
        ({"layout": "nhwc", "taps": 49.0, "precision": "fp32"}, None),
        ({"layout": "nhwc", "stride": 2.0}, None),
        ({"layout": "strided", "taps": 81.0}, None),
        # 2^31 elements: 128 channels of 128 x 128 and 1,024 samples; one sample fewer is indexed in 31 bits.
        ({"layout": "nhwc", "channels": 128.0, "width": 128.0, "batch": 1024}, "large"),
        ({"layout": "nhwc", "channels": 128.0, "width": 128.0, "batch": 1023}, None),
        ({"layout": "nhwc", "channels": 128.0, "width": 128.0, "batch": 1024, "stride": 2.0, "taps": 81.0}, "large"),
        ({"channels": 128.0, "width": 128.0, "batch": 1024}, None),
    ],
    ids=str,
)
def test_kernels_by_size_layout_and_type(
    check: Callable[..., None], convolution: dict[str, Any], algorithm: str | None
) -> None:
    """Half precision with small square kernels runs in cuDNN, the rest in PyTorch's own kernel; channels-last only in cuDNN."""
    check("depthwise_call", {"algorithm": algorithm}, **given(**convolution))


def test_others_have_no_row(evaluate: Callable[..., list[object]]) -> None:
    """Plain convolutions, and backends with libraries of their own."""
    plain = given(kind="conv")
    library = given() | {"backend": {"calls_aten": False}}
    for tables in (plain, library):
        assert evaluate("depthwise_call", **{k: v if isinstance(v, list) else [v] for k, v in tables.items()}) == []
