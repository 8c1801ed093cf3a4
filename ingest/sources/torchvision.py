"""torchvision's own models, by name."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from charz.schema.errors import CharzError, unknown_name

from ..trace import torchvision_schemas
from ..trace.export import BATCH, Request
from .images import request
from .spec import Spec, shown_sides

CLIP_FRAMES = 16
"""Frames of a clip for the video models, at which their operation counts are stated."""

FLOW_SIDE = 512
"""Image size at which torchvision's operation counts of RAFT are met (its cards do not state it)."""


def names() -> list[str]:
    """All float models."""
    return [n for n in _library().models.list_models() if not n.startswith("quantized_")]


def _library() -> Any:
    torchvision_schemas.prepare()
    import torchvision

    return torchvision


def build(spec: Spec) -> Request:
    """Model on the meta device with the input size of its default weights."""
    models = _library().models
    known = models.list_models()
    if spec.name not in known:
        raise unknown_name(
            "model", spec.name, known, "see `charz ingest --list torchvision`; timm:NAME and hf:NAME name other sources"
        )
    if spec.name.startswith("quantized_"):
        raise CharzError(
            "a quantized model", spec.name, "its kernels are int8 and have no export",
            f"ingest {spec.name.removeprefix('quantized_')} and ask for precision int8",
        )  # fmt: skip
    kind = models.get_model_builder(spec.name).__module__.split(".")[2]
    if kind == "detection":
        from .detection import build as build_detector

        return build_detector(spec)
    module = construct(spec.name)
    made = optical_flow(spec, module) if kind == "optical_flow" else _from_images(spec, module, kind)
    made.published_macs = published_macs(spec.name) if made.name == spec.name else None
    return made


def construct(name: str, **arguments: Any) -> torch.nn.Module:
    """The module with random weights on meta; built on the CPU first where its constructor computes."""
    models = _library().models
    parameters = inspect.signature(models.get_model_builder(name)).parameters
    if "weights_backbone" in parameters:
        arguments = {"weights_backbone": None, **arguments}
    if "aux_loss" in parameters:  # the published weights have the auxiliary head, and inference runs it
        arguments = {"aux_loss": True, **arguments}
    if name.startswith(("googlenet", "inception")):
        arguments = {"init_weights": False, "aux_logits": False, **arguments}
    try:
        with torch.device("meta"):
            return models.get_model(name, weights=None, **arguments).eval()
    except (RuntimeError, NotImplementedError):  # the regnets read a tensor's values while they are built
        return models.get_model(name, weights=None, **arguments).eval().to("meta")


def family(name: str) -> str:
    """Module that defines the architecture, e.g. `resnet`."""
    return str(_library().models.get_model_builder(name).__module__.rsplit(".", 1)[-1])


def published_macs(name: str) -> float | None:
    """Multiply-accumulates that the default weights' card states; its unit is 1e9."""
    weights = getattr(_library().models.get_model_weights(name), "DEFAULT", None)
    return None if weights is None else round(weights.meta["_ops"] * 1e9)


def _from_images(spec: Spec, module: torch.nn.Module, kind: str) -> Request:
    side = _native_side(spec.name, kind)
    sides = spec.sides or (side, side)
    if sides != (side, side) and "image_size" in inspect.signature(type(module).__init__).parameters:
        if spec.width is not None:
            raise CharzError("not a square image", f"{spec.name}@{sides[0]}x{sides[1]}", "its positions are a square's")
        module = construct(spec.name, image_size=sides[0])
    elif spec.name == "vit_h_14":
        module = construct(spec.name, image_size=sides[0])
    frames = (CLIP_FRAMES,) if kind == "video" else ()
    return request(spec, module, (3, *frames, *sides), side, spec.name, family(spec.name))


def _native_side(name: str, kind: str) -> int:
    """Image size of the default weights' recipe."""
    transforms = _library().models.get_model_weights(name).DEFAULT.transforms()
    size = transforms.resize_size if kind == "segmentation" else transforms.crop_size
    return int(size[-1] if isinstance(size, (list, tuple)) else size)


def optical_flow(spec: Spec, module: torch.nn.Module) -> Request:
    """RAFT takes two images."""
    height, width = spec.sides or (FLOW_SIDE, FLOW_SIDE)
    batch = spec.batch or 2
    images = tuple(torch.empty(batch, 3, height, width, device="meta") for _ in range(2))
    axes = {} if spec.batch else {"image1": {0: BATCH}, "image2": {0: BATCH}}
    side = height if height == width else None
    name = spec.name if side == FLOW_SIDE else f"{spec.name}@{shown_sides(height, width)}"
    return Request(name, spec.source, module, images, axes=axes, family="raft", resolution=side, default_batch=batch)
