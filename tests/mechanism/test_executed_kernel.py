"""Kernels of a run, including those that the backend inserts: numbers and order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Record = dict[str, Any]


def given(**changed: Any) -> dict[str, Any]:
    """Return three fused kernels (0: a linear layer, 1: a convolution with a bias, 2: a view) of one operator each, and tensors of 10
    elements read in fp32 and converted to fp16 before kernel 1."""
    keys = [{"operator_id": i, "kernel_id": i} for i in range(3)]
    tables: dict[str, Any] = {
        "run": [{"precision": "amp", "run_layout": "nhwc", "memory_format": "nhwc"}],
        "backend": [{"casts_are_kernels": True, "follows_strides": True, "adds_bias_kernels": True}],
        "kernel": [
            {
                "kernel_id": i,
                "kernel": name,
                "kernel_class": name,
                "anchor_operator_id": i,
                "operator_count": 1,
                "view_count": i,
            }
            for i, name in enumerate(["linear", "conv", "activation"])
        ],
        "operator": [
            {"operator_id": i, "operator_class": name, "aten_operator": f"aten.{name}.default"}
            for i, name in enumerate(["linear", "conv", "activation"])
        ],
        "operator_class": [{"operator_class": "conv", "is_convolution": True}, {"operator_class": "linear"}],
        "operator_precision": [{"operator_id": i, "policy": "amp", "precision": "fp16"} for i in range(3)],
        "operator_layout": [{"operator_id": 2, "memory_format": "nhwc", "layout": "view"}],
        "kernel_operator": keys,
        "kernel_traffic": [
            {"kernel_id": i, "input_byte": 20.0, "weight_byte": 8.0, "kv_cache_byte": 0.0, "output_byte": 20.0}
            for i in range(3)
        ],
        "tensor": [
            {"tensor_id": 5, "role": "activation", "producer_operator_id": 0},
            {"tensor_id": 6, "role": "weight"},
        ],
        "tensor_size": [{"tensor_id": i, "elements": 10.0} for i in (5, 6, 7, 8)],
        "precision": [{"precision": "fp32", "bits": 32}, {"precision": "fp16", "bits": 16}],
        "precision_cast": [
            {
                "policy": "amp",
                "cast_id": 0,
                "operator_id": 1,
                "tensor_id": 5,
                "from_precision": "fp32",
                "to_precision": "fp16",
            },
            {
                "policy": "amp",
                "cast_id": 1,
                "operator_id": 1,
                "tensor_id": 6,
                "from_precision": "fp32",
                "to_precision": "fp16",
            },
        ],
        "layout_copy": [{"memory_format": "nhwc", "copy_id": 0, "operator_id": 0, "tensor_id": 5}],
        "added_bias": [{"operator_id": 1, "bias_tensor_id": 8, "result_tensor_id": 7}],
    }
    return tables | changed


def test_numbers_and_places(evaluate: Callable[..., list[Record]]) -> None:
    """Fused kernels keep their numbers; casts, copies and biases are numbered after them. Each inserted kernel runs next to its own:
    copies and casts before, biases after."""
    rows = evaluate("executed_kernel", **given())
    order = [
        (row["kernel_class"], row["kernel_id"], row["fused_kernel_id"])
        for row in sorted(rows, key=lambda r: r["position"])
    ]
    assert order == [
        ("copy", 4, 0),
        ("linear", 0, 0),
        ("cast", 3, 1),
        ("conv", 1, 1),
        ("bias", 5, 1),
        ("activation", 2, 2),
    ]
    assert sorted(row["position"] for row in rows) == list(range(6))


def test_what_is_issued_ahead(evaluate: Callable[..., list[Record]]) -> None:
    """Views and biases up to each kernel, in order of execution; a second run of the plan, with another batch, equals the first."""
    sized = given()
    kernels = [kernel | {"view_count": i + 1} for i, kernel in enumerate(sized["kernel"])]
    first, second = sized["run"][0], sized["run"][0] | {"scenario_id": 2, "batch": 8}
    sizes = [size | {"batch": batch} for size in sized["tensor_size"] for batch in (first.get("batch", 1), 8)]
    rows = evaluate("executed_kernel", **(sized | {"run": [first, second], "kernel": kernels, "tensor_size": sizes}))
    issued = {
        number: [
            (row["kernel_class"], row["position"], row["issued_view_count"], row["issued_bias_count"])
            for row in sorted(rows, key=lambda row: row["position"])
            if row["scenario_id"] == number
        ]
        for number in (1, 2)
    }
    assert issued[1] == [
        ("copy", 0, 0, 0), ("linear", 1, 1, 0), ("cast", 2, 1, 0), ("conv", 3, 3, 0), ("bias", 4, 3, 1), ("activation", 5, 6, 1),
    ]  # fmt: skip
    assert issued[2] == issued[1]


def test_what_they_move(evaluate: Callable[..., list[Record]]) -> None:
    """Each tensor has ten elements."""
    rows = {row["kernel_class"]: row for row in evaluate("executed_kernel", **given())}
    cast, copy, bias, view = rows["cast"], rows["copy"], rows["bias"], rows["activation"]
    # fp32 in, fp16 out; an earlier kernel wrote it.
    assert (cast["input_byte"], cast["output_byte"], cast["produced_byte"], cast["traffic_byte"]) == (40, 20, 40, 60)
    # Both in the type that the reader computes in.
    assert (copy["input_byte"], copy["output_byte"], copy["layout"]) == (20, 20, "strided")
    # The result is read and written, and a bias of ten read.
    assert (bias["input_byte"], bias["weight_byte"], bias["output_byte"], bias["produced_byte"]) == (20, 20, 20, 20)
    # A kernel that is a view moves nothing, in the layout of the run's tensors.
    assert (view["traffic_byte"], view["layout"]) == (0, "nhwc")
    assert rows["linear"]["operator_name"] == "aten.linear"
    assert (cast["operator_name"], bias["operator_name"]) == ("*", "*")


def test_what_a_backend_inserts(evaluate: Callable[..., list[Record]]) -> None:
    """The backend's row decides: weights converted at every run, or nothing inserted."""
    weights = [{"casts_are_kernels": True, "weight_casts_are_kernels": True}]
    rows = evaluate("executed_kernel", **given(backend=weights))
    assert sorted(row["kernel_class"] for row in rows) == ["activation", "cast", "cast", "conv", "linear"]
    weight_cast = max((row for row in rows if row["kernel_class"] == "cast"), key=lambda row: row["kernel_id"])
    assert (weight_cast["weight_byte"], weight_cast["input_byte"], weight_cast["produced_byte"]) == (40, 0, 0)
    rows = evaluate("executed_kernel", **given(backend=[{}]))
    assert sorted(row["kernel_id"] for row in rows) == [0, 1, 2]
    # A backend that plans layouts copies images only for convolutions.
    rows = evaluate("executed_kernel", **given(backend=[{"plans_layout": True}]))
    assert sorted(row["kernel_id"] for row in rows) == [0, 1, 2]
    copies = [{"memory_format": "nhwc", "copy_id": 0, "operator_id": 1, "tensor_id": 5}]
    rows = evaluate("executed_kernel", **given(backend=[{"plans_layout": True}], layout_copy=copies))
    assert sorted(row["kernel_class"] for row in rows) == ["activation", "conv", "copy", "linear"]


