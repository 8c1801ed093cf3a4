"""Content of a section of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of a view, with the statement that returns them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    sql: str
    """Statement for `charz sql` that returns these rows."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Descriptions of the columns."""
    about: str = ""
    """Title, for a section with several tables."""
    command: str = ""
    """Command that answers with these rows, in place of a statement."""

    def records(self) -> list[Record]:
        """Return the rows as dictionaries by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Section:
    """A question of a reader with its answer."""

    name: str
    """Anchor in the page."""
    title: str
    finding: str
    """A sentence with its numbers; for a section without rows the reason."""
    charts: Sequence[Record] = ()
    """Vega-Lite specifications."""
    tables: Sequence[Table] = ()
    tree: Sequence[Record] = ()
    """Modules with their time and energy, to zoom into."""
