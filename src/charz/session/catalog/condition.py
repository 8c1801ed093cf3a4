"""SQL conditions on measurement rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from charz import sandbox
from charz.hardware_catalog.calibration import questions
from charz.schema.errors import CharzError

from ..access import Access
from ..core import Core
from ..question import Scope

if TYPE_CHECKING:
    from charz.ingest.sources.spec import Spec

    Wanted = list[tuple[Spec, list[dict[str, Any]]]]
    """Models, each with the settings of its measurements."""


OWN = (questions.FITTED, questions.SCORED)
"""Conditions written by charz."""


LIMITS = sandbox.Limits()
"""Limits of a user's condition."""


def of_session(session: Core, text: str) -> str:
    """Convert a condition into a condition that is safe to run. A condition of charz stays unchanged. A user's condition is evaluated in the
    sandbox and becomes the list of rows that meet it. Raise `CharzError` for an invalid condition."""
    if text in OWN:
        return text
    from ..ask.sql import scoped_to

    session.connection()  # updates a file of an older charz, since the sandbox cannot write
    query = questions.matching(of_text(text))
    of_file = (session.path, Access(session.access.trust), Scope(), (), query, (), (), None, None, None, None)
    with sandbox.asked(scoped_to, of_file, query, LIMITS) as answered:
        (column,) = answered.table().columns
    return f"x.measurement_id IN ({', '.join(map(str, column.to_pylist())) or 'NULL'})"


def of_text(text: str) -> str:
    """Return the expression that DuckDB parses from the text of a condition. Raise `CharzError` for an invalid condition."""
    import duckdb

    try:
        return str(duckdb.SQLExpression(text))
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise CharzError("not a condition", f"--where {text}", reason, 'write e.g. --where "x.batch = 1"') from error
