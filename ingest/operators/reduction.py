"""Reductions: one operation an input element unless the table in `elementwise` states another number."""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import product, total
from .elementwise import FLOPS_PER_ELEMENT, _overloads
from .registry import Call, Value, rule, vector, words

REDUCTIONS = words(
    "all amax amin any argmax argmin count_nonzero cummax cummin cumprod cumsum logcumsumexp logsumexp "
    "max mean min nansum prod std sum var aminmax"
)
SAME_AS = {"nansum": "sum", "cummax": "max", "cummin": "min", "logcumsumexp": "logsumexp", "aminmax": "clamp"}
PAIRWISE = ("aten.max.other", "aten.min.other")
"""Overloads of two tensors, which are elementwise despite their names."""


def reduction(call: Call) -> list[Step]:
    """Count the FLOPs of the table times input elements, and for a mean a division a result."""
    name = call.overload.__name__.split(".")[0].rstrip("_")
    source: Value = call.tensors()[0]
    flops = product(FLOPS_PER_ELEMENT[SAME_AS.get(name, name)], source.numel)
    if name == "mean":
        flops = total(flops, call.output.elements)
    return [vector("main", flops, call.output.elements)]


rule(*(o for n in REDUCTIONS for o in _overloads(n) if o not in PAIRWISE), operator_class="reduction")(reduction)


@rule(
    "aten.var_mean.correction",
    "aten.var_mean.default",
    "aten.var_mean.dim",
    "aten.std_mean.correction",
    "aten.std_mean.dim",
    operator_class="reduction",
)
def moments(call: Call) -> list[Step]:
    """Count sum, subtract, square and sum an element."""
    source: Value = call.tensors()[0]
    return [vector("main", product(FLOPS_PER_ELEMENT["var"], source.numel), call.output.elements)]


@rule(*PAIRWISE, operator_class="elementwise")
def pairwise_extreme(call: Call) -> list[Step]:
    return [vector("main", call.output.elements, call.output.elements)]


@rule("aten.trace.default", "aten.histc.default", "aten.bincount.default", operator_class="reduction")
def one_pass(call: Call) -> list[Step]:
    """Count one operation an input element."""
    source: Value = call.tensors()[0]
    return [vector("main", source.numel, source.numel)]
