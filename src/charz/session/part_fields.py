"""Tables, columns and valid values of the numbers of a part."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from charz.schema import ddl, ranges
from charz.schema.errors import CharzError, nearest_names, unknown_name
from charz.schema.units import UNITS, ending

from .axes import one_of, quantity
from .parameters import Amount

if TYPE_CHECKING:
    import duckdb

    from charz.schema.row import Row


SHORT = {"ws": "weight_stationary", "os": "output_stationary", "is": "input_stationary", "df": "wavefront"}
"""Short names of dataflows."""


@dataclass(frozen=True, slots=True)
class PartField:
    """Location and bounds of a number of a part."""

    field: str
    """Name in `hardware_value.field`."""
    table: str
    key: tuple[tuple[str, str], ...]
    column: str
    unit: str
    is_count: bool
    bounds: tuple[float, float]
    """Smallest and largest valid value (`number_rule`)."""
    words: tuple[str, ...] = ()
    """Valid words, if the value of the field is a word."""

    def value(self, given: Amount, name: str) -> float | str:
        """Parse a value into a number in SI units or a word. `name` names the value in messages. Raise `CharzError` for an invalid value."""
        if self.words:
            return self.word(str(given), name)
        return self.checked(quantity(given, self.unit, name), f"{name}={given}")

    def word(self, given: str, name: str) -> str:
        """Expand the short name of a word. Raise `CharzError` for an unknown word."""
        return one_of(name, SHORT.get(given, given), self.words)

    def checked(self, value: float, text: str) -> float:
        """Return the value. Raise `CharzError` for a value out of bounds."""
        least, most = self.bounds
        if not least <= value <= most:  # NaN is not
            raise CharzError("no part has such a number", text, f"numbers from {least:g} to {most:g} are possible")
        if self.is_count and value != int(value):
            raise CharzError("not a count", text, "whole numbers are possible")
        return value


def part_fields(connection: duckdb.DuckDBPyConnection, hardware: str) -> list[PartField]:
    """Return the field of every number in the part's rows, also of unknown numbers, and of every stated or derived energy."""
    from charz.hardware_catalog.part import ENERGY_UNITS, ORDINALS, SECTIONS
    from charz.schema.catalog.price import Price
    from charz.sql.scopes import ENERGY

    tables: dict[str, type[Row]] = {**SECTIONS, "price": Price}
    query = "SELECT kind, quantity, row_kind, of_family, least, most FROM number_rule"
    rules = {(*place,): (least, most) for *place, least, most in connection.execute(query).fetchall()}
    found = []
    for section, row_type in tables.items():
        columns = [c for c in ddl.columns(row_type) if c.python_type in (int, float) and c.name not in ORDINALS]
        for key in _keys(connection, row_type, hardware):
            named = ".".join((section, *(value for _, value in key[1:])))
            for column in columns:
                unit, is_count = UNITS.get(ending(column.name), ""), column.python_type is int
                place = f"{named}.{column.name}"
                found.append(PartField(place, row_type.TABLE, key, column.name, unit, is_count, _bounds(rules, place)))
    query = "SELECT what, key FROM part_energy WHERE hardware = ? ORDER BY ALL"
    for what, of in connection.execute(query, [hardware]).fetchall():
        energy = (("hardware", hardware), ("what", what), ("key", of))
        place = f"energy.{what}.{of}"
        found.append(PartField(place, ENERGY, energy, "value", ENERGY_UNITS[what], False, _bounds(rules, place)))
    return found


def dataflow_field(connection: duckdb.DuckDBPyConnection, hardware: str) -> PartField | None:
    """Return the field for the dataflow of a part's arrays; None for a part without arrays."""
    query = "SELECT array_rows * array_columns > 1 FROM part WHERE hardware = ?"
    ((has_array,),) = connection.execute(query, [hardware]).fetchall()
    query = "SELECT DISTINCT dataflow FROM tiling_strategy WHERE family = '*' ORDER BY 1"
    words = tuple(word for (word,) in connection.execute(query).fetchall())
    key = (("hardware", hardware),)
    field = PartField("hardware.dataflow", "hardware", key, "dataflow", "", False, (-math.inf, math.inf), words)
    return field if has_array else None


def _bounds(rules: Mapping[ranges.Place, ranges.Bounds], place: str) -> ranges.Bounds:
    return ranges.closest(rules, *ranges.place(place)) or (-math.inf, math.inf)


def named(known: list[PartField], hardware: str, field: str, also: tuple[str, ...] = ()) -> PartField:
    """Find a number of a part by the name of its field or by a unique ending of this name. Raise `CharzError` with the nearest names for an unknown
    name. `also` lists further names that the user may have meant."""
    found = [part_field for part_field in known if part_field.field == field] or [
        part_field for part_field in known if part_field.field.endswith(f".{field}")
    ]
    if len(found) > 1:
        candidates = ", ".join(part_field.field for part_field in found[:12])
        raise CharzError("several numbers have this name", field, f"candidates: {candidates}", "name one of them")
    if not found:
        lists = f"`charz hardware show {hardware}` lists {'all' if also else 'them'}"
        every = [*also, *(part_field.field for part_field in known)]
        listed = also if also and not nearest_names(field, every) else every
        raise unknown_name(f"number of {hardware}", field, listed, lists)
    return found[0]


def _keys(
    connection: duckdb.DuckDBPyConnection, row_type: type[Row], hardware: str
) -> list[tuple[tuple[str, str], ...]]:
    """Return the keys of a part's rows in a table. Each key begins with the part."""
    names = ", ".join(map(ddl.quote, row_type.KEY))
    query = f"SELECT {names} FROM {row_type.TABLE} WHERE hardware = ? ORDER BY ALL"
    return [tuple(zip(row_type.KEY, row, strict=True)) for row in connection.execute(query, [hardware]).fetchall()]
