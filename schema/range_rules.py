"""Ranges of the numbers of a table, from its declarations (`ranges`)."""

from __future__ import annotations

from collections.abc import Iterator

from . import ddl
from .ranges import COUNT, EVERY, Plausible, Possible, Range
from .row import Row


def kind(row_type: type[Row]) -> str:
    """Return the first word that fields of `hardware_value` have for numbers of the table."""
    return "energy" if row_type.TABLE == "energy_profile" else row_type.TABLE.removeprefix("hardware_")


def ranges(row_type: type[Row]) -> Iterator[Range]:
    """Yield the ranges of every number of a table: for all rows, and for each kind with its own."""
    for column in ddl.columns(row_type):
        if column.python_type not in (int, float):
            continue
        said = row_type.model_fields[column.name].metadata
        possible = {given.of: given for given in said if isinstance(given, Possible)}
        plausible = {(given.of, given.family): given for given in said if isinstance(given, Plausible)}
        default = possible.get(EVERY) or row_type.NUMBERS or (COUNT if column.python_type is int else Possible())
        for of, family in sorted({(EVERY, EVERY), *((of, EVERY) for of in possible), *plausible}):
            can = possible.get(of, default)
            usual = next(
                (plausible[k] for k in ((of, family), (EVERY, family), (of, EVERY), (EVERY, EVERY)) if k in plausible),
                None,
            )
            usual = usual or Plausible(can.least, can.most)
            yield Range(column.name, of, family, can, usual)
