"""What a section of a page is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of a view, with the statement that gives them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    sql: str
    """Statement that `charz sql` answers with these rows."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """What each column holds."""
    about: str = ""
    """Title, where a section has several tables."""

    def records(self) -> list[Record]:
        """The rows by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Section:
    """One question that a reader has, answered."""

    name: str
    """Anchor in the page."""
    title: str
    finding: str
    """One sentence made of its numbers; of a section without rows the reason."""
    charts: Sequence[Record] = ()
    """Vega-Lite specifications."""
    tables: Sequence[Table] = ()
    tree: Sequence[Record] = ()
    """Modules with their time and energy, to zoom into."""
