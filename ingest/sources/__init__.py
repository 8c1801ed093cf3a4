"""Where models come from: one module a source, all turning a `Spec` into a `Request` to trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .spec import Spec

if TYPE_CHECKING:
    from ..trace.export import Request


def build(spec: Spec) -> Request:
    """Model and example inputs of what the user asked for. Raises CharzError with the nearest names."""
    from importlib import import_module

    request: Request = import_module(f"{__name__}.{spec.module}").build(spec)
    if spec.batch and spec.module != "exported":  # a program has its sizes already
        request.name += f",batch={spec.batch}"
    return request


__all__ = ["Spec", "build"]
