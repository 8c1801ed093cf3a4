"""Possible and plausible ranges of a fact's numbers, declared with its column: `Annotated[float, Plausible(1e8, 1e10)]`.

An impossible number gets no answer, with the reason; an implausible one gets an answer that names it. The rows of `number_rule` come
from here.
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
"""Bounds of every number in SI units; the product of two numbers within them stays in the range of a double."""

EVERY = "*"
"""Wildcard for every family, and every kind of row."""


@dataclass(frozen=True, slots=True)
class Possible:
    """Least and most possible value, for rows of one kind or all; by default any positive finite number."""

    least: float = TINY
    most: float = HUGE
    of: str = EVERY
    """Kind of the rows: their value of `Row.RANGES_BY`."""


@dataclass(frozen=True, slots=True)
class Plausible:
    """Least and most plausible value, for rows of one kind and family or of all."""

    least: float
    most: float
    of: str = EVERY
    family: str = EVERY
    is_needed: bool = False
    """True if null is implausible in such a row."""


COUNT, ANY = Possible(1, 1e9), Possible(-HUGE, HUGE)
"""Ranges of a count, and of an unrestricted number."""

Ordinal = Annotated[int, ANY]
"""A number that identifies a row or gives its place."""

Share = Annotated[float, Possible(TINY, 1), Plausible(0.005, 1)]
"""A share above 0."""

Fraction = Annotated[float, Possible(0, 1)]
"""A share that may be 0."""

Amount = Annotated[float, Possible(0, HUGE)]
"""A number that may be 0."""

Size = Annotated[int, Possible(0, 1e9)]
"""A count that may be 0."""


@dataclass(frozen=True, slots=True)
class Range:
    """Possible and plausible range of a column's numbers, in rows of one kind and family."""

    quantity: str
    of: str
    family: str
    possible: Possible
    plausible: Plausible


def closest(
    rules: Mapping[Place, Bounds], kind: str, quantity: str, row_kind: str, family: str = EVERY
) -> Bounds | None:
    """Return the rule of the most specific row, the kind before the family; None if the column has no rule."""
    wanted = ((row_kind, family), (row_kind, EVERY), (EVERY, family), (EVERY, EVERY))
    return next((rules[kind, quantity, *of] for of in wanted if (kind, quantity, *of) in rules), None)


def place(field: str) -> tuple[str, str, str]:
    """Return kind, quantity and kind of row of a part's number, from its field in `hardware_value`."""
    kind, row_kind, *_, quantity = (
        field.split(".") if field.count(".") > 1 else (field.split(".")[0], EVERY, field.split(".")[-1])
    )
    return kind, "value" if kind == "energy" else quantity, row_kind
