"""Sorting and selection: one comparison an element. Parallel hardware sorts by radix, in passes
linear in the length; the efficiency of the class covers the number and the speed of the passes."""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import product
from .elementwise import _overloads
from .registry import Call, Value, rule, vector, words


@rule(
    *(
        o
        for n in words("sort argsort topk msort kthvalue median mode unique_consecutive _unique2 unique_dim nanmedian")
        for o in _overloads(n)
    ),
    operator_class="sort",
)
def sort(call: Call) -> list[Step]:
    source: Value = call.tensors()[0]
    return [vector("main", source.numel, source.numel)]


@rule("torchvision.nms.default", "torchvision.qnms.default", operator_class="sort")
def non_maximum_suppression(call: Call) -> list[Step]:
    """Compare every pair of boxes at worst: 16 operations an overlap (4 extremes, 2 sides, areas,
    ratio, threshold), half of the pairs."""
    boxes: Value = call["dets"]
    return [vector("main", product(8, boxes.dims[0], boxes.dims[0]), boxes.dims[0])]
