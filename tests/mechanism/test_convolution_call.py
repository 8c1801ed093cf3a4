"""PyTorch's execution of a convolution on a processor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Record = dict[str, Any]
CONSTANTS = [
    {"library_constant": "native_convolution_elements", "value": 50.0},
    {"library_constant": "blocked_channels", "value": 16.0},
    {"library_constant": "slow_conversion_ratio", "value": 2.0},
    {"library_constant": "tensor_group_channels", "value": 4.0},
]


def given(
    run: Record,
    backend: Record,
    step: Record,
    tensor: Record | None = None,
    copies: list[Record] | None = None,
    sizes: Record | None = None,
) -> dict[str, Any]:
    """Return a convolution of an image of 100 elements by 36 weights, 25 results, in fp32: 400, 144 and 100 bytes."""
    return {
        "run": {"run_layout": "nchw"} | run,
        "backend": {"calls_aten": True} | backend,
        "executed_kernel": {"kernel_class": "conv", "anchor_operator_id": 0, "output_byte": 100.0, "layout": "nchw"},
        "operator_class": {"operator_class": "conv", "is_convolution": True},
        "precision": {"precision": "fp32", "bits": 32},
        "library_constant": CONSTANTS,
        "edge": [
            {"consumer_operator_id": 0, "position": 0, "tensor_id": 0},
            {"consumer_operator_id": 0, "position": 1, "tensor_id": 1},
        ],
        "tensor": [
            {"tensor_id": 0, "storage_tensor_id": 0, "shape": "[B, 4]", "is_batch_first": True} | (tensor or {}),
            {"tensor_id": 1, "storage_tensor_id": 1, "shape": "[9, 4]"},
            {"tensor_id": 2, "storage_tensor_id": 2, "shape": "[4]"},
        ],
        "tensor_size": [
            {"tensor_id": i, "elements": elements} | (sizes or {}) for i, elements in enumerate((100.0, 36.0))
        ],
        "step_size": {"step": "main", "m": 25.0, "k": 36.0, "taps": 9.0, "image": 100.0, "samples": 1.0} | step,
        "layout_copy": copies or [],
    }


EAGER: Record = {"plans_layout": False}
PLANNED: Record = {"plans_layout": True}
VIEW: Record = {"storage_tensor_id": 2}
"""An image that is a view of another tensor's storage."""


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        # A depth of 36 is below 16 channels of 9 taps: the image is read in place. The weights and the result are
        # blocked, written and read: 2 x (144 + 100); the larger of the two is allocated at a time.
        pytest.param(
            given({}, EAGER, {}),
            {"is_native": False, "is_misread": False, "scratch_byte": 144.0, "reorder_byte": 488.0, "channels_last_byte": 0.0},
            id="few channels",
        ),
        # 16 channels of 9 taps: the image too, 2 x (144 + 400 + 100).
        pytest.param(
            given({}, EAGER, {"k": 144.0}), {"scratch_byte": 544.0, "reorder_byte": 1288.0}, id="image in blocks"
        ),
        # One sample of at most 50 elements: a product over the image's columns, 25 x 36 of 4 bytes, written and read.
        pytest.param(
            given({}, EAGER, {"image": 50.0}),
            {"is_native": True, "scratch_byte": 3600.0, "reorder_byte": 7200.0},
            id="PyTorch's own",
        ),
        # With a kernel of one tap and stride 1, an image is its own columns.
        pytest.param(
            given({}, EAGER, {"image": 50.0, "k": 2.0, "taps": 1.0}),
            {"is_native": True, "scratch_byte": 0.0, "reorder_byte": 0.0},
            id="no columns",
        ),
        pytest.param(given({}, EAGER, {"image": 50.0, "samples": 2.0}), {"is_native": False}, id="two samples"),
        # Channels-last: only the weights of nine taps are reordered, first to channels-last and then to the library's
        # order: 2 x 288.
        pytest.param(
            given({"run_layout": "nhwc"}, PLANNED, {}),
            {"is_misread": False, "scratch_byte": 144.0, "channels_last_byte": 144.0, "reorder_byte": 576.0},
            id="planned channels-last",
        ),
        # A view of one sample of a one-tap convolution is taken for one that is not channels-last: copied, blocked with
        # its weights, and the result converted back: 2 x (144 + 400 + 100) and 2 x 400 for the copy.
        pytest.param(
            given({"run_layout": "nhwc"}, PLANNED, {"taps": 1.0}, VIEW | {"shape": "[B, 4]"}),
            {"is_misread": True, "scratch_byte": 944.0, "channels_last_byte": 0.0, "reorder_byte": 2088.0},
            id="misread",
        ),
        # If `layout_copy` lists the copy, it is a separate kernel.
        pytest.param(
            given(
                {"run_layout": "nhwc"},
                PLANNED,
                {"taps": 1.0},
                VIEW | {"shape": "[B, 4]"},
                [{"memory_format": "nhwc", "operator_id": 0, "tensor_id": 0}],
            ),
            {"is_misread": True, "scratch_byte": 944.0, "reorder_byte": 1288.0},
            id="misread and copied",
        ),
        pytest.param(
            given({"run_layout": "nhwc", "batch": 2}, PLANNED, {"taps": 1.0, "batch": 2}, VIEW, sizes={"batch": 2}),
                {"is_misread": False},
                id="two samples seen",
        ),
    ],
)  # fmt: skip
def test_what_is_put_in_another_order(check: Callable[..., None], tables: dict[str, Any], expected: Record) -> None:
    """Bytes that oneDNN and PyTorch reorder."""
    check("convolution_call", expected, **tables)


