"""Default selection of measurements to fit and score, and the breakdowns of a score."""

from __future__ import annotations

FITTED = "x.mode = 'run'"
"""Condition on rows of `measurement` (alias `x`): only runs."""

SCORED = "x.mode IN ('run', 'single_stream')"
"""Condition for scores: a model alone, no server, no queue of unknown batches."""

MEASURED = """
    measurement AS x
    INNER JOIN measured_model AS i ON i.measurement_id = x.measurement_id AND i.match = 'matched'
    INNER JOIN model AS m ON m.model = i.model
    INNER JOIN backend AS b ON b.backend = x.backend
"""
"""Measured rows of ingested models, the relation that a condition filters."""


def matching(condition: str) -> str:
    """Return the query for the measured rows of ingested models that satisfy a condition."""
    return f"SELECT x.measurement_id FROM {MEASURED} WHERE ({condition})"


CELLS = {
    "part": ["hardware", "backend", "memory_format", "software"],
    "source": ["source_id", "hardware", "backend"],
    "precision": ["hardware", "backend", "precision"],
    "batch": ["hardware", "backend", "batch_class"],
    "family": ["architecture_family", "backend"],
}
"""Columns of each breakdown of a score, by its name."""
