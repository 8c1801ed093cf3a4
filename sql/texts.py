"""Description of each column of a relation: the comment above the column, the text of a key, or the text of the column that is passed
on."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from charz.schema import ddl
from charz.schema.errors import CharzError

from .documents import Document, Item
from .keys import KEYS

Texts = Mapping[str, tuple[str, str | None]]
"""Description and unit, by column."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column with its resolved text."""

    name: str
    type: str
    description: str
    """Description; empty if none was found."""
    unit: str | None
    line: int
    """Line of the item that makes the column in the file."""
    is_inherited: bool
    """True if the column's text, or the lack of a text, is that of the column that is passed on."""
    is_made: bool
    """True if the item computes a column instead of passing one on."""


@functools.cache
def of_tables() -> dict[str, Texts]:
    """Return the texts of every table of `schema/`."""
    from charz.schema import database

    return {t.TABLE: {c.name: (c.description, c.unit) for c in ddl.columns(t)} for t in database.TABLES}


def resolve(
    document: Document,
    outputs: Sequence[tuple[str, str]],
    relations: Sequence[str],
    aliases: Mapping[str, str],
    known: Mapping[str, Texts],
) -> list[Column]:
    """Resolve the columns of a relation from the `DESCRIBE` of its body, the relations it reads and their texts.

    A column without a text has an empty description, which `lint` reports. Raises `CharzError` naming file and column if the items do
    not match the body's outputs.
    """
    columns = []
    for item, name, kind in _pair(document, outputs):
        own = _own(item, name)
        text = own or _inherited(item, name, relations, aliases, known)
        description, unit = text or ("", None)
        is_made = item.name is not None and item.source is None
        is_inherited = own is None and text is not None
        columns.append(Column(name, kind, description, unit, item.line, is_inherited, is_made))
    return columns


def _pair(document: Document, outputs: Sequence[tuple[str, str]]) -> list[tuple[Item, str, str]]:
    """Pair each output with the item that makes it; a `*` makes all outputs up to the next named item."""
    paired: list[tuple[Item, str, str]] = []
    names = [name for name, _ in outputs]
    position = 0
    star: Item | None = None
    for item in document.items:
        if item.name is None:
            star = item
            continue
        if item.name not in names[position:]:
            raise _not_given(document, item, names)
        place = names.index(item.name, position)
        if place > position and star is None:
            raise _not_given(document, item, names)
        paired += [(star, *outputs[i]) for i in range(position, place) if star is not None]
        paired.append((item, *outputs[place]))
        position, star = place + 1, None
    if position < len(outputs):
        if star is None:
            extra = ", ".join(names[position:])
            raise CharzError("columns that no item names", document.place, f"the body also gives {extra}")
        paired += [(star, *outputs[i]) for i in range(position, len(outputs))]
    return paired


def _not_given(document: Document, item: Item, names: Sequence[str]) -> CharzError:
    return CharzError(
        "an item is not the column at its place",
        f"{document.place}:{item.line}, {item.name}",
        f"it gives {', '.join(names)}",
    )


def _own(item: Item, name: str) -> tuple[str, str | None] | None:
    if item.name is not None and item.description:
        return item.description, item.unit
    return (KEYS[name], None) if name in KEYS else None


def _inherited(
    item: Item, name: str, relations: Sequence[str], aliases: Mapping[str, str], known: Mapping[str, Texts]
) -> tuple[str, str | None] | None:
    named = [aliases[item.qualifier]] if item.qualifier is not None and item.qualifier in aliases else []
    passed_on = item.source or name
    return next((known[r][passed_on] for r in [*named, *relations] if passed_on in known.get(r, {})), None)
