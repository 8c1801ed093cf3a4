"""A condition in SQL on measurement rows, as people write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from charz.schema.errors import CharzError

if TYPE_CHECKING:
    from charz.ingest.sources.spec import Spec

    Wanted = list[tuple[Spec, list[dict[str, Any]]]]
    """Models, each with its settings."""


def of_text(text: str) -> str:
    """A condition as the engine parses it, so that it is one expression. Raises `CharzError` for what is none."""
    import duckdb

    try:
        return str(duckdb.SQLExpression(text))
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise CharzError("not a condition", f"--where {text}", reason, 'write e.g. --where "x.batch = 1"') from error
