"""Shapes joined with parts: the layouts and efficiencies that apply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SHAPE = {"kernel_class": "conv", "operator_name": "aten.conv2d", "layout": "nchw"}
PART = {"family": "cpu", "vendor": "intel"}
NATIVE = "aten._slow_conv2d_forward"


@pytest.mark.parametrize(
    ("shape", "part", "layout", "operator_name"),
    [
        ({}, {}, "nchw", "aten.conv2d"),
        ({"operator_name": "aten.other"}, {}, "nchw", "*"),
        ({"is_misread": True}, {}, "strided", "aten.conv2d"),
        ({"is_misread": True}, {"family": "gpu"}, "nchw", "aten.conv2d"),
        ({"converted_byte": 8.0, "layout": "nhwc"}, {"family": "gpu"}, "nchw", "aten.conv2d"),
        ({"converted_byte": 8.0, "layout": "nhwc"}, {}, "nhwc", "aten.conv2d"),
        ({"converted_byte": 0.0, "layout": "nhwc"}, {"family": "gpu"}, "nhwc", "aten.conv2d"),
        ({"algorithm": "wide", "layout": "nhwc"}, {"family": "gpu"}, "nhwc_wide", "aten.conv2d"),
        ({"algorithm": "wide"}, {"family": "gpu"}, "nchw_wide", "aten.conv2d"),
        ({"algorithm": "large", "layout": "nhwc"}, {"family": "gpu"}, "nhwc_large", "aten.conv2d"),
        ({"algorithm": "own"}, {"family": "gpu"}, "nchw_own", "aten.conv2d"),
        ({"algorithm": "wide", "layout": "nhwc"}, {}, "nhwc", "aten.conv2d"),
        ({"is_aliased": True}, {}, "aliased", "aten.conv2d"),
        ({"is_aliased": True}, {"vendor": "amd"}, "nchw", "aten.conv2d"),
        ({"is_native": True}, {}, "nchw", NATIVE),
        ({"is_native": True}, {"family": "gpu"}, "nchw", "aten.conv2d"),
    ],
)
def test_layout_and_operator(
    check: Callable[..., None], shape: dict[str, Any], part: dict[str, Any], layout: str, operator_name: str
) -> None:
    """PyTorch on a processor has its own layouts and algorithms."""
    efficiencies = [
        {
            "efficiency_chain": chain, "kernel_class": "conv", "operator_name": name, "precision_class": "*", "layout": place,
            "memory_fraction": fraction,
        }
        for chain, fraction in (("any", 0.5), ("another", 0.25))
        for name in ("*", "aten.conv2d", NATIVE)
        for place in ("nchw", "nhwc", "strided", "aliased", "nchw_own", "nchw_wide", "nhwc_wide", "nhwc_large")
    ]  # fmt: skip
    operators = [{"kernel_class": "conv", "operator_name": name} for name in ("aten.conv2d", NATIVE)]
    check(
        "shape_target",
        {"layout": layout, "operator_name": operator_name, "memory_fraction": 0.5},
        shape=SHAPE | shape,
        part_support=PART | part,
        efficiency_precision={"precision_class": "*"},
        efficiency_operator=operators,
        chain_efficiency=efficiencies,
    )


def test_a_kernel_stays_though_nothing_is_known_of_its_algorithm(evaluate: Callable[..., list[object]]) -> None:
    """A user deleted the row of PyTorch's own convolution: the class's row applies, and no kernel is lost."""
    rows = evaluate(
        "shape_target",
        shape=[SHAPE | {"is_native": True}],
        part_support=[PART],
        efficiency_precision=[{"precision_class": "*"}],
        chain_efficiency=[{"kernel_class": "conv", "operator_name": "*", "precision_class": "*"}],
    )
    assert len(rows) == 1


@pytest.mark.parametrize(
    ("kernel_class", "bias_is_kernel", "count"), [("bias", False, 0), ("bias", True, 1), ("conv", False, 1)]
)
def test_some_parts_have_no_bias_kernels(
    evaluate: Callable[..., list[object]], kernel_class: str, bias_is_kernel: bool, count: int
) -> None:
    """The library adds the bias."""
    rows = evaluate(
        "shape_target",
        shape=[SHAPE | {"kernel_class": kernel_class}],
        part_support=[PART | {"bias_is_kernel": bias_is_kernel}],
        efficiency_precision=[{"precision_class": "*"}],
        chain_efficiency=[{"kernel_class": kernel_class, "operator_name": "*", "precision_class": "*"}],
    )
    assert len(rows) == count
