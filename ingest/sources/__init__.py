"""Sources of models, one module each: all turn a `Spec` into a `Request` to trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from charz.schema.errors import CharzError

from .spec import Spec

if TYPE_CHECKING:
    from ..trace.export import Request


WITH_INPUTS = ("factory", "huggingface", "onnx_file")
"""Modules of this package whose models take the user's inputs."""


def build(spec: Spec) -> Request:
    """Return the model and example inputs that the user asked for. Raise CharzError with the nearest names."""
    from importlib import import_module

    if spec.inputs and spec.module not in WITH_INPUTS:
        next = f"write {spec.shown}@256 or --resolution for another size of images, --sequence for another length"
        raise CharzError("this source has its own inputs", f"{spec.shown} --input {spec.inputs[0]}", next=next)
    request: Request = import_module(f"{__name__}.{spec.module}").build(spec)
    if spec.batch and spec.module != "exported":  # an exported program already has its sizes
        request.name += f",batch={spec.batch}"
    return request


__all__ = ["Spec", "build"]
