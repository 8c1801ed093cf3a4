"""A question about models on parts, from the axes that a command is given."""

from __future__ import annotations

from .axes import cache_state, names, sizes
from .core import Question
from .parameters import (
    Backend,
    Backends,
    Batch,
    Batches,
    Cache,
    Cap,
    Caps,
    Models,
    Parts,
    Precision,
    Precisions,
    Sequence_,
    Sequences,
)

DEFAULT_BATCHES = (1, 8, 64)
"""Batches asked about where the question is which to take."""

TARGET = ("model", "hardware", "backend", "precision", "batch", "sequence")
"""What names a target to people."""


def of_axes(
    models: Models,
    on: Parts,
    batch: Batches,
    sequence: Sequences,
    precision: Precisions,
    backend: Backends,
    cap: Caps,
    fields: dict[str, str] | None = None,
) -> Question:
    """A question about every combination of the axes; what is left open takes the defaults."""
    return Question(
        names(models),
        names(on),
        sizes(batch),
        sizes(sequence),
        names(precision),
        names(backend),
        names(cap),
        fields=fields or {},
    )


def single(
    model: str,
    on: str,
    batch: Batch = None,
    sequence: Sequence_ = None,
    precision: Precision = None,
    backend: Backend = None,
    cache: Cache = "warm",
    cap: Cap = None,
) -> Question:
    """A question about one target; what is left open takes the defaults."""
    return Question(
        [model],
        [on],
        [batch] if batch else [],
        [sequence] if sequence else [],
        [precision] if precision else [],
        [backend] if backend else [],
        [cap] if cap else [],
        fields={"cache_state": cache_state(cache)},
    )
