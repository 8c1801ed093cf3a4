"""What an answer would be if numbers of parts were others: asked beside the unchanged parts, without writing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from charz.schema import ddl
from charz.schema.errors import CharzError, unknown_name
from charz.schema.units import UNITS, ending

from .answer import Asked, Rows, answer
from .axes import names, quantity
from .core import Core
from .parameters import Amount, Text

if TYPE_CHECKING:
    import duckdb

    from charz.schema.row import Row


METHODS = (
    "report", "compare", "sweep", "recommend", "cost", "memory", "concurrency", "opportunities", "parallel", "llm",
    "explain", "sql", "hardware.show", "hardware.list", "hardware.diff",
)  # fmt: skip
"""Methods whose answers follow a part's numbers."""

MOST_VARIANTS = 1000
"""Combinations of values in one question."""

AS_IS = "as is"
"""Variant of the file's own numbers."""

Value = Amount | Sequence[Amount]
"""A number in SI units, a text with its unit, several in one text with commas between, or a list of any."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a number of a part stands."""

    field: str
    """As `hardware_value.field` names it."""
    table: str
    key: tuple[tuple[str, str], ...]
    column: str
    unit: str
    is_count: bool
    bounds: tuple[float, float]
    """Least and most that it may be (`number_rule`)."""


class WhatIf(Core):
    """Questions about parts that do not exist."""

    @answer()
    def what_if(
        self,
        changes: Annotated[
            Mapping[str, Value],
            Text(
                "PART.FIELD=VALUE, again for each, e.g. rtx4090.sm.unit_count=128,256; `charz hardware show` lists fields."
            ),
        ],
        method: Annotated[str, Text("Command that answers, e.g. report, with its arguments and options.")] = "report",
        *arguments: Any,
        **options: Any,
    ) -> Rows:
        """Answer as if numbers of parts were others, beside the parts as they are; nothing is written.

        Several values of a number make a row of variants, of several numbers all combinations. A method and its arguments
        follow, on the command line after `--`: `charz what-if --set rtx4090.dram.bandwidth_byte_per_s=2TB/s -- report
        resnet50 --on rtx4090`.
        """
        if method not in METHODS:
            raise unknown_name("method of a what-if", method, METHODS)
        *group, name = method.split(".")
        asked: Asked = getattr(_owner(self, group), name).asked
        columns: tuple[str, ...] = ()
        views: tuple[str, ...] = ()
        rows: list[tuple[Any, ...]] = []
        for label, session in self.variants(changes).items():
            found = asked.rows(_owner(session, group), *arguments, **options)
            columns, views = found.columns, found.views
            rows += [(label, *row) for row in found.fetch()]
        return Rows(("variant", *columns), rows, views)

    def variants(self, changes: Mapping[str, Value]) -> dict[str, Core]:
        """A session of the file's own numbers, and one for each combination of the values, by what is changed. Raises `CharzError` for a number
        that there is not, and a value that cannot be."""
        from charz.sql.narrow import Change

        if not changes:
            raise CharzError("nothing is changed", next="name a number and its value, e.g. rtx4090.sm.unit_count=256")
        places = {name: self._place(name) for name in changes}
        columns = [place.column for place in places.values()]
        axes = []
        for name, place in places.items():
            label = name if columns.count(place.column) > 1 else name.rpartition(".")[2]
            axes.append([(f"{label}={text}", place, value) for text, value in _values(changes[name], name, place)])
        if math.prod(map(len, axes)) > MOST_VARIANTS:
            raise CharzError(
                "too many variants", str(math.prod(map(len, axes))), f"at most {MOST_VARIANTS} are possible"
            )
        found: dict[str, Core] = {AS_IS: self.child(self._scope)}
        voice = found[AS_IS].voice = self.voice.once()
        for chosen in itertools.product(*axes):
            changed = [Change(place.table, place.key, place.column, value) for _, place, value in chosen]
            session = self.child(self._scope, changed)
            session.voice = voice
            found[", ".join(text for text, _, _ in chosen)] = session
        return found

    def _place(self, name: str) -> Place:
        """The number that a name means: `PART.FIELD`, or `PART.` and the end of a field that no other of the part has."""
        part, dot, field = name.partition(".")
        if not dot:
            next = "write e.g. rtx4090.sm.unit_count=256, `charz hardware show PART` lists fields"
            raise CharzError("not a number of a part", name, next=next)
        hardware = self.part_name(part)
        places = _places(self.connection(), hardware)
        found = [place for place in places if place.field == field] or [
            place for place in places if place.field.endswith(f".{field}")
        ]
        if len(found) > 1:
            candidates = ", ".join(place.field for place in found[:12])
            raise CharzError("several numbers have this name", name, f"candidates: {candidates}", "name one of them")
        if not found:
            lists = f"`charz hardware show {hardware}` lists them"
            raise unknown_name(f"number of {hardware}", field, [place.field for place in places], lists)
        return found[0]


