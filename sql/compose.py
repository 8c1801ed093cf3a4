"""Composition of one statement for a maintained table: the bodies of what it reads go before it as `WITH`, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from charz.schema import ddl

from . import graph

Bodies = Mapping[str, str]
"""Bodies, by name, of the views that a table is composed of, each after those it reads."""


def ancestors(name: str, reads: Mapping[str, Sequence[str]], views: Sequence[str]) -> list[str]:
    """Return the views that a relation reads, directly or through other views, in the given order."""
    found = graph.ancestors([name], reads, through=views)
    return [view for view in views if view in found]


def composed(body: str, parts: Sequence[tuple[str, str]]) -> str:
    """Write `WITH name AS (body)` of each part, in order, before a body.

    >>> print(composed("SELECT a FROM v", [("v", "SELECT a FROM t")]))
    WITH "v" AS (
    SELECT a FROM t
    )
    SELECT * FROM (
    SELECT a FROM v
    )
    """
    if not parts:
        return body
    ctes = ",\n".join(f"{ddl.quote(name)} AS (\n{text}\n)" for name, text in parts)
    return f"WITH {ctes}\nSELECT * FROM (\n{body}\n)"
