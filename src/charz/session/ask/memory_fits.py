"""Largest model of a family that fits each memory level of a part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

KEYS = ("hardware", "backend", "precision", "batch", "sequence", "level", "capacity_byte")
COLUMNS = (*KEYS, "largest_byte", "next_byte", "largest_model", "next_model")
REGISTER = "register"
"""Memory level excluded from the answer."""


def fits(rows: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Find the largest model that fits each memory level double-buffered, and the smallest model that does not fit. `rows` are rows of
    `memory_fit`. Each result contains bytes and name of both models; None without such a model."""
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["level"] != REGISTER:
            found.setdefault(tuple(row[name] for name in KEYS), []).append(row)
    return [(*key, *_bounds(members)) for key, members in found.items()]


def _bounds(members: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    staying = [(row["double_buffered_byte"], row["model"]) for row in members if row["fits_double_buffered"]]
    leaving = [(row["double_buffered_byte"], row["model"]) for row in members if not row["fits_double_buffered"]]
    largest, following = max(staying, default=(None, None)), min(leaving, default=(None, None))
    return largest[0], following[0], largest[1], following[1]