def _owner(session: Core, group: Sequence[str]) -> Any:
    """What has the methods of a group, or the session itself."""
    return getattr(session, group[0]) if group else session


def _places(connection: duckdb.DuckDBPyConnection, hardware: str) -> list[Place]:
    """Every number that a part has a row for, known or not, and every energy, stated or by a rule."""
    from charz.hardware_catalog.part import ENERGY_UNITS, ORDINALS, SECTIONS
    from charz.schema.catalog import Price
    from charz.sql.narrow import ENERGY

    tables: dict[str, type[Row]] = {**SECTIONS, "price": Price}
    query = "SELECT kind, quantity, least, most FROM number_rule"
    rules = {(kind, what): (least, most) for kind, what, least, most in connection.execute(query).fetchall()}
    every = rules["*", "*"]
    places = []
    for section, row_type in tables.items():
        columns = [c for c in ddl.columns(row_type) if c.python_type in (int, float) and c.name not in ORDINALS]
        for key in _keys(connection, row_type, hardware):
            named = ".".join((section, *(value for _, value in key[1:])))
            for column in columns:
                unit, is_count = UNITS.get(ending(column.name), ""), column.python_type is int
                bounds = rules.get((section, column.name), every)
                places.append(Place(f"{named}.{column.name}", row_type.TABLE, key, column.name, unit, is_count, bounds))
    query = "SELECT what, key FROM part_energy WHERE hardware = ? ORDER BY ALL"
    for what, of in connection.execute(query, [hardware]).fetchall():
        energy = (("hardware", hardware), ("what", what), ("key", of))
        places.append(Place(f"energy.{what}.{of}", ENERGY, energy, "value", ENERGY_UNITS[what], False, every))
    return places


def _keys(
    connection: duckdb.DuckDBPyConnection, row_type: type[Row], hardware: str
) -> list[tuple[tuple[str, str], ...]]:
    """Keys of a part's rows in a table, the part first."""
    names = ", ".join(map(ddl.quote, row_type.KEY))
    query = f"SELECT {names} FROM {row_type.TABLE} WHERE hardware = ? ORDER BY ALL"
    return [tuple(zip(row_type.KEY, row, strict=True)) for row in connection.execute(query, [hardware]).fetchall()]


def _values(given: Value, name: str, place: Place) -> list[tuple[str, float]]:
    """Each value as it was written, and in SI units."""
    texts = names(given) if isinstance(given, str) else given if isinstance(given, Sequence) else [given]
    if not texts:
        raise CharzError("a number without a value", name, next=f"write e.g. {name}=256")
    return [(text if isinstance(text, str) else f"{text:g}", _value(text, name, place)) for text in texts]


def _value(given: Amount, name: str, place: Place) -> float:
    value = quantity(given, place.unit, name)
    least, most = place.bounds
    if not least <= value <= most:  # NaN is not
        raise CharzError(
            "no part has such a number", f"{name}={given}", f"numbers from {least:g} to {most:g} are possible"
        )
    if place.is_count and value != int(value):
        raise CharzError("not a count", f"{name}={given}", "whole numbers are possible")
    return value