@pytest.mark.parametrize(
    ("maker", "is_copied"),
    [
        ({"operator_class": "reduction", "aten_operator": "aten.sum.dim_IntList"}, False),
        ({"operator_class": "linear", "aten_operator": "aten.linear.default"}, True),
        ({"operator_class": "copy", "aten_operator": "aten.cat.default"}, True),
        ({"operator_class": "view", "aten_operator": "aten.split.Tensor", "is_view": True}, True),
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_an_image_that_a_loop_makes(
    evaluate: Callable[..., list[Record]], maker: Record, is_copied: bool, place: int
) -> None:
    """A backend that plans layouts lets its own loops store an image in the order that the convolution reads; a computed weight, a slice,
    a concatenation and a library's result are copied. A backend that follows strides copies all."""
    tables = given(
        layout_copy=[{"memory_format": "nhwc", "copy_id": 0, "operator_id": 1, "tensor_id": 5}],
        edge=[{"consumer_operator_id": 1, "position": place, "tensor_id": 5, "producer_operator_id": 9}],
    )
    tables["operator"] = [*tables["operator"], {"operator_id": 9, **maker}]
    tables["tensor"] = [t | {"producer_operator_id": 9} if t["tensor_id"] == 5 else t for t in tables["tensor"]]
    tables["operator_class"] = [
        {"operator_class": "conv", "is_convolution": True, "is_matrix": True},
        {"operator_class": "linear", "is_matrix": True},
        *({"operator_class": name} for name in ("reduction", "copy", "view")),
    ]

    def copies(backend: Record) -> int:
        rows = evaluate("executed_kernel", **(tables | {"backend": [backend]}))
        return sum(row["kernel_class"] == "copy" for row in rows)

    assert copies({"plans_layout": True}) == (is_copied or place == 1)
    assert copies({"follows_strides": True}) == 1


def test_a_step_runs_no_encoder(evaluate: Callable[..., list[Record]]) -> None:
    """The first of three kernels, one with a copy before it, runs only in a prompt: a step runs the others, numbered without gaps."""
    tables = given()
    kernels = [kernel | {"is_prompt_only": kernel["kernel_id"] == 0} for kernel in tables["kernel"]]
    first = tables["run"][0]
    runs = [first | {"phase": "prefill"}, first | {"phase": "decode", "scenario_id": 2}]
    rows = evaluate("executed_kernel", **(tables | {"kernel": kernels, "run": runs}))
    ran = {
        number: [r["kernel_class"] for r in sorted(rows, key=lambda r: r["position"]) if r["scenario_id"] == number]
        for number in (1, 2)
    }
    assert ran[1] == ["copy", "linear", "cast", "conv", "bias", "activation"]
    assert ran[2] == ["cast", "conv", "bias", "activation"]
    assert sorted(r["position"] for r in rows if r["scenario_id"] == 2) == list(range(4))