def test_backends_of_their_own(evaluate: Callable[..., list[Record]]) -> None:
    """Other backends do not call ATen."""
    tables = {
        name: rows if isinstance(rows, list) else [rows] for name, rows in given({}, {"calls_aten": False}, {}).items()
    }
    assert evaluate("convolution_call", **tables) == []


@pytest.mark.parametrize(
    ("k", "bits", "bias", "is_aliased", "reorder_byte"),
    [
        (512.0, 32, False, True, 0.0),  # 2 KiB
        (513.0, 32, False, False, 0.0),
        (768.0, 32, False, False, 0.0),
        (1024.0, 16, False, True, 0.0),
        # Two products of 3 x 5 results of 4 bytes, written and read.
        (512.0, 32, True, True, 240.0),
    ],
)
def test_linear_call(
    check: Callable[..., None], k: float, bits: int, bias: bool, is_aliased: bool, reorder_byte: float
) -> None:
    """Rows 2 KiB apart evict each other; the bias is first written to every row of the result."""
    check(
        "linear_call",
        {"is_aliased": is_aliased, "reorder_byte": reorder_byte},
        run={},
        backend={"calls_aten": True},
        executed_kernel={"kernel_class": "linear", "anchor_operator_id": 0},
        precision={"precision": "fp32", "bits": bits},
        step_size={"step": "main", "m": 3.0, "n": 5.0, "k": k, "gemm_count": 2.0},
        library_constant={"library_constant": "aliased_row_byte", "value": 2048.0},
        edge=[{"consumer_operator_id": 0, "position": 2, "tensor_id": 9}] if bias else [],
    )


@pytest.mark.parametrize(
    ("layout", "groups", "channels", "converted_byte"),
    [
        # An image of 400 bytes and a result of 100, each read and written once more.
        ("nhwc", 4.0, 24.0, 1000.0),
        ("nhwc", 4.0, 32.0, 0.0),
        ("nhwc", 1.0, 24.0, 0.0),
        ("nchw", 4.0, 24.0, 0.0),
    ],
)
def test_channels_last_groups(
    check: Callable[..., None], layout: str, groups: float, channels: float, converted_byte: float
) -> None:
    """Groups whose width is not a power of two are converted and converted back."""
    tables = given({"run_layout": "nhwc"}, EAGER, {"k": 9 * channels, "gemm_count": groups})
    tables["executed_kernel"] |= {"layout": layout}
    check("convolution_call", {"converted_byte": converted_byte}, **tables)


