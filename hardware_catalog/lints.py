"""Faults that make a catalog number untrustworthy, each fatal."""

from __future__ import annotations

from charz.schema.row import Row

from .part import Part
from .problem import Problem


def check(parts: list[Part], tables: dict[type[Row], list[Row]]) -> list[Problem]:
    """Every fault of the parts, completed by the family rules, and of the uniform tables."""
    return []
