"""A connection whose views answer for one question, and how its rows are read."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from charz.sql.keys import TARGET as KEYS

from .answer import Rows, of_query
from .messages import Progress, no_progress

if TYPE_CHECKING:
    import duckdb

    from charz.sql.evaluate import Scope

Said = list[tuple[bool, str]]
"""Lines beside an answer: whether it is about what is left out, and the text."""


LIGHT = ("run", "part_support", "assumed_input", "part_fault", "rule_fault")
"""Maintained tables that are scoped for every question; the others only where what is asked rests on them."""


class Scoped:
    """A connection whose views answer for one question and nothing else.

    What is scoped follows from the relations that a query names: rows at hand answer for those that `answers` keeps and for
    what rests on these alone, and the live views for all others.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        scope: Scope | None = None,
        *,
        is_live: bool = False,
        keeps_costs: bool = False,
        progress: Progress = no_progress,
    ) -> None:
        """Without a scope the views answer for the whole file. `is_live` takes no row that is at hand, `keeps_costs` evaluates
        the costs once for all views that read them."""
        self._connection, self.scope = connection, scope
        self._is_live, self._keeps_costs, self._progress = is_live, keeps_costs, progress
        self._is_answered = self._is_held = scope is None
        self.notes: dict[tuple[str, ...], Said] = {}
        """What answers rest on, by the columns of `assumed_input` that they count."""
        if scope is not None:
            from charz.sql import evaluate
            from charz.sql.installed import catalog

            self._known = catalog(connection)
            if scope.copies:
                self._hold()
            else:
                evaluate.hold(connection, scope, LIGHT, self._known)

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection with every view scoped."""
        self._prepare(self._names())
        return self._connection

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def execute(self, query: str, values: Sequence[Any] = ()) -> duckdb.DuckDBPyConnection:
        """Run a statement with what it names scoped."""
        self._prepare(re.findall(r"\w+", query))
        return self._connection.execute(query, list(values))

    def sql(self, query: str, values: Sequence[Any] = ()) -> duckdb.DuckDBPyRelation:
        """A query, not yet evaluated, with what it names scoped."""
        self._prepare(re.findall(r"\w+", query))
        return self._connection.sql(query, params=list(values) or None)

    def _names(self) -> list[str]:
        return [] if self.scope is None else list(self._known.relations)

    def _prepare(self, words: Iterable[str]) -> None:
        """Scope the relations among some words."""
        if self._is_held and self._is_answered:
            return
        from charz.sql import answers

        names = {word for word in words if word in self._known.relations}.difference(LIGHT)
        if not self._is_answered and any(self._known.relations[name].at_hand for name in names):
            self._answer()
        live = {name for name in names if not answers.covers(self._known, name, self._is_stored)}
        if not self._is_held and not all(self._is_light(name) for name in live):
            self._hold()

    def _is_light(self, name: str) -> bool:
        """Whether a relation rests on no maintained table but those that are scoped for every question."""
        from charz.sql.layers import MODELS

        tables = [relation.name for relation in self._known.relations.values() if relation.is_table]
        read = self._known.upstream([name], tables)
        return not read.intersection({*tables, *(r.name for r in self._known.of(*MODELS))}.difference(LIGHT))

    @functools.cached_property
    def _is_stored(self) -> bool:
        """Whether the file has all runs of the scope."""
        rows = self.scope.scenarios if self.scope else None
        return rows is None or all(row["scenario_id"] in self.scope.stored for row in rows)  # type: ignore[union-attr]

    def _answer(self) -> None:
        from charz.sql import answers, evaluate

        assert self.scope is not None
        self._is_answered = True
        if not self._is_live and answers.take(self._connection, self.scope, self._known):
            return
        if self._keeps_costs:
            if not self._is_held:
                self._hold()
            answers.evaluate_rows(self._connection, self._known)
            return
        count = evaluate.portion_count(self._connection, self.scope, answers.relations(self._connection))
        with self._progress("answers", count) as done:
            answers.evaluate_portions(self._connection, self.scope, self._known, done)

    def _hold(self) -> None:
        from charz.sql import evaluate

        assert self.scope is not None
        self._is_held = True
        evaluate.hold(self._connection, self.scope, known=self._known)
        if self._keeps_costs:
            self.keep(evaluate.COSTED)

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
        return of_query(self.sql(query, values), view, *beside)

    @functools.cached_property
    def target(self) -> dict[str, Any]:
        """Keys and conditions of the one target that there is."""
        query = "SELECT t.hardware, r.* FROM run AS r JOIN part_support AS t USING (backend, precision)"
        (keys,) = self.records(query)
        return keys

    def records(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Rows of a query by column name."""
        relation = self.sql(query, values)
        return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]

    def keep(self, view: str) -> None:
        """Evaluate a view once, for several questions to it."""
        query = "SELECT 1 FROM duckdb_tables() WHERE temporary AND table_name = ?"
        if not self.value(query, [view]):
            self.execute(f"CREATE TEMP TABLE {view} AS SELECT * FROM {view}")

    def value(self, query: str, values: Sequence[Any] = ()) -> Any:
        """The first column of the first row of a query; None without a row."""
        rows = self.execute(query, values).fetchall()
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
        return [name for (name,) in self._connection.execute(query, [view]).fetchall()]
