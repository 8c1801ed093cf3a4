"""Resampling: a weighted sum of `taps` neighbours costs `2*taps - 1` operations an output element;
the weights of a fixed grid are shared by all channels and not counted."""

from __future__ import annotations

from math import ceil
from typing import Any

from ..graph import Step
from ..trace.symbolic import Size, product, total
from .elementwise import _overloads
from .registry import Call, Value, move, rule, vector

TAPS = {"linear1d": 2, "bilinear2d": 4, "trilinear3d": 8, "bicubic2d": 16}


@rule(
    *(o for n in ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
                  "_upsample_nearest_exact2d", "_upsample_nearest_exact3d") for o in _overloads(n)),
    operator_class="resample",
)  # fmt: skip
def nearest(call: Call) -> list[Step]:
    """Copy; a smaller result reads only the elements that it keeps."""
    source: Value = call.tensors()[0]
    if _known_smaller(call.output.elements, source.elements):
        call.moves(source, call.output.elements)
    return [move(call.output.elements)]


def _known_smaller(left: Size, right: Size) -> bool:
    """Return True when a size is below another for every batch: both of one term with the same powers."""
    if isinstance(left, int) and isinstance(right, int):
        return left < right
    if isinstance(left, dict) and isinstance(right, dict) and len(left) == 1 and left.keys() == right.keys():
        return next(iter(left.values())) < next(iter(right.values()))
    return False


@rule(*(o for n in TAPS for o in _overloads(f"upsample_{n}")), operator_class="resample")
def interpolation(call: Call) -> list[Step]:
    """Count PyTorch's kernel for planes of pixels, which has one thread a pixel that loops over all samples and channels
    (UpSampleBilinear2d.cu)."""
    taps = TAPS[call.overload.__name__.split(".")[0].removeprefix("upsample_")]
    elements = call.output.elements
    return [vector("main", product(2 * taps - 1, elements), elements, accesses=product(*call.output.dims[:2]))]


@rule(
    *(o for n in ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa") for o in _overloads(n)),
    operator_class="resample",
)
def antialiased(call: Call) -> list[Step]:
    """Count two passes, one an axis; where an axis shrinks, the support grows by the scale."""
    source: Value = call.tensors()[0]
    support = 2 if "bilinear" in call.overload.__name__ else 4
    flops: Size = 0
    passes = ((*source.dims[:-1], call.output.dims[-1]), call.output.dims)
    for dims, axis in zip(passes, (-1, -2), strict=True):
        taps = support * max(1, ceil(_number(source.dims[axis]) / _number(dims[axis])))
        flops = total(flops, product(2 * taps - 1, *dims))
    return [vector("main", flops, call.output.elements)]


def _number(size: Any) -> int:
    return size if isinstance(size, int) else 1


@rule(
    "aten.grid_sampler.default",
    "aten.grid_sampler_2d.default",
    "aten.grid_sampler_3d.default",
    operator_class="resample",
)
def grid_sample(call: Call) -> list[Step]:
    """Count a weighted sum of the neighbours (nearest: one), and 6 operations a coordinate pair for position and weights."""
    source, grid = call.tensors()[:2]
    spatial = len(source.dims) - 2
    taps = {0: 2**spatial, 1: 1, 2: 4**spatial}[call["interpolation_mode"]]
    call.moves(
        source,
        product(taps, call.output.elements)
        if _known_smaller(product(taps, call.output.elements), source.elements)
        else source.elements,
    )
    flops = total(product(2 * taps - 1, call.output.elements), product(3, grid.elements))
    return [vector("main", flops, call.output.elements)]


@rule("torchvision.roi_align.default", "torchvision.ps_roi_align.default", operator_class="resample")
def roi_align(call: Call) -> list[Step]:
    """Average `ratio²` bilinear samples of 7 operations in each bin; an adaptive ratio counts as 2, its
    usual value for boxes of the size of their level."""
    ratio = call["sampling_ratio"] if call["sampling_ratio"] > 0 else 2
    elements = call.output.elements
    return [vector("main", product(8 * ratio * ratio, elements), elements)]


@rule("torchvision.roi_pool.default", "torchvision.ps_roi_pool.default", operator_class="resample")
def roi_pool(call: Call) -> list[Step]:
    """Compare each input element under a box once, bounded by 4 operations an output element."""
    elements = call.output.elements
    return [vector("main", product(4, elements), elements)]
