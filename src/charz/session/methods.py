"""The methods of a session that are commands and tools."""

from __future__ import annotations

from . import Session
from .method import Method, methods_of

__all__ = ["Method", "methods"]


def methods() -> dict[str, Method | dict[str, Method]]:
    """Every method by the name of its command, and those of a group by the name of the group."""
    return methods_of(Session)
