"""Operators whose result has a data-dependent size, bounded by `ingest.trace.bounded`."""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import product
from .registry import Call, Value, rule, vector


@rule("charz.bounded_nonzero.default", operator_class="gather")
def select(call: Call) -> list[Step]:
    """Count one comparison an element of the mask."""
    mask: Value = call["mask"]
    return [vector("main", mask.elements, mask.elements)]


@rule("charz.bounded_nms.default", operator_class="sort")
def grouped_suppression(call: Call) -> list[Step]:
    """Count every pair of boxes at worst: 16 operations an overlap, half of the pairs; 5 a box to separate the groups."""
    boxes: Value = call["dets"]
    count = boxes.dims[0]
    flops = product(8, count, count)
    return [vector("main", flops, count)]


@rule("charz.bounded_paste.default", operator_class="resample")
def paste(call: Call) -> list[Step]:
    """Count bilinear resizing of each mask, at most to the whole image: 7 operations a pixel."""
    return [vector("main", product(7, call.output.elements), call.output.elements)]


@rule("charz.bounded_keypoints.default", operator_class="resample")
def keypoints(call: Call) -> list[Step]:
    """Count bicubic resizing of each heat map, at most to the whole image (31 operations a pixel), and its
    maximum (1)."""
    maps: Value = call["maps"]
    pixels = product(maps.dims[0], maps.dims[1], call["height"], call["width"])
    return [vector("main", product(32, pixels), pixels)]
