"""Makes torchvision importable with a CPU build of torch.

The public torchvision wheel carries C++ operators that were linked against CUDA torch. With CPU
torch that library does not load, and the import then dies with `operator torchvision::nms does not
exist`, because torchvision registers shape functions for operators that are not defined. charz runs no
kernel, so it only defines the operators' schemas: the signatures below are those of
torchvision's `csrc/ops/*.cpp` (BSD-3-Clause), the shape functions those of torchvision itself,
reached through its own `_meta_registrations`, or ours where it registers them only with its library.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor",
    "roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width) -> (Tensor, Tensor)",
    "ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
    "ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width) -> (Tensor, Tensor)",
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
    "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
)

_libraries: list[torch.library.Library] = []
"""Library objects, kept because definitions last only as long as they do."""


def _roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    return input.new_empty((rois.size(0), input.size(1), pooled_height, pooled_width))


def _roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    size = (rois.size(0), input.size(1), pooled_height, pooled_width)
    return input.new_empty(size), input.new_empty(size, dtype=torch.int32)


def _position_sensitive(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int = 0
) -> tuple[Tensor, Tensor]:
    size = (rois.size(0), input.size(1) // (pooled_height * pooled_width), pooled_height, pooled_width)
    return input.new_empty(size), input.new_empty(size, dtype=torch.int32)


def _deform_conv2d(input: Tensor, weight: Tensor, offset: Tensor, *_rest: object) -> Tensor:
    return input.new_empty((input.size(0), weight.size(0), offset.size(2), offset.size(3)))


_SHAPE_FUNCTIONS = {
    "roi_align": _roi_align,
    "roi_pool": _roi_pool,
    "ps_roi_align": _position_sensitive,
    "ps_roi_pool": _position_sensitive,
    "deform_conv2d": _deform_conv2d,
}


@functools.cache
def prepare() -> None:
    """Define torchvision's operators unless its own library already does; call before importing it."""
    if _own_library_loads():
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in _SCHEMAS:
        library.define(schema)
    implementations = torch.library.Library("torchvision", "IMPL", "Meta")
    for name, function in _SHAPE_FUNCTIONS.items():
        implementations.impl(name, function)
    _libraries.extend((library, implementations))
    import torchvision.extension

    torchvision.extension._has_ops = lambda: True  # later, or the import defines the shapes twice


def _own_library_loads() -> bool:
    """Return True when torchvision's compiled operators load with this torch."""
    import importlib.util
    from pathlib import Path

    found = importlib.util.find_spec("torchvision")
    if found is None or found.origin is None:
        return False
    for library in Path(found.origin).parent.glob("_C.*"):
        try:
            torch.ops.load_library(str(library))
        except (ImportError, OSError):
            return False
        return True
    return False
