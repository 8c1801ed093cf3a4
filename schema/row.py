"""The base of every table: a pydantic model whose class and field docstrings document the table and whose annotations are its DDL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from .ranges import ANY, Possible


class Row(BaseModel):
    """One row of one table.

    A subclass names its table and primary key; DDL, `COMMENT ON` and the reference page come from its annotations and docstrings. A
    field's docstring ends with its unit in brackets, e.g. `[byte]`; counts, fractions and names have none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]
    """Columns that identify a row."""
    DEFAULTS: ClassVar[Mapping[str, str]] = {}
    """SQL default of each column that a client's INSERT may leave out."""
    NUMBERS_FROM: ClassVar[int | None] = None
    """First number of the sequence that numbers the rows of clients."""
    NUMBERED: ClassVar[str | None] = None
    """Column that the sequence numbers; null for the key, which is then one number."""
    IS_KEY_ENFORCED: ClassVar[bool] = True
    """True if the database has an index that refuses a second row with the same key."""
    RATIO_TO: ClassVar[Mapping[str, str]] = {}
    """Stated columns that move in proportion to a derived value, each with the column that keeps the derived value at the time of the
    statement; users do not state the latter, and it is null until charz fills it."""
    RANGES_BY: ClassVar[tuple[str, ...]] = ()
    """Columns whose values, joined by a point, are the kind of a row: each kind can have its own ranges."""
    NUMBERS: ClassVar[Possible | None] = None
    """Possible range of the table's numbers whose column declares none; by default a positive number, and a count from 1."""


class ModelRow(Row):
    """One row that `charz ingest` writes for a model; the table's first column is the model's name.

    Ingest writes and deletes rows by model, so the key needs no index: for ten models an index would take 3.5 times the space of all
    rows and as long as writing them. `database.repeated_keys` checks the key.
    """

    IS_KEY_ENFORCED: ClassVar[bool] = False
    NUMBERS: ClassVar[Possible | None] = ANY

    model: str
    """Model it belongs to."""
