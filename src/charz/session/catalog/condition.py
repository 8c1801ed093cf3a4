"""A condition in SQL on measurement rows, as people write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from charz import sandbox
from charz.hardware_catalog.calibration import questions
from charz.schema.errors import CharzError

from ..access import Access
from ..core import Core, Scope

if TYPE_CHECKING:
    from charz.ingest.sources.spec import Spec

    Wanted = list[tuple[Spec, list[dict[str, Any]]]]
    """Models, each with its settings."""


OWN = (questions.FITTED, questions.SCORED)
"""Conditions that charz wrote itself."""


LIMITS = sandbox.Limits()
"""What a condition of somebody's may take."""


def of_session(session: Core, text: str) -> str:
    """A condition on measurement rows as charz may run it: its own as it is, anybody's as the rows for which it holds, found
    in the sandbox within the limits of a query. Raises `CharzError` for what is none."""
    if text in OWN:
        return text
    from ..ask.sql import scoped_to

    session.connection()  # brings a file of another charz up to this one: the other process cannot write
    query = questions.matching(of_text(text))
    of_file = (session.path, Access(session.access.trust), Scope(), (), query, (), (), None, None, None, None)
    with sandbox.asked(scoped_to, of_file, query, LIMITS) as answered:
        (column,) = answered.table().columns
    return f"x.measurement_id IN ({', '.join(map(str, column.to_pylist())) or 'NULL'})"


def of_text(text: str) -> str:
    """A condition as the engine parses it, so that it is one expression. Raises `CharzError` for what is none."""
    import duckdb

    try:
        return str(duckdb.SQLExpression(text))
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise CharzError("not a condition", f"--where {text}", reason, 'write e.g. --where "x.batch = 1"') from error
