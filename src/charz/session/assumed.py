"""The lines beside an answer that say how much of it rests on guesses of the catalog, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from .messages import Messages
from .scoped import Scoped

_BESIDES = {
    "recommendation": "price_count",
    "inference_cost": "price_count",
    "llm_serving": "price_count",
    "opportunity": "price_count",
    "parallel_plan": "link_count",
}
"""Column of `assumed_input` that a report view rests on besides what every one does."""

MOST_FAULTY = 3
"""Parts without an answer that are named."""


def counted(views: Sequence[str]) -> tuple[str, ...]:
    """Columns of `assumed_input` that count what an answer made of some views rests on."""
    return ("assumed_count", *sorted({_BESIDES[view] for view in views if view in _BESIDES}))


def note(scoped: Scoped, messages: Messages, counted: Sequence[str]) -> None:
    """Say how many assumed inputs, of the columns `counted`, an answer rests on, which of its models have operators that
    count for nothing, and which of its parts have no answer."""
    note_unsized(scoped, messages)
    note_faulty(scoped, messages)
    query = f"SELECT hardware, {' + '.join(counted)} FROM assumed_input ORDER BY 2"
    found = scoped.execute(query).fetchall()
    if not found or not found[-1][1]:
        return
    (part, fewest), (_, most), parts = found[0], found[-1], len({hardware for hardware, _ in found})
    count = f"{most}" if fewest == most else f"{fewest} to {most}"
    shown = f"{part} --sources` lists those of the part" if parts == 1 else "PART --sources` lists those of a part"
    messages.remark(
        f"rests on {count} assumed inputs{'' if parts == 1 else ' a part'}: `charz hardware show {shown},"
        " the view assumed_input counts all"
    )


def note_faulty(scoped: Scoped, messages: Messages) -> None:
    """Say which parts have numbers that cannot be: their answers are null."""
    faulty = dict(scoped.execute("SELECT hardware, fault FROM part_support WHERE fault IS NOT NULL").fetchall())
    known = scoped.execute("SELECT hardware, field, value, rule FROM part_fault ORDER BY hardware").fetchall()
    found = [row for row in known if faulty.get(row[0]) == row[1]]
    for part, field, value, rule in found[:MOST_FAULTY]:
        stands = "is missing" if value is None else f"is {value:g}"
        messages.warn(f"{part} has no answer: {field} {stands}, {rule}")
    if len(found) > MOST_FAULTY:
        messages.warn(f"{len(found) - MOST_FAULTY} more parts have no answer: `charz check` names what cannot be")


def note_unsized(scoped: Scoped, messages: Messages) -> None:
    """Say which of the models have operators without a rule: their work is unknown and every sum too small."""
    query = (
        "SELECT model, count(*) FROM operator SEMI JOIN model USING (model) WHERE rule IS NULL GROUP BY 1 ORDER BY 1"
    )
    found = scoped.execute(query).fetchall()
    if not found:
        return
    count = sum(n for _, n in found)
    operators = "1 operator" if count == 1 else f"{count} operators"
    names = " ".join(name for name, _ in found[:3])
    of = names if len(found) == 1 else f"{len(found)} models"
    have, whose = "has" if count == 1 else "have", "its" if len(found) == 1 else "their"
    messages.warn(f"{operators} of {of} {have} no rule, {whose} figures are too small: `charz coverage {names}`")
