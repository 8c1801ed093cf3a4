"""Connection whose views are limited to one question."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from charz.sql.keys import RUN
from charz.sql.keys import TARGET as KEYS
from charz.sql.layers import ANSWERS

from .answer import Rows, of_query
from .messages import Progress, no_progress

if TYPE_CHECKING:
    import duckdb

    from charz.sql.installed import Catalog
    from charz.sql.scopes import Scope, Triple

Said = list[tuple[bool, str]]
"""Recorded messages: True for a warning, and the text."""


LIGHT = ("run", "part_support", "assumed_input", "part_fault", "rule_fault")
"""Maintained tables that are limited for every question. Other tables are limited when a query reads them."""


_CONDITIONS = ("power", "engine_version", "kv_precision", "device_count")
"""Conditions that are not among a target's keys, and of which a question may name several values."""

_CHOICE = ("model", "hardware", "backend", "precision")
"""Key columns of the chosen targets."""

_CHOSEN = "chosen_target"
"""Temporary table of the chosen targets."""

_AT_HAND = re.compile(rf'\b{ANSWERS}"?\s*\.\s*"?\w+', re.IGNORECASE)
"""Pattern of a relation in the schema `answer`, which always contains the whole file."""

_DYNAMIC = frozenset({"query", "query_table"})
"""SQL functions that may read a relation whose name does not occur in the statement."""


def _words(text: str) -> set[str]:
    """Return the words of a statement in lower case, since SQL ignores case."""
    return set(re.findall(r"\w+", text.lower()))


