"""Normalizations; FLOPs an element from the table in `elementwise`."""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import polynomial, product, total
from .elementwise import FLOPS_PER_ELEMENT
from .registry import Call, Value, rule, vector


@rule(
    "aten.batch_norm.default",
    "aten.native_batch_norm.default",
    "aten._native_batch_norm_legit.default",
    "aten._native_batch_norm_legit_no_training.default",
    "aten._native_batch_norm_legit_functional.default",
    "aten.cudnn_batch_norm.default",
    operator_class="batch_norm",
)
def batch_norm(call: Call) -> list[Step]:
    """Count scale and shift by channel in inference, and in training also statistics of the batch."""
    training = call.has("training") and call["training"]
    flops = FLOPS_PER_ELEMENT["batch_norm_training" if training else "batch_norm"]
    elements = call.output.elements
    step = vector("main", product(flops, elements), elements)
    if len(call.output.dims) > 2:
        step.quantities["rows"] = polynomial(product(*call.output.dims[:2]))
    return [step]


@rule("aten.layer_norm.default", "aten.native_layer_norm.default", operator_class="norm")
def layer_norm(call: Call) -> list[Step]:
    return [_with_rows(call, _rows(call, FLOPS_PER_ELEMENT["layer_norm"]))]


def _with_rows(call: Call, step: Step) -> Step:
    """Add the number of rows, each of which one block of threads normalizes."""
    leading = call.output.dims[: len(call.output.dims) - len(call["normalized_shape"])]
    step.quantities["rows"] = polynomial(product(*leading))
    return step


@rule("aten.group_norm.default", "aten.native_group_norm.default", "aten.instance_norm.default", operator_class="norm")
def group_norm(call: Call) -> list[Step]:
    return [_rows(call, FLOPS_PER_ELEMENT["group_norm"])]


@rule("aten.rms_norm.default", "aten._fused_rms_norm.default", operator_class="norm")
def rms_norm(call: Call) -> list[Step]:
    return [_with_rows(call, _rows(call, FLOPS_PER_ELEMENT["rms_norm"]))]


def _rows(call: Call, flops: int) -> Step:
    """Count one operation an element less for each of weight and bias that is missing."""
    for name in ("weight", "bias"):
        if call.has(name) and call[name] is None:
            flops -= 1
    elements = call.output.elements
    return vector("main", product(flops, elements), elements)


@rule("aten.local_response_norm.default", operator_class="norm")
def local_response_norm(call: Call) -> list[Step]:
    """Count square, a window of `size` additions, multiply, add, power, divide."""
    source: Value = call.tensors()[0]
    return [vector("main", product(call["size"] + 5, source.elements), source.elements)]


@rule(
    "aten.linalg_vector_norm.default",
    "aten.norm.ScalarOpt_dim",
    "aten.norm.Scalar",
    "aten.linalg_norm.default",
    "aten.frobenius_norm.dim",
    "aten.norm.ScalarOpt_dim_dtype",
    operator_class="reduction",
)
def vector_norm(call: Call) -> list[Step]:
    """Count square and sum an element, a root a result."""
    source: Value = call.tensors()[0]
    flops = total(product(FLOPS_PER_ELEMENT["norm"], source.elements), call.output.elements)
    return [vector("main", flops, call.output.elements)]


@rule("aten._weight_norm.default", "aten._weight_norm_interface.default", operator_class="norm")
def weight_norm(call: Call) -> list[Step]:
    """Count square, sum and scale an element of the weight."""
    direction: Value = call["v"]
    return [vector("main", product(3, direction.elements), direction.elements)]
