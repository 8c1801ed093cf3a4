"""The lines beside an answer that say how much of it rests on guesses of the catalog, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from charz.sql import stand_ins

from .messages import Messages
from .scoped import Scoped

_BESIDES = {
    "recommendation": "price_count",
    "inference_cost": "price_count",
    "llm_serving": "price_count",
    "opportunity": "price_count",
    "parallel_plan": "link_count",
    "serving_split": "link_count",
    "training_step": "link_count",
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
    note_implausible(scoped, messages)
    note_other_types(scoped, messages)
    note_streamed(scoped, messages)
    note_without_rate(scoped, messages)
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
    """Say which parts and runs rest on numbers that cannot be: their answers are null."""
    known = scoped.execute("SELECT hardware, field, value, rule FROM impossible_number").fetchall()
    if not known:
        return
    faulty = scoped.execute("SELECT DISTINCT subject, field FROM faulty_answer ORDER BY subject, field").fetchall()
    for of, field in faulty[:MOST_FAULTY]:
        messages.warn(f"{of} has no answer: {_said(known, of, field)}")
    if len(faulty) > MOST_FAULTY:
        messages.warn(f"{len(faulty) - MOST_FAULTY} more have no answer: `charz check` names what cannot be")


def note_implausible(scoped: Scoped, messages: Messages) -> None:
    """Say which numbers may be, though they hardly are: off by a unit, or forgotten."""
    found = [
        *scoped.execute("SELECT hardware, implausible FROM assumed_input WHERE implausible IS NOT NULL").fetchall(),
        *scoped.execute("SELECT run.model, implausible FROM run WHERE implausible IS NOT NULL").fetchall(),
    ]
    if not found:
        return
    doubtful = sorted({(of, field) for of, fields in found for field in fields.split(", ")})
    known = scoped.execute("SELECT hardware, field, value, rule FROM implausible_number").fetchall()
    for of, field in doubtful[:MOST_FAULTY]:
        messages.warn(f"{of} rests on a number that is hardly so: {_said(known, of, field)}")
    if len(doubtful) > MOST_FAULTY:
        more = len(doubtful) - MOST_FAULTY
        messages.warn(f"{more} more numbers are hardly so: the view implausible_number lists them")


def note_other_types(scoped: Scoped, messages: Messages) -> None:
    """Say which operators a quantized policy computes in another element type, and where integer approximations stand in."""
    found = scoped.execute(stand_ins.OTHER_TYPES).fetchall()
    if not found:
        return
    of_integers = [part for (part,) in scoped.execute(stand_ins.OF_INTEGERS).fetchall()]
    every = scoped.value("SELECT COUNT(DISTINCT hardware) FROM part_support")
    for precision, computed, is_matrix, classes in found:
        if is_matrix and every > len(of_integers):
            messages.remark(f"under {precision} products of {classes} are computed in {computed}, at its rate")
    if of_integers:
        parts = ", ".join(of_integers[:MOST_FAULTY]) + (" ..." if len(of_integers) > MOST_FAULTY else "")
        classes = ", ".join(sorted({name for *_, names in found for name in names.split(", ")}))
        messages.remark(f"integers alone on {parts}: {classes} run in integer approximations there, as assumed")


def note_streamed(scoped: Scoped, messages: Messages) -> None:
    """Say on which parts weights that would fit a memory of software's own are read anew in every run, unasked."""
    query = "SELECT DISTINCT hardware, cache_level FROM streamed_weight WHERE cache_state = 'warm' ORDER BY hardware, cache_level"
    found = [f"{level} of {part}" for part, level in scoped.execute(query).fetchall()]
    if found:
        more = f" and {len(found) - MOST_FAULTY} more" if len(found) > MOST_FAULTY else ""
        messages.remark(
            f"weights that fit {', '.join(found[:MOST_FAULTY])}{more} are read anew in every run, as programs there do;"
            " --cache weights_resident answers for one that keeps them"
        )


def note_without_rate(scoped: Scoped, messages: Messages) -> None:
    """Say which parts do not compute in an element type of a model: its time and energy are null there."""
    found = scoped.execute(stand_ins.WITHOUT_RATE).fetchall()
    for part, model, precision in found[:MOST_FAULTY]:
        messages.warn(f"{model} has no answer on {part}, which does not compute in {precision}")
    if len(found) > MOST_FAULTY:
        messages.warn(f"{len(found) - MOST_FAULTY} more have no answer, for types in which their parts do not compute")


def _said(known: Sequence[tuple[str, str, float | None, str]], of: str, field: str) -> str:
    """A number with its value and what is expected; of a row that is named alone, its first number."""
    for owner, name, value, rule in known:
        if owner in (of, "*") and (name == field or name.startswith(f"{field}.")):
            return f"{name} {'is missing' if value is None else f'is {value:g}'}, {rule}"
    return field


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
