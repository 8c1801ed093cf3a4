"""Activations and softmax; FLOPs an element from the table in `elementwise`."""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import product
from .elementwise import FLOPS_PER_ELEMENT, _overloads
from .registry import Call, rule, vector, words

ACTIVATIONS = words(
    "celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_sigmoid mish prelu relu relu6 rrelu "
    "selu sigmoid silu softplus softshrink tanh threshold"
)


def activation(call: Call) -> list[Step]:
    """Count the FLOPs of the table times output elements."""
    name = call.overload.__name__.split(".")[0].rstrip("_")
    elements = call.output.elements
    return [vector("main", product(FLOPS_PER_ELEMENT[name], elements), elements)]


rule(*(o for n in ACTIVATIONS for o in _overloads(n)), operator_class="activation")(activation)


@rule(
    "aten.softmax.int", "aten._softmax.default", "aten.log_softmax.int", "aten._log_softmax.default",
    "aten.special_softmax.int", "aten.special_log_softmax.int", "aten._safe_softmax.default",
    operator_class="softmax",
)  # fmt: skip
def softmax(call: Call) -> list[Step]:
    elements = call.output.elements
    return [vector("main", product(FLOPS_PER_ELEMENT["softmax"], elements), elements)]
