"""torchvision's own models, by name."""

from __future__ import annotations

import inspect
from types import ModuleType

import torch

from charz.schema.errors import CharzError, nearest_names, unknown_name

from ..trace.export import BATCH, Request
from . import detection, huggingface, timm
from .images import request
from .spec import Spec, shown_sides
from .torchvision_builders import construct, family, library, published_macs

CLIP_FRAMES = 16
"""Frames of a clip for the video models, at which their operation counts are stated."""

OTHERS = {"hf": huggingface, "timm": timm}
"""Sources that may have a name that torchvision lacks, by their prefix."""

FLOW_SIDE = 512
"""Image size that reproduces torchvision's operation counts of RAFT (its cards do not state it)."""


def names() -> list[str]:
    """List all float models."""
    return [n for n in library().models.list_models() if not n.startswith("quantized_")]


def build(spec: Spec) -> Request:
    """Build a model on the meta device with the input size of its default weights."""
    models = library().models
    known = models.list_models()
    if spec.name not in known:
        raise _unknown(spec.name, known)
    if spec.name.startswith("quantized_"):
        raise CharzError(
            "a quantized model", spec.name, "its kernels are int8 and have no export",
            f"ingest {spec.name.removeprefix('quantized_')} and ask for precision int8",
        )  # fmt: skip
    kind = models.get_model_builder(spec.name).__module__.split(".")[2]
    if kind == "detection":
        return detection.build(spec)
    module = construct(spec.name)
    made = optical_flow(spec, module) if kind == "optical_flow" else _from_images(spec, module, kind)
    made.published_macs = published_macs(spec.name) if made.name == spec.name else None
    return made


def _unknown(name: str, known: list[str]) -> CharzError:
    """Return the error for a name that torchvision lacks, with the sources that have it."""
    found = [f"`charz ingest {prefix}:{name}`" for prefix, source in OTHERS.items() if name in _names(source)]
    if found:
        return CharzError("not a torchvision model", name, next=f"{' or '.join(found)} names one")
    if not nearest_names(name, known):
        others = {other: prefix for prefix, source in OTHERS.items() for other in _names(source)}
        if near := [f"{others[other]}:{other}" for other in nearest_names(name, others)]:
            return CharzError("unknown model", name, f"nearest: {', '.join(near)}", f"`charz ingest {near[0]}` names one")
    elsewhere = "see `charz ingest --list torchvision`; timm:NAME and hf:NAME name other sources"
    return unknown_name("model", name, known, elsewhere)


def _names(source: ModuleType) -> list[str]:
    """List a source's models; empty where its library is not installed."""
    try:
        return list(source.names())
    except CharzError:
        return []


def _from_images(spec: Spec, module: torch.nn.Module, kind: str) -> Request:
    side = _native_side(spec.name, kind)
    sides = spec.sides or (side, side)
    if sides != (side, side) and "image_size" in inspect.signature(type(module).__init__).parameters:
        if spec.width is not None:
            raise CharzError("not a square image", f"{spec.name}@{sides[0]}x{sides[1]}", "its positions need a square")
        module = construct(spec.name, image_size=sides[0])
    elif spec.name == "vit_h_14":
        module = construct(spec.name, image_size=sides[0])
    frames = (CLIP_FRAMES,) if kind == "video" else ()
    return request(spec, module, (3, *frames, *sides), side, spec.name, family(spec.name))


def _native_side(name: str, kind: str) -> int:
    """Return the image size of the default weights' recipe."""
    transforms = library().models.get_model_weights(name).DEFAULT.transforms()
    size = transforms.resize_size if kind == "segmentation" else transforms.crop_size
    return int(size[-1] if isinstance(size, (list, tuple)) else size)


def optical_flow(spec: Spec, module: torch.nn.Module) -> Request:
    """Build RAFT's request, which has two images."""
    height, width = spec.sides or (FLOW_SIDE, FLOW_SIDE)
    batch = spec.batch or 2
    images = tuple(torch.empty(batch, 3, height, width, device="meta") for _ in range(2))
    axes = {} if spec.batch else {"image1": {0: BATCH}, "image2": {0: BATCH}}
    side = height if height == width else None
    name = spec.name if side == FLOW_SIDE else f"{spec.name}@{shown_sides(height, width)}"
    return Request(name, spec.source, module, images, axes=axes, family="raft", resolution=side, default_batch=batch)