@pytest.mark.parametrize(
    ("kernel", "step", "elements", "byte"),
    [
        # Twelve channels are padded to sixteen: 100 x 16 / 12; 36 weights at twice the time; 25 x 3 results; read and written, two bytes each.
        ({}, {"k": 108.0}, 400 / 3 + 72.0 + 75.0, 4 * (400 / 3 + 36.0 + 75.0)),
        # Eight channels need no padding.
        ({}, {"k": 72.0}, 100.0 + 72.0 + 75.0, 4 * (100.0 + 36.0 + 75.0)),
        # Four channels are padded to eight, at twice the time; in channels-last the image is read and written with eight.
        ({}, {}, 400.0 + 72.0 + 75.0, 4 * (200.0 + 36.0 + 75.0)),
        ({}, {"k": 9.0, "m": 100.0}, 1600.0 + 72.0 + 300.0, 4 * 1136.0),
        ({"layout": "nhwc"}, {}, 100.0, 2 * (100.0 + 200.0)),
        ({"layout": "nhwc", "compute_precision": "fp32"}, {}, 0.0, 0.0),
        ({"layout": "nhwc"}, {"gemm_count": 2.0}, 0.0, 0.0),
        # Groups of 24 channels in channels-last: nothing to pad, and image and result of two groups through nchw at twice the time.
        ({"layout": "nhwc"}, {"k": 216.0, "gemm_count": 2.0}, 100.0 + 72.0 + 150.0 + 2 * 250.0, 4 * (100.0 + 36.0 + 150.0)),
        ({"layout": "nhwc"}, {"k": 288.0, "gemm_count": 2.0}, 0.0, 0.0),
        # A kernel of one tap and stride 1 is a product of rows of 16 bytes, which 40 elements of 2 bytes have and 25 do not.
        ({}, {"k": 2.5, "taps": 1.0, "m": 40.0}, 0.0, 0.0),
        ({}, {"k": 2.5, "taps": 1.0, "m": 40.0, "samples": 2.0}, 2 * 320.0 + 72.0 + 120.0, 4 * (320.0 + 36.0 + 120.0)),
        ({}, {"k": 10.0, "taps": 1.0, "m": 10.0, "samples": None}, 0.0, 0.0),
        ({}, {"k": 10.0, "taps": 1.0, "m": 10.0}, 160.0 + 72.0 + 30.0, 4 * (160.0 + 36.0 + 30.0)),
        ({"compute_precision": "fp32"}, {}, 0.0, 0.0),
        ({"layout": "nhwc"}, {"k": 108.0}, 0.0, 0.0),
    ],
)
def test_conversion_from_nchw(check: Callable[..., None], kernel: Record, step: Record, elements: float, byte: float) -> None:
    """Elements are read and written once, each of two bytes."""
    tables = given({}, EAGER, {"n": 3.0} | step)
    tables["executed_kernel"] |= {"compute_precision": "fp16"} | kernel
    tables["precision"] = [{"precision": "fp16", "bits": 16}, {"precision": "fp32", "bits": 32}]
    check("convolution_call", {"nchw_elements": elements, "nchw_byte": byte}, **tables)


@pytest.mark.parametrize(
    ("layout", "bits", "groups", "channels", "algorithm", "converted_byte"),
    [
        # Groups of 2 and 3 channels have no tile on tensor cores and stay in channels-last, groups of 4 have one.
        ("nhwc", 16, 4.0, 2.0, "wide", 0.0),
        ("nhwc", 16, 4.0, 3.0, "wide", 0.0),
        ("nhwc", 16, 4.0, 4.0, None, 0.0),
        # In fp32 an image of 400 bytes and a result of 100 are converted and converted back.
        ("nhwc", 32, 4.0, 3.0, None, 1000.0),
        ("nhwc", 16, 1.0, 3.0, None, 0.0),
        ("nchw", 16, 4.0, 2.0, None, 0.0),
    ],
)
def test_narrow_groups(
    check: Callable[..., None], layout: str, bits: int, groups: float, channels: float, algorithm: str | None, converted_byte: float
) -> None:
    """Groups of fewer than four channels of halves run in channels-last without tensor cores."""
    tables = given({"run_layout": "nhwc"}, EAGER, {"k": 9 * channels, "gemm_count": groups})
    tables["executed_kernel"] |= {"layout": layout}
    tables["precision"] |= {"bits": bits}
    check("convolution_call", {"algorithm": algorithm, "converted_byte": converted_byte}, **tables)
