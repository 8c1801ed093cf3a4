"""The line under every answer that says how much of it rests on guesses of the catalog."""

from __future__ import annotations

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
    connection's views know."""
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
