"""timm's models, by name: `timm:vit_tiny_patch16_224`."""

from __future__ import annotations

from typing import Any

import torch

from charz.schema.errors import CharzError, unknown_name

from ..trace import torchvision_schemas
from ..trace.export import Request
from .images import request
from .spec import Spec


def _library() -> Any:
    torchvision_schemas.prepare()
    try:
        import timm
    except ImportError:
        raise CharzError("timm is not installed", next="pip install 'charz-dnn[zoo]'") from None
    return timm


def names() -> list[str]:
    """List all architectures."""
    return list(_library().list_models())


def build(spec: Spec) -> Request:
    """Build an architecture on the meta device, with the input size of its evaluation."""
    timm = _library()
    name = spec.name.split(".")[0]
    if not timm.is_model(name):
        raise unknown_name("timm model", spec.name, timm.list_models(), "see `charz ingest --list timm`")
    native = _input_size(timm, name)
    size = (native[0], *spec.sides) if spec.sides else native
    module = _construct(timm, name, size if size != native else None)
    return request(spec, module, size, native[-1], f"timm:{name}", _family(timm, name))


def _input_size(timm: Any, name: str) -> tuple[int, int, int]:
    """Return channels, height and width of the default weights' training recipe."""
    config = timm.get_pretrained_cfg(name)
    if config is None or not config.input_size:
        return (3, 224, 224)
    return tuple(config.input_size)  # type: ignore[return-value]


def _construct(timm: Any, name: str, size: tuple[int, int, int] | None) -> torch.nn.Module:
    """Build a model, for another image size where the constructor takes one."""
    if size is not None:
        try:
            return _on_meta(timm, name, img_size=size[1:])
        except TypeError as error:  # convolutional networks take any size and have no such argument
            if "img_size" not in str(error):
                raise
    return _on_meta(timm, name)


def _on_meta(timm: Any, name: str, **arguments: Any) -> torch.nn.Module:
    try:
        with torch.device("meta"):
            return timm.create_model(name, pretrained=False, **arguments).eval()  # type: ignore[no-any-return]
    except (RuntimeError, NotImplementedError):  # the constructor computes with tensors
        return timm.create_model(name, pretrained=False, **arguments).eval().to("meta")  # type: ignore[no-any-return]


def _family(timm: Any, name: str) -> str:
    return str(timm.model_entrypoint(name).__module__.rsplit(".", 1)[-1])
