"""torchvision's detectors: they take a list of images, return boxes, and have data-dependent sizes in between.

The trace replaces every such size by the module's own limit (`ingest.trace.bounded`): proposals
by `rpn_post_nms_top_n_test`, candidates by `topk_candidates`, detections by `detections_per_img`,
scores above a threshold `t` of a softmax by `1/t` classes a box. A Python loop post-processes each
image, so the batch is fixed (`--batch`). The work after the proposals is linear
in their number: `charz ingest fasterrcnn_resnet50_fpn --set proposals=300` gives another point.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch

from charz.schema.errors import CharzError

from ..trace.bounded import BoundedSizes
from ..trace.export import Request
from .spec import Spec, shown_sides
from .torchvision_builders import construct, family, published_macs

IMAGE_SIDE = 800
"""Default height and width, at which the reference counts of DETR and the R-CNNs are stated."""

REASON = (
    "the model post-processes each image of a list separately, so the batch is fixed; "
    "the module's own limits bound its data-dependent sizes"
)


def build(spec: Spec) -> Request:
    """Build a detector on one image (or `--batch` images) of its default size."""
    module = construct(spec.name)
    settings = dict(spec.settings)
    _limit_proposals(module, settings.pop("proposals", None), spec.name)
    if settings:
        raise CharzError(
            "unknown setting", f"{spec.name}: {', '.join(settings)}", "a two-stage detector has proposals=N"
        )
    native = _native_side(module)
    height, width = spec.sides or (native, native)
    batch = spec.batch or 1
    images = [torch.empty(3, height, width, device="meta") for _ in range(batch)]
    _bound_sizes(module, height, width)
    suffix = f"@{shown_sides(height, width)}" if spec.sides else ""
    suffix += "".join(f",{k}={v}" for k, v in spec.settings)
    return Request(
        name=f"{spec.name}{suffix}", source=spec.source, module=module, arguments=(images,), family=family(spec.name),
        resolution=height if height == width else None, default_batch=batch,
        published_macs=None if suffix or batch > 1 else published_macs(spec.name),
        reason=REASON,
    )  # fmt: skip


def _native_side(module: Any) -> int:
    fixed = getattr(module.transform, "fixed_size", None)
    return int(fixed[0]) if fixed else IMAGE_SIDE


def _limit_proposals(module: Any, proposals: str | None, name: str) -> None:
    if proposals is None:
        return
    rpn = getattr(module, "rpn", None)
    if rpn is None or not re.fullmatch("[0-9]{1,9}", proposals):
        raise CharzError(
            "no such number of proposals", f"{name}: {proposals}", "two-stage detectors take a whole number"
        )
    rpn._post_nms_top_n = {"training": int(proposals), "testing": int(proposals)}


def _bound_sizes(module: Any, height: int, width: int) -> None:
    """Make the module's forward run with bounded sizes, whoever calls it."""
    original: Callable[..., Any] = module.forward

    def forward(images: list[torch.Tensor]) -> Any:
        with _bounded(module, height, width):
            return original(images)

    module.forward = forward


@contextlib.contextmanager
def _bounded(module: Any, height: int, width: int) -> Iterator[None]:
    from torchvision.models.detection import roi_heads, transform
    from torchvision.ops import boxes, poolers

    mode = BoundedSizes()
    align = poolers._multiscale_roi_align
    threshold = getattr(getattr(module, "roi_heads", None), "score_thresh", 0.0)

    def pool(features: Sequence[torch.Tensor], *rest: Any) -> torch.Tensor:
        with mode.shared(len(features)):  # each box belongs to one level of the pyramid
            return align(features, *rest)

    def suppress(dets: torch.Tensor, scores: torch.Tensor, groups: torch.Tensor, iou: float) -> torch.Tensor:
        return torch.ops.charz.bounded_nms(dets, scores, groups, iou)  # type: ignore[no-any-return]

    def paste(masks: torch.Tensor, dets: torch.Tensor, shape: tuple[int, int], padding: int = 1) -> torch.Tensor:
        return torch.ops.charz.bounded_paste(masks, dets, *shape)  # type: ignore[no-any-return]

    def keypoints(maps: torch.Tensor, dets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.ops.charz.bounded_keypoints(maps, dets, *mode_image)  # type: ignore[no-any-return]

    mode_image = _resized(module, height, width)
    with contextlib.ExitStack() as stack:
        for owner, name, replacement in (
            (poolers, "_multiscale_roi_align", pool), (poolers, "_setup_scales", _scales),
            (boxes, "batched_nms", suppress),
            (transform, "paste_masks_in_image", paste), (roi_heads, "heatmaps_to_keypoints", keypoints),
        ):  # fmt: skip
            stack.enter_context(mock.patch.object(owner, name, replacement))
        if threshold:
            heads = module.roi_heads
            stack.enter_context(mock.patch.object(heads, "postprocess_detections", _few_classes(heads, mode)))
        stack.enter_context(mode)
        yield


def _resized(module: Any, height: int, width: int) -> tuple[int, int]:
    """Return an image's size after the transform: the shorter side is min_size unless the longer then exceeds max_size."""
    shorter, longer = sorted((height, width))
    scale = min(module.transform.min_size[-1] / shorter, module.transform.max_size / longer)
    return int(height * scale), int(width * scale)


def _few_classes(heads: Any, mode: BoundedSizes) -> Callable[..., Any]:
    """Bound the classes of a box by `1/t`: at most so many softmax scores exceed the threshold `t`."""
    original = heads.postprocess_detections

    def postprocess(logits: torch.Tensor, *rest: Any) -> Any:
        share = max(1, int((logits.shape[1] - 1) * heads.score_thresh))
        indices = mode.indices
        masks = 0

        def alternate(mask: torch.Tensor) -> torch.Tensor:
            """Bound alternate masks of an image: first that of scores above the threshold, then that of boxes that are not empty."""
            nonlocal masks
            mode.share = share if masks % 2 == 0 else 1
            masks += 1
            return indices(mask)

        with mock.patch.object(mode, "indices", alternate):
            return original(logits, *rest)

    return postprocess


def _scales(features: Sequence[torch.Tensor], image_shapes: Sequence[tuple[int, int]], scale: int, level: int) -> Any:
    """Replace torchvision's function, which reads tensor values, by plain arithmetic on sizes."""
    from torchvision.ops.poolers import initLevelMapper

    height = max(shape[0] for shape in image_shapes)
    scales = [2.0 ** round(math.log2(feature.shape[-2] / height)) for feature in features]
    lowest, highest = (round(-math.log2(s)) for s in (scales[0], scales[-1]))
    return scales, initLevelMapper(lowest, highest, canonical_scale=scale, canonical_level=level)
