"""Which measurements are fitted and scored unless others are asked for, and what a score is broken down by."""

from __future__ import annotations

FITTED = "x.mode = 'run'"
"""Condition on rows of `measurement` (alias `x`): runs alone."""

SCORED = "x.mode IN ('run', 'single_stream')"
"""The same for scores: a model alone, no server, no queue of unknown batches."""

MEASURED = """
    measurement AS x
    INNER JOIN measured_model AS i ON i.measurement_id = x.measurement_id AND i.match = 'matched'
    INNER JOIN model AS m ON m.model = i.model
    INNER JOIN backend AS b ON b.backend = x.backend
"""
"""Measured rows of ingested models, as a condition sees them."""


def matching(condition: str) -> str:
    """The query for the measured rows of ingested models for which a condition holds."""
    return f"SELECT x.measurement_id FROM {MEASURED} WHERE ({condition})"


CELLS = {
    "part": ["hardware", "backend", "memory_format", "software"],
    "source": ["source_id", "hardware", "backend"],
    "precision": ["hardware", "backend", "precision"],
    "batch": ["hardware", "backend", "batch_class"],
    "family": ["architecture_family", "backend"],
}
"""Columns that a score may be broken down by, under one word."""
