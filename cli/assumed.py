"""The lines under every answer that say how much of it rests on guesses of the catalog, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import duckdb

from . import display

if TYPE_CHECKING:
    from .workspace import Scope

_BESIDES = {
    "recommendation": "price_count",
    "inference_cost": "price_count",
    "llm_serving": "price_count",
    "opportunity": "price_count",
    "parallel_plan": "link_count",
}
"""Column of `assumed_input` that a report view rests on besides what every one does."""


def note(scope: Scope, *views: str) -> None:
    """Say below an answer made of `views` how many assumed inputs it rests on, for the targets that it is asked for, and
    which of their models have operators that count for nothing."""
    runs = scope.of("run")
    models = scope.connection.execute(f"SELECT DISTINCT model FROM {runs} ORDER BY model").fetchall()
    note_unsized(scope.connection, [model for (model,) in models])
    more = " + ".join(sorted({f"a.{_BESIDES[view]}" for view in views if view in _BESIDES})) or "0"
    query = f"""
        SELECT min(a.assumed_count + {more}), max(a.assumed_count + {more}), count(DISTINCT a.hardware), min(a.hardware)
        FROM {scope.of("assumed_input")} AS a
        SEMI JOIN {scope.of("part_support")} AS t USING (hardware, backend, precision)
        SEMI JOIN {runs} AS r ON r.backend = a.backend AND r.precision = a.precision
    """
    fewest, most, parts, part = scope.connection.execute(query).fetchall()[0]
    if not most:
        return
    count = f"{most}" if fewest == most else f"{fewest} to {most}"
    shown = f"{part} --sources` lists those of the part" if parts == 1 else "PART --sources` lists those of a part"
    display.note(
        f"rests on {count} assumed inputs{'' if parts == 1 else ' a part'}: `charz hardware show {shown},"
        " the view assumed_input counts all"
    )


def note_unsized(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> None:
    """Say which of the models have operators without a rule: their work is unknown and every sum too small."""
    query = """
        SELECT model, count(*)
        FROM operator
        WHERE rule IS NULL AND list_contains(?, model)
        GROUP BY model
        ORDER BY model
    """
    found = connection.execute(query, [list(models)]).fetchall()
    if not found:
        return
    count = sum(n for _, n in found)
    operators = "1 operator" if count == 1 else f"{count} operators"
    names = " ".join(name for name, _ in found[:3])
    of = names if len(found) == 1 else f"{len(found)} models"
    have, whose = "has" if count == 1 else "have", "its" if len(found) == 1 else "their"
    display.note(f"{operators} of {of} {have} no rule, {whose} figures are too small: `charz coverage {names}`")
