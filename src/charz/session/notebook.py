"""Display of an answer in a notebook."""

from __future__ import annotations

from html import escape
from typing import Any, Self

import polars as pl

from charz.schema.errors import printable

from .quantities import headers, shown

SHOWN_ROWS = 60
"""Largest number of rows that a notebook shows."""


class Frame(pl.DataFrame):
    """A polars frame in SI units that a notebook shows in display units. Operations on the frame return ordinary polars frames."""

    bare: frozenset[str] = frozenset()
    """Columns that are shown without conversion of units."""

    @classmethod
    def of(cls, frame: pl.DataFrame, bare: frozenset[str]) -> Self:
        """Make a frame; `bare` names the columns of unknown unit."""
        made = cls(frame)
        made.bare = bare
        return made

    def _repr_html_(self, **_: Any) -> str:
        """Render the first rows in display units, with the full name of a column on hover."""
        titles = zip(self.columns, headers(self.columns, self.bare), strict=True)
        head = "".join(f'<th title="{escape(printable(name))}">{escape(printable(title))}</th>' for name, title in titles)
        rows = self.head(SHOWN_ROWS).iter_rows()
        body = "".join(
            f"<tr>{''.join(_cell(value, '' if name in self.bare else name) for name, value in zip(self.columns, row, strict=True))}</tr>"
            for row in rows
        )
        more = f"<p>{SHOWN_ROWS} of {self.height} rows</p>" if self.height > SHOWN_ROWS else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any, column: str) -> str:
    if value is None or isinstance(value, bool | int | float):
        return f'<td style="text-align:right">{escape(shown(value, column))}</td>'
    return f"<td>{escape(printable(str(value)))}</td>"
