"""The base of every table: a pydantic model whose class docstring and field docstrings are the
table's documentation, and whose annotations are its DDL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from .ranges import ANY, Possible


class Row(BaseModel):
    """One row of one table.

    A subclass names its table and primary key; everything else (DDL, `COMMENT ON`, the reference
    page) is read from its annotations and docstrings. A unit stands at the end of a field's
    docstring in brackets, e.g. `[byte]`; counts, fractions and names carry none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]
    """Columns that tell the table's rows apart."""
    IS_KEY_ENFORCED: ClassVar[bool] = True
    """True when the database holds an index that refuses a second row of the same key."""
    RATIO_TO: ClassVar[Mapping[str, str]] = {}
    """Stated columns that move with what they follow from, each with the column that keeps what was derived when it was
    stated: no statement of the user's, null until charz fills it."""
    RANGES_BY: ClassVar[tuple[str, ...]] = ()
    """Columns whose values, joined by a point, are the kind of a row: numbers of rows of another kind have other ranges."""
    NUMBERS: ClassVar[Possible | None] = None
    """What a number of the table can be of which its column says nothing; without, a positive number, and a count from 1."""


class ModelRow(Row):
    """One row of what `charz ingest` writes of a model, a table's first column its name.

    Ingest writes and deletes these by the model, so the key needs no index: of ten models it would take 3.5 times the
    space of all the rows and as long as writing them. `database.repeated_keys` checks it.
    """

    IS_KEY_ENFORCED: ClassVar[bool] = False
    NUMBERS: ClassVar[Possible | None] = ANY

    model: str
    """Model it belongs to."""
