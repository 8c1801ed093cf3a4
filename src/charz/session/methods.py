"""List of the session's methods that are commands and tools."""

from __future__ import annotations

from . import Session
from .method import Method, methods_of

__all__ = ["Method", "methods"]


def methods() -> dict[str, Method | dict[str, Method]]:
    """Map the name of each command to its method, and the name of each group to the methods of the group."""
    return methods_of(Session)
