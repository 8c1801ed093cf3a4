"""Messages about doubtful inputs of an answer, and about models and parts without an answer."""

from __future__ import annotations

from collections.abc import Sequence

from charz.schema.errors import some
from charz.sql import stand_ins

from .messages import Messages
from .quantities import size
from .scoped import Scoped

MOST_FAULTY = 3
"""Number of models or parts that messages name before they count the rest."""


def note(scoped: Scoped, messages: Messages) -> None:
    """Report the causes of an incomplete or doubtful answer: missing rules, impossible or implausible numbers, and assumptions."""
    note_unsized(scoped, messages)
    note_faulty(scoped, messages)
    note_implausible(scoped, messages)
    note_other_types(scoped, messages)
    note_streamed(scoped, messages)
    note_hosted(scoped, messages)
    note_without_rate(scoped, messages)


def note_faulty(scoped: Scoped, messages: Messages) -> None:
    """Warn of parts and runs with impossible numbers, whose answers are null."""
    known = scoped.execute("SELECT hardware, field, value, rule FROM impossible_number").fetchall()
    if not known:
        return
    faulty = scoped.execute("SELECT DISTINCT subject, field FROM faulty_answer ORDER BY subject, field").fetchall()
    for of, field in faulty[:MOST_FAULTY]:
        messages.warn(f"{of} has no answer: {_said(known, of, field)}")
    if len(faulty) > MOST_FAULTY:
        messages.warn(f"{len(faulty) - MOST_FAULTY} more have no answer: `charz doctor --invariants` lists the impossible numbers")


def note_implausible(scoped: Scoped, messages: Messages) -> None:
    """Warn of possible but implausible numbers, such as a number in a wrong unit or a missing number."""
    found = [
        *scoped.execute("SELECT hardware, implausible FROM assumed_input WHERE implausible IS NOT NULL").fetchall(),
        *scoped.execute("SELECT run.model, implausible FROM run WHERE implausible IS NOT NULL").fetchall(),
    ]
    if not found:
        return
    doubtful = sorted({(of, field) for of, fields in found for field in fields.split(", ")})
    known = scoped.execute("SELECT hardware, field, value, rule FROM implausible_number").fetchall()
    for of, field in doubtful[:MOST_FAULTY]:
        messages.warn(f"{of} uses an implausible value: {_said(known, of, field)}")
    if len(doubtful) > MOST_FAULTY:
        more = len(doubtful) - MOST_FAULTY
        messages.warn(f"{more} more implausible values: the view implausible_number lists them")


def note_other_types(scoped: Scoped, messages: Messages) -> None:
    """Report the operators that a quantized policy computes in another element type, and the parts that approximate them by integers."""
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
        messages.remark(f"{parts} compute in integers only: {classes} are assumed to run as integer approximations")


def note_streamed(scoped: Scoped, messages: Messages) -> None:
    """Report the parts that read weights again in every run although the weights fit a software-managed memory."""
    if not scoped.value("SELECT COUNT(*) FROM part_support WHERE is_cache_placed"):
        return  # no such memory: the view's many inputs need not be evaluated
    query = "SELECT DISTINCT hardware, cache_level FROM streamed_weight WHERE cache_state = 'warm' ORDER BY hardware, cache_level"
    found = [f"{level} of {part}" for part, level in scoped.execute(query).fetchall()]
    if found:
        messages.remark(
            f"weights that fit {some(found, MOST_FAULTY)} are read again in every run, as usual programs do;"
            " --cache weights_resident assumes a program that keeps the weights in that memory"
        )


def note_hosted(scoped: Scoped, messages: Messages) -> None:
    """Report the parts without main memory that read weights from the host in every run, which a rate of their maker may not count."""
    parts = "SELECT COUNT(*) FROM hardware_memory SEMI JOIN part_support USING (hardware) WHERE technology = 'host'"
    if not scoped.value(parts):
        return
    query = "SELECT model, hardware, weight_byte, chip_byte FROM host_weight ORDER BY weight_byte / chip_byte DESC, hardware"
    found = scoped.execute(query).fetchall()
    if found:
        model, part, weight, chip = found[0]
        messages.remark(
            f"{part} has no main memory: of the {size(weight)} of weights of {model}, {size(chip)} fit the chip, and the host sends the rest"
            " in every run; rates that makers state are usually of many frames in flight, which share these reads (--batch 64)"
        )


def note_unusual(scoped: Scoped, messages: Messages) -> None:
    """Report the backends of a question whose kernels in a precision are assumed, since people run another backend there."""
    query = "SELECT DISTINCT hardware, precision, usual_backend, backend FROM unusual_backend ORDER BY hardware, precision"
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for part, precision, usual, backend in scoped.execute(query).fetchall():
        found.setdefault((precision, usual), {}).setdefault(backend, []).append(part)
    for (precision, usual), backends in found.items():
        parts = list(dict.fromkeys(part for named in backends.values() for part in named))
        messages.remark(
            f"{precision} on {some(parts, MOST_FAULTY)} is usually run by {usual}: the {precision} kernels of {some(list(backends), MOST_FAULTY)}"
            " are assumed, and no measurement bounds their times"
        )


def note_without_rate(scoped: Scoped, messages: Messages) -> None:
    """Warn of parts that do not compute in an element type of a model, whose time and energy are null there."""
    found = scoped.execute(stand_ins.WITHOUT_RATE).fetchall()
    for part, model, precision in found[:MOST_FAULTY]:
        messages.warn(f"{model} has no answer on {part}, which does not compute in {precision}")
    if len(found) > MOST_FAULTY:
        messages.warn(f"{len(found) - MOST_FAULTY} more pairs of model and part have no answer, since the part lacks an element type")


def _said(known: Sequence[tuple[str, str, float | None, str]], of: str, field: str) -> str:
    """Format the name, value and valid range of a number. For a field that names a row, format the first number of the row."""
    for owner, name, value, rule in known:
        if owner in (of, "*") and (name == field or name.startswith(f"{field}.")):
            return f"{name} {'is missing' if value is None else f'= {value:g}'} ({rule})"
    return field


def note_unsized(scoped: Scoped, messages: Messages) -> None:
    """Warn of models with operators without a rule, whose work is unknown and whose sums are too small."""
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
    messages.warn(f"{operators} of {of} {have} no rule, {whose} work and time are too small: `charz models {names} --unsized`")