class Scoped:
    """A connection whose views are limited to the models, parts and scenarios of one question (the scope).

    Only relations that a statement names, and relations that these read, are limited. Views with answers at hand, and views that depend on them
    alone, read the answers at hand. All other views are evaluated live.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        scope: Scope | None = None,
        known: Catalog | None = None,
        *,
        is_live: bool = False,
        keeps_costs: bool = False,
        progress: Progress = no_progress,
    ) -> None:
        """Limit the views to `scope`; None means the whole file. `known` is the file's catalog of relations. `is_live` ignores answers at hand.
        `keeps_costs` evaluates the costs once for all views that read the costs."""
        self._connection, self.scope = connection, scope
        self._is_live, self._keeps_costs, self._progress = is_live, keeps_costs, progress
        self._is_answered = False
        self._held: set[str] = set()
        """Names of relations that are temporary tables, or views over temporary tables."""
        self._named: set[str] = set()
        self._is_limited = False
        self.notes: Said | None = None
        """Messages about doubtful inputs of the answers; None until they are collected."""
        if scope is not None:
            from charz.sql.installed import catalog

            self._known = known or catalog(connection)
            self._hold(LIGHT)

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection, with every view limited to the scope."""
        self._prepare(self._known.relations if self.scope else ())
        return self._connection

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def prepared(self, statement: str) -> duckdb.DuckDBPyConnection:
        """Limit the relations that a user's statement reads, directly or through the user's views and macros, and return the connection."""
        if self.scope is not None:
            self._prepare(self._read_by(statement))
        return self._connection

    def limit(self, taken: Mapping[tuple[str, ...], Collection[Triple]]) -> None:
        """Limit each model to its own targets, if the scope would also run it on targets that only another model takes."""
        pairs = {names: {target[1:] for target in targets} for names, targets in taken.items()}
        every = {target for targets in taken.values() for target in targets}
        self._is_limited = any(
            target[1:] in pairs[names] and target not in targets
            for names, targets in taken.items()
            for target in every
        )
        if self._is_limited:
            rows = [[name, *target] for names, targets in taken.items() for name in names for target in targets]
            columns = ", ".join(f"UNNEST(?) AS {name}" for name in _CHOICE)
            query = f"CREATE OR REPLACE TEMP TABLE {_CHOSEN} AS SELECT {columns}"
            self._connection.execute(query, [list(column) for column in zip(*rows, strict=True)])

    def execute(self, query: str, values: Sequence[Any] = ()) -> duckdb.DuckDBPyConnection:
        """Limit the relations that a statement of charz names, and run the statement."""
        self._prepare_named(query)
        return self._connection.execute(query, list(values))

    def sql(self, query: str, values: Sequence[Any] = ()) -> duckdb.DuckDBPyRelation:
        """Limit the relations that a query of charz names, and return the query unevaluated."""
        self._prepare_named(query)
        return self._connection.sql(query, params=list(values) or None)

    def _prepare_named(self, query: str) -> None:
        if self.scope is not None:
            self._prepare(_words(query) & self._known.relations.keys())

    def _read_by(self, statement: str) -> set[str]:
        """Return the relations named in a statement, or in the text of the user's views and macros that the statement names."""
        words: set[str] = set()
        waiting = [statement]
        while waiting:
            text = _AT_HAND.sub("", waiting.pop())
            found = _words(text) - words
            words |= found
            own = [*self._own_views, *(self._own_macros if "(" in text else ())]
            waiting += [text for name, text in own if name in found]
        return set(self._known.relations) if words & _DYNAMIC else words & self._known.relations.keys()

    @functools.cached_property
    def _own_views(self) -> list[tuple[str, str]]:
        """Name and text of each view that a user created in the file."""
        from charz.sql.installed import own_views

        return own_views(self._connection)

    @functools.cached_property
    def _own_macros(self) -> list[tuple[str, str]]:
        """Name and text of each macro in the file. All of them are a user's, since charz stores no macros."""
        from charz.sql.installed import own_macros

        return own_macros(self._connection)

    def _prepare(self, names: Iterable[str]) -> None:
        """Limit relations to the scope."""
        from charz.sql import evaluate

        new = set(names).difference(self._named, self._held)
        if not new:
            return
        self._named |= new
        with evaluate.planned_briefly(self._connection) if self._keeps_costs else contextlib.nullcontext():
            self._scope_to(new)

    def _scope_to(self, new: set[str]) -> None:
        from charz.sql.evaluate import COSTED

        if not self._is_answered and any(self._known.relations[name].at_hand for name in new):
            self._answer()
        live = {name for name in new - self._held if not self._covers(name)}
        self._hold(live)
        if self._keeps_costs and COSTED in self._known.upstream(live, self._held):
            self._cost()

    def _covers(self, name: str) -> bool:
        """Return True if a relation can be read from answers at hand and the file, without live views."""
        from charz.sql import answers

        assert self.scope is not None
        return not self.scope.changed and answers.covers(self._known, name, self._is_stored)

    @functools.cached_property
    def _is_stored(self) -> bool:
        """True if the file has all runs of the scope."""
        rows = self.scope.scenarios if self.scope else None
        return rows is None or all(row["scenario_id"] in self.scope.stored for row in rows)  # type: ignore[union-attr]

    def _answer(self) -> None:
        """Read relations from answers at hand if all rows are present, or if computing the missing rows takes less work than computing all."""
        from charz.sql import answers, evaluate

        assert self.scope is not None
        self._is_answered = True
        kept = answers.names(self._known)
        rest = answers.take(self._connection, self.scope, self._is_live)
        if rest is not None and self._keeps_costs:
            self._hold(kept)
            self._cost()
            answers.evaluate_rows(self._connection, self._known, self._held)
        elif rest is not None:
            count = evaluate.portion_count(self._connection, rest, kept)
            with self._progress("answers", count) as done:
                answers.evaluate_portions(self._connection, rest, self._known, done)
        self._held |= answers.show(self._connection, self._known)

    def _cost(self) -> None:
        """Evaluate the costs once for all views that read the costs."""
        from charz.sql import evaluate

        if evaluate.COSTED not in self._held:
            with evaluate.shared(self._connection, self._known, [evaluate.COSTED], is_narrow=True, held=self._held):
                # An ordered table makes sums reproducible to the last digit.
                order = ", ".join(self._known.relations[evaluate.COSTED].grain)
                self._connection.execute(f"CREATE TEMP TABLE {evaluate.COSTED} AS SELECT * FROM {evaluate.COSTED} ORDER BY {order}")
            self._held.add(evaluate.COSTED)

    def _hold(self, wanted: Iterable[str]) -> None:
        """Limit the wanted relations, and the relations that they depend on, unless they are limited already."""
        from charz.sql import holder

        assert self.scope is not None
        if wanted := set(wanted) - self._held:
            self._held.update(holder.hold(self._connection, self.scope, wanted, self._known, self._held, keeps_views=True))

    def rows(
        self,
        view: str,
        columns: Sequence[str] = (),
        tail: str = "",
        values: Sequence[Any] = (),
        beside: Sequence[str] = (),
    ) -> Rows:
        """Return some columns of a view, by default all. The query ends in `tail`, which contains WHERE and ORDER BY clauses with parameters `values`.

        `beside` names views of the same grain, whose columns may be selected too. Conditions of which the question names several values become columns.
        """
        source = self._joined(view, *beside)
        if columns:
            columns = self.shown(columns)
            known = {name for each in (view, *beside) for name in self._columns(each)}
            if lacking := [name for name in self.varied if name not in known]:
                runs = f"SELECT run.model, run.scenario_id, {', '.join(lacking)} FROM run"
                source += f" JOIN ({runs}) USING (model, scenario_id)"
        if self._is_limited and set(_CHOICE) <= set(self._columns(view)):
            source += f" SEMI JOIN temp.{_CHOSEN} USING ({', '.join(_CHOICE)})"
        query = f"SELECT {', '.join(columns) or '*'} FROM {source} {tail}"
        return of_query(self.sql(query, values), view, *beside, "run")

    @functools.cached_property
    def varied(self) -> tuple[str, ...]:
        """Conditions with several values that are not among the keys. Rows that differ only in such a condition need it as a column."""
        rows = list(self.scope.scenarios or ()) if self.scope else []
        return tuple(name for name in _CONDITIONS if len({row[name] for row in rows}) > 1)

    def shown(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Insert the conditions in `varied` after the last key of a target."""
        behind = max((i for i, name in enumerate(columns, 1) if name in KEYS), default=0)
        return (*columns[:behind], *(name for name in self.varied if name not in columns), *columns[behind:])

    @functools.cached_property
    def target(self) -> dict[str, Any]:
        """Keys and conditions of the only target."""
        (keys,) = self.targets
        return keys

    @functools.cached_property
    def targets(self) -> list[dict[str, Any]]:
        """Keys and conditions of every target."""
        keys = ", ".join(f"r.run.{key}" for key in RUN)
        query = f"""
            SELECT t.hardware, {keys}, r.* EXCLUDE (run)
            FROM run AS r JOIN part_support AS t ON t.backend = r.run.backend AND t.precision = r.run.precision
            ORDER BY r.run.model, t.hardware, r.run
        """
        return self.records(query)

    def records(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Return the rows of a query as dictionaries by column name."""
        # A relation would bind the query twice: for the names of its columns, and again to evaluate it.
        cursor = self.execute(query, values)
        columns = [name for name, *_ in cursor.description]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]

    def keep(self, view: str) -> None:
        """Evaluate a view once, and store its rows for later queries."""
        query = "SELECT 1 FROM duckdb_tables() WHERE temporary AND table_name = ?"
        if not self.value(query, [view]):
            self.execute(f"CREATE TEMP TABLE {view} AS SELECT * FROM {view}")

    def value(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Return the first column of the first row of a query, or None if the query returns no row."""
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
