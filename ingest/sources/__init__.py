"""Sources of models, one module each: all turn a `Spec` into a `Request` to trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .spec import Spec

if TYPE_CHECKING:
    from ..trace.export import Request


def build(spec: Spec) -> Request:
    """Return the model and example inputs that the user asked for. Raise CharzError with the nearest names."""
    from importlib import import_module

    request: Request = import_module(f"{__name__}.{spec.module}").build(spec)
    if spec.batch and spec.module != "exported":  # an exported program already has its sizes
        request.name += f",batch={spec.batch}"
    return request


__all__ = ["Spec", "build"]
