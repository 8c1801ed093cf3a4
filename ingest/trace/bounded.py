"""Sizes that depend on data, replaced by upper bounds while a model is traced.

The number of boxes that pass a threshold is known only at run time, but it has an upper bound: a mask selects at most
all its elements, suppression keeps at most all boxes, and the module's own slices
(1000 proposals, 100 detections) then bound everything after them. The operators defined
here replace the model's unbounded ones in the graph, so that the lowering can mark them and all
that depends on them `is_size_bound`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

NAMESPACE = "charz"

_LIBRARY = torch.library.Library(NAMESPACE, "DEF")
_LIBRARY.define("bounded_nonzero(Tensor mask, SymInt bound) -> Tensor")
_LIBRARY.define("bounded_nms(Tensor dets, Tensor scores, Tensor groups, float iou_threshold) -> Tensor")
_LIBRARY.define("bounded_paste(Tensor masks, Tensor boxes, SymInt height, SymInt width) -> Tensor")
_LIBRARY.define("bounded_keypoints(Tensor maps, Tensor boxes, SymInt height, SymInt width) -> (Tensor, Tensor)")


def _nonzero(mask: torch.Tensor, bound: int) -> torch.Tensor:
    return mask.new_empty((bound,), dtype=torch.int64)


def _nms(dets: torch.Tensor, scores: torch.Tensor, groups: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    return dets.new_empty((dets.shape[0],), dtype=torch.int64)


def _paste(masks: torch.Tensor, boxes: torch.Tensor, height: int, width: int) -> torch.Tensor:
    return masks.new_empty((masks.shape[0], 1, height, width))


def _keypoints(maps: torch.Tensor, boxes: torch.Tensor, height: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    return maps.new_empty((maps.shape[0], maps.shape[1], 3)), maps.new_empty(maps.shape[:2])


for _name, _function in (
    ("bounded_nonzero", _nonzero), ("bounded_nms", _nms), ("bounded_paste", _paste), ("bounded_keypoints", _keypoints),
):  # fmt: skip
    _LIBRARY.impl(_name, _function, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{NAMESPACE}::{_name}", _function, lib=_LIBRARY)


class BoundedSizes(TorchFunctionMode):
    """A mode in which a mask selects as many elements as it has.

    `share` divides that number where a model partitions its elements among several masks (the levels of a
    feature pyramid): the sum over the masks stays exact.
    """

    def __init__(self) -> None:
        super().__init__()
        self.share = 1

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.where and len(args) == 1 and not kwargs:
            return (self.indices(args[0]),)
        if func is torch.Tensor.__getitem__:
            source, index = args
            indices = index if isinstance(index, tuple) else (index,)
            if any(isinstance(i, torch.Tensor) and i.dtype == torch.bool for i in indices):
                fixed = tuple(
                    self.indices(i) if isinstance(i, torch.Tensor) and i.dtype == torch.bool else i for i in indices
                )
                return func(source, fixed)
        return func(*args, **kwargs)

    def indices(self, mask: torch.Tensor) -> torch.Tensor:
        """Return the positions of a one-dimensional mask's true elements, as many as there can be."""
        bound = -(-mask.shape[0] // self.share)
        return torch.ops.charz.bounded_nonzero(mask.reshape(-1), bound)  # type: ignore[no-any-return]

    @contextlib.contextmanager
    def shared(self, masks: int) -> Iterator[None]:
        """Divide the elements among so many masks within the context."""
        self.share = masks
        try:
            yield
        finally:
            self.share = 1
