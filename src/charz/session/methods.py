"""The methods of a session that are commands and tools."""

from __future__ import annotations

from . import Session
from .method import Method, methods_of

__all__ = ["Method", "methods"]


def methods() -> dict[str, Method | dict[str, Method]]:
    """Return every command's method by its name, and those of a group by the group's name."""
    return methods_of(Session)
