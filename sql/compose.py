"""One statement that evaluates a maintained table: what it reads put in front of it as `WITH`, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from charz.schema import ddl

from . import graph

Bodies = Mapping[str, str]
"""Body by name of the views that a table is composed of, those it reads before it."""


def ancestors(name: str, reads: Mapping[str, Sequence[str]], views: Sequence[str]) -> list[str]:
    """Views that a relation reads, directly or through views alone, in the order given."""
    found = graph.ancestors([name], reads, through=views)
    return [view for view in views if view in found]


def composed(body: str, parts: Sequence[tuple[str, str]]) -> str:
    """A body after `WITH name AS (body)` of each part, in order."""
    if not parts:
        return body
    ctes = ",\n".join(f"{ddl.quote(name)} AS (\n{text}\n)" for name, text in parts)
    return f"WITH {ctes}\nSELECT * FROM (\n{body}\n)"
