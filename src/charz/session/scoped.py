"""A connection whose views answer for one question, and how its rows are read."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .answer import Rows, of_query

if TYPE_CHECKING:
    import duckdb

KEYS = ("model", "hardware", "backend", "precision", "batch", "sequence", "scenario_id")
"""Natural keys of a target."""

Said = list[tuple[bool, str]]
"""Lines beside an answer: whether it is about what is left out, and the text."""


class Scoped:
    """A connection whose views answer for one question and nothing else."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.notes: dict[tuple[str, ...], Said] = {}
        """What answers rest on, by the columns of `assumed_input` that they count."""

    def rows(
        self,
        view: str,
        columns: Sequence[str] = (),
        tail: str = "",
        values: Sequence[Any] = (),
        beside: Sequence[str] = (),
    ) -> Rows:
        """Columns of a view, or all; `tail` follows the relation, with `values` for its parameters.

        `beside` are views of the same grain whose columns may stand beside its own.
        """
        selected = ", ".join(columns) or "*"
        query = f"SELECT {selected} FROM {self._joined(view, *beside)} {tail}"
        return of_query(self.connection.sql(query, params=list(values) or None), view, *beside)

    @functools.cached_property
    def target(self) -> dict[str, Any]:
        """Keys and conditions of the one target that there is."""
        query = "SELECT t.hardware, r.* FROM run AS r JOIN part_support AS t USING (backend, precision)"
        (keys,) = self.records(query)
        return keys

    def records(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Rows of a query by column name."""
        relation = self.connection.sql(query, params=list(values) or None)
        return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]

    def keep(self, view: str) -> None:
        """Evaluate a view once, for several questions to it."""
        query = "SELECT 1 FROM duckdb_tables() WHERE temporary AND table_name = ?"
        if not self.value(query, [view]):
            self.connection.execute(f"CREATE TEMP TABLE {view} AS SELECT * FROM {view}")

    def value(self, query: str, values: Sequence[Any] = ()) -> Any:
        """The first column of the first row of a query; None without a row."""
        rows = self.connection.execute(query, list(values)).fetchall()
        return rows[0][0] if rows else None

    def _joined(self, view: str, *beside: str) -> str:
        seen = set(self._columns(view))
        parts = [view]
        for other in beside:
            new = [column for column in self._columns(other) if column not in seen]
            seen.update(new)
            parts.append(f"(SELECT {', '.join((*KEYS, *new))} FROM {other}) USING ({', '.join(KEYS)})")
        return " JOIN ".join(parts)

    def _columns(self, view: str) -> list[str]:
        query = "SELECT column_name FROM view_column WHERE view = ? ORDER BY position"
        return [name for (name,) in self.connection.execute(query, [view]).fetchall()]
