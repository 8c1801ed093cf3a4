"""The lines under every answer that say how much of it rests on guesses of the catalog, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from . import display

VIEWS = ("target", "assumed_input")
"""Views it reads."""

_BESIDES = {
    "candidate": "price_count",
    "inference_cost": "price_count",
    "llm_serving": "price_count",
    "opportunity": "price_count",
    "parallel_plan": "link_count",
}
"""Column of `assumed_input` that a report view rests on besides what every one does."""


def note(connection: duckdb.DuckDBPyConnection, *views: str) -> None:
    """Say below an answer made of `views` how many assumed inputs it rests on, for the targets that the
    connection's views know, and which of their models have operators that count for nothing."""
    query = "SELECT DISTINCT m.model FROM model AS m SEMI JOIN target AS t ON t.model_id = m.model_id"
    note_unsized(connection, [model for (model,) in connection.execute(query).fetchall()])
    more = " + ".join(sorted({f"a.{_BESIDES[view]}" for view in views if view in _BESIDES})) or "0"
    query = f"""
        SELECT min(a.assumed_count + {more}), max(a.assumed_count + {more}), count(DISTINCT a.hardware_id),
            min(a.hardware_id)
        FROM assumed_input AS a
        SEMI JOIN target AS t
            ON t.hardware_id = a.hardware_id AND t.backend = a.backend AND t.policy = a.policy
    """
    fewest, most, parts, part = connection.execute(query).fetchall()[0]
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
        SELECT m.model, count(*)
        FROM operator AS o
        JOIN model AS m ON m.model_id = o.model_id
        WHERE o.rule IS NULL AND list_contains(?, m.model)
        GROUP BY m.model
        ORDER BY m.model
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
