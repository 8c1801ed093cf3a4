"""What a number of a fact can be and what it usually is, said once beside its column: `Annotated[float, Plausible(1e8, 1e10)]`.

A number outside of what is possible gets no answer, with the reason; one outside of what is plausible gets an answer that
names it. The rows of `number_rule` come from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    pass

Place = tuple[str, str, str, str]
"""Kind, quantity, kind of row and family: the key of `number_rule`."""

Bounds = tuple[float, float]
"""Least and most."""

TINY, HUGE = 1e-30, 1e30
"""Beyond these nothing is in SI units, and products of two leave the range of a double."""

EVERY = "*"
"""Stands for every family, and every kind of row."""


@dataclass(frozen=True, slots=True)
class Possible:
    """Least and most that a number can be, of rows of one kind or of all; positive and finite without."""

    least: float = TINY
    most: float = HUGE
    of: str = EVERY
    """Kind of the rows: their value of `Row.RANGES_BY`."""


@dataclass(frozen=True, slots=True)
class Plausible:
    """Least and most that a number usually is, of rows of one kind and family or of all."""

    least: float
    most: float
    of: str = EVERY
    family: str = EVERY
    is_needed: bool = False
    """True where such a row hardly leaves the number open."""


COUNT, ANY = Possible(1, 1e9), Possible(-HUGE, HUGE)
"""A count, and a number that nothing is known of."""

Ordinal = Annotated[int, ANY]
"""A number that names a row or says its place."""

Share = Annotated[float, Possible(TINY, 1), Plausible(0.005, 1)]
"""A share that is never nothing."""

Fraction = Annotated[float, Possible(0, 1)]
"""A share that may be nothing."""

Amount = Annotated[float, Possible(0, HUGE)]
"""A number that may be 0."""

Size = Annotated[int, Possible(0, 1e9)]
"""A count that may be 0."""


@dataclass(frozen=True, slots=True)
class Range:
    """What the numbers of a column can be and usually are, in rows of one kind and family."""

    quantity: str
    of: str
    family: str
    possible: Possible
    plausible: Plausible


def closest(
    rules: Mapping[Place, Bounds], kind: str, quantity: str, row_kind: str, family: str = EVERY
) -> Bounds | None:
    """The rule of the most specific row, the kind before the family; None where the column has none."""
    wanted = ((row_kind, family), (row_kind, EVERY), (EVERY, family), (EVERY, EVERY))
    return next((rules[kind, quantity, *of] for of in wanted if (kind, quantity, *of) in rules), None)


def place(field: str) -> tuple[str, str, str]:
    """Kind, quantity and kind of row of a number of a part, by its place as `hardware_value` names it."""
    kind, row_kind, *_, quantity = (
        field.split(".") if field.count(".") > 1 else (field.split(".")[0], EVERY, field.split(".")[-1])
    )
    return kind, "value" if kind == "energy" else quantity, row_kind
