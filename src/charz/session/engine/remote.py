"""Connection whose model views are evaluated on another engine.

DuckDB reads the file, limits facts and maintained tables to a question, and runs statements that read no model view. A statement that reads
a model view is translated into Spark's dialect, preceded by the views that it depends on, and run on the engine over the exported rows. Rows
that the export lacks (runs of scenarios outside the file, copies of parts) are sent as parquet. In DuckDB, a view that raises an error
replaces each model view, so that DuckDB never evaluates it.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from charz.schema import ddl
from charz.schema.errors import CharzError
from charz.sql import answers, evaluate, spark
from charz.sql.installed import column_names
from charz.sql.keys import TARGET, place
from charz.sql.layers import COST, HARDWARE, MODELS, REPORT, ROLLUP, WORKLOAD
from charz.sql.scopes import Scope, listed

from ..messages import Progress, no_progress
from ..scoped import Scoped, _words
from . import rows
from .endpoint import Endpoint, Refusal

if TYPE_CHECKING:
    import duckdb
    import pyarrow

    from charz.sql.installed import Catalog

    from .rows import Manifest

_ANSWER = "answer_row"
"""Name that a statement uses for the rows of answers."""

_ARRIVING = "arriving_row"
"""Temporary name of rows that arrive from the engine."""


def hide(connection: duckdb.DuckDBPyConnection, known: Catalog) -> None:
    """Replace every model of a connection by a view that raises an error."""
    query = "SELECT view, LIST((column_name, type) ORDER BY position) FROM view_column GROUP BY view"
    columns = dict(connection.execute(query).fetchall())
    for relation in known.of(*MODELS):
        text = ddl.literal(f"{relation.name} {HIDDEN}")
        made = ", ".join(f"CAST(error({text}) AS {kind}) AS {ddl.quote(name)}" for name, kind in columns[relation.name])
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {ddl.quote(relation.name)} AS SELECT {made} FROM range(1)")


HIDDEN = "is evaluated on the engine only: ask this question without --engine"
"""DuckDB's error about a model in a session with an engine."""


class Remote(Scoped):
    """A connection for one question, whose model views are evaluated on an engine."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        scope: Scope | None,
        known: Catalog,
        engine: Endpoint,
        manifest: Manifest,
        progress: Progress = no_progress,
    ) -> None:
        super().__init__(connection, scope, known, is_live=True, progress=progress)
        self._known, self._engine, self._manifest = known, engine, manifest
        self._models = {model.name for model in known.of(*MODELS)}
        self._kept: set[str] = set()
        """Names of model views whose rows are stored in DuckDB."""
        self._brought: dict[str, str] = {}
        """Files of rows that were sent for this question, by relation."""
        self._answered: dict[str, str] | None = None
        """Query for the answers of each relation; None until the answers are evaluated."""
        hide(connection, known)

    # Statements

    def execute(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Run a statement of charz, in DuckDB if the statement reads no model view, else on the engine."""
        return self.sql(query, values) if self._is_remote(query) else super().execute(query, values)

    def sql(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Return the result of a query of charz, evaluated on the engine if the query reads a model view."""
        if not self._is_remote(query):
            return super().sql(query, values)
        return self._connection.from_arrow(self.ask(query, values))

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """Not available: access raises `CharzError`, since an engine evaluates the models."""
        raise CharzError("not available with an engine", "an engine evaluates the models", next="ask it without --engine")

    def keep(self, view: str) -> None:
        """Evaluate a view once for several later questions."""
        if view not in self._kept:
            self._connection.register(_ARRIVING, self.ask(f"SELECT * FROM {view}"))
            self._connection.execute(f"DROP VIEW temp.{ddl.quote(view)}")
            self._connection.execute(f"CREATE TEMP TABLE {ddl.quote(view)} AS SELECT * FROM {_ARRIVING}")
            self._connection.unregister(_ARRIVING)
            self._kept.add(view)

    def is_remote(self, query: str) -> bool:
        """Return True if a statement itself reads a model."""
        return self._is_remote(query)

    def _is_remote(self, query: str) -> bool:
        return bool(_words(query) & (self._models - self._kept))

    def _prepare(self, names: Iterable[str]) -> None:
        """Scope some relations of the file."""
        if self.scope is not None:
            self._hold(set(names) - self._models)

    def ask(self, query: str, values: Sequence[Any] = (), timeout_s: float = 0.0) -> pyarrow.Table:
        """Return the rows of a query, evaluated on the engine."""
        asked = spark.query(_filled(query, values), self._every)
        at_hand = {name for name in asked.reads if name in self._models and self._known.relations[name].at_hand}
        if self._answered is None and any(answers.covers(self._known, n, self._has_runs) for n in at_hand):
            self._answer(timeout_s)
        models = [name for name in asked.reads if name in self._models]
        return self._run(asked, self.scope, timeout_s, self._pins(models, self.scope, timeout_s))

    @functools.cached_property
    def _every(self) -> frozenset[str]:
        from charz.schema import database

        return frozenset({*self._known.relations, *(t.TABLE for t in database.TABLES)})

    @functools.cached_property
    def _has_runs(self) -> bool:
        """True if the file has all runs of the scope."""
        rows = self.scope.scenarios if self.scope else None
        return rows is None or all(row["scenario_id"] in self.scope.stored for row in rows)  # type: ignore[union-attr]

    def _run(
        self,
        asked: spark.Query,
        scope: Scope | None,
        timeout_s: float = 0.0,
        pins: Mapping[str, str] = {},
    ) -> pyarrow.Table:
        answered = self._answered or {}
        ends = {*answered, *pins}
        wanted = spark.needed(asked.reads, self._known, ends)
        given = {name: text for name, text in (answered | dict(pins)).items() if name in wanted}
        given |= {name: self._source(name, scope) for name in sorted(wanted - ends)}
        columns = {**self._columns_of, **{name: self._file_columns(name) for name in asked.reads}}
        columns |= {name: self._file_columns(name) for name in wanted if name not in columns}
        statement = spark.composed(asked, self._known, columns, given, self._engine.texts)
        try:
            return self._engine.run(statement, timeout_s)
        except Refusal as error:
            raise self._refused(asked, given, columns, str(error)) from error

    def _refused(
        self, asked: spark.Query, given: Mapping[str, str], columns: Mapping[str, Sequence[str]], said: str
    ) -> CharzError:
        """Return an error that names the view that the engine refuses, or the statement if the engine accepts each view."""
        upstream = self._known.upstream(asked.reads, given)
        line = said.splitlines()[0][:300] if said else ""
        for model in self._known.of(*MODELS):
            if model.name in upstream and model.name not in given:
                one = spark.query(f"SELECT * FROM {model.name}", self._every)
                if reason := self._engine.refuses(spark.composed(one, self._known, columns, given, self._engine.texts)):
                    return CharzError("the engine refuses a view", model.name, reason, "ask without --engine")
        return CharzError("the engine refuses the statement", "", line, "ask without --engine, or rewrite it")

    @functools.cached_property
    def _columns_of(self) -> dict[str, Sequence[str]]:
        return {name: relation.columns for name, relation in self._known.relations.items()}

    def _file_columns(self, name: str) -> Sequence[str]:
        found = column_names(self._connection, name)
        if found:
            return found
        return [column for column, *_ in self._connection.execute(f"DESCRIBE {ddl.quote(name)}").fetchall()]

    # Rows

    def _source(self, name: str, scope: Scope | None) -> str:
        """Return the query for the rows of a relation that the model views read, limited to a scope."""
        columns = self._file_columns(name)
        limits = self._limits(columns, scope)
        if self._is_brought(name, columns):
            view = self._engine.view([self._bring(name)])
        else:
            models = scope.models if scope is not None else None
            files = rows.files_of(self._manifest, name, models)
            if not files:
                files = self._manifest.files[name][:1]
                limits.append("FALSE")
            view = self._engine.view([file.name for file in files])
        return f"SELECT * FROM {view}" + (f" WHERE {' AND '.join(limits)}" if limits else "")

    @staticmethod
    def _limits(columns: Sequence[str], scope: Scope | None) -> list[str]:
        if scope is None:
            return []
        numbers = None if scope.scenarios is None else [row["scenario_id"] for row in scope.scenarios]
        asked = {"model": scope.models, "hardware": scope.hardware, "scenario_id": numbers}
        places = {name: place(columns, name) for name in asked}
        return [f"{places[name]} IN {listed(v)}" for name, v in asked.items() if v is not None and places[name]]

    def _is_brought(self, name: str, columns: Sequence[str]) -> bool:
        """Return True if the export lacks rows of a relation that the question needs."""
        if name not in self._manifest.files:
            return True
        scope = self.scope
        if scope is None:
            return False
        relation = self._known.relations.get(name)
        layer = relation.layer if relation else ""
        if scope.copies and ("hardware" in columns or layer == HARDWARE or "scope" in columns):
            return True
        if scope.targets is not None and {"hardware", "backend", "precision"} <= set(columns) and layer == HARDWARE:
            return True
        if scope.scenarios is None:
            return False
        is_of_runs = name == "scenario" or layer == WORKLOAD
        return is_of_runs and (not self._has_runs or place(columns, "model") is None)

    def _bring(self, name: str) -> str:
        if name not in self._brought:
            if self.scope is not None:
                self._hold({name})
            table = self._connection.sql(f"SELECT * FROM {ddl.quote(name)}").to_arrow_table()
            self._brought[name] = self._engine.bring(table)
        return self._brought[name]

    # Answers that several relations share

    def _answer(self, timeout_s: float = 0.0) -> None:
        """Evaluate the answers at hand of every run on every part in portions; reports are queries of these rows."""
        files = []
        scope = self.scope or Scope()
        portions = list(evaluate.portions(self._connection, scope, answers.names(self._known)))
        with self._progress("answers", len(portions)) as done:
            for portion in portions:
                files.append(self._engine.bring(self.answers_of(portion, timeout_s)))
                done(evaluate.about(portion))
        view = f"(SELECT * FROM {self._engine.view(files)})"
        self._answered = {
            name: spark.words(text).replace(_ANSWER, view)
            for name, text in answers.taken(self._known, _ANSWER)
            if answers.covers(self._known, name, self._has_runs)
        }

    def answers_of(self, portion: Scope, timeout_s: float = 0.0) -> pyarrow.Table:
        """Evaluate the rows at hand of a portion of the scope; relations read several times are evaluated once."""
        kept = answers.names(self._known)
        asked = spark.query(answers.evaluation(self._known), self._every)
        return self._run(asked, portion, timeout_s, self._pins(kept, portion, timeout_s))

    def _pins(self, wanted: Collection[str], scope: Scope | None, timeout_s: float) -> dict[str, str]:
        """Evaluate each relation that several wanted views read, send the rows to the engine, and return queries for these rows. Otherwise the
        engine would evaluate the relation again for each reader. If there are many kernels, relations with rows of kernels are excluded, since
        transferring their rows takes too long."""
        answered = self._answered or {}
        held = {*spark.needed(wanted, self._known, answered), *answered}
        is_narrow = evaluate.kernel_count(self._connection, scope or Scope()) <= evaluate.NARROW
        layers = MODELS if is_narrow else (COST, ROLLUP, REPORT)
        pins: dict[str, str] = {}
        for name, _ in evaluate.pins(self._known, wanted, layers, is_narrow, held):
            if not is_narrow and set(self._known.relations[name].grain) - set(TARGET):
                continue
            # All columns, since a model's text names each column of a star.
            found = self._run(spark.query(f"SELECT * FROM {name}", self._every), scope, timeout_s, pins)
            pins[name] = f"SELECT * FROM {self._engine.view([self._engine.bring(found)])}"
        return pins


def _filled(query: str, values: Sequence[Any]) -> str:
    """Replace the parameters of a query by their values."""
    if not values:
        return query
    pieces = query.split("?")
    if len(pieces) != len(values) + 1:
        raise ValueError("as many values as places")
    return "".join(piece + text for piece, text in zip(pieces, [*map(_literal, values), ""], strict=True))


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return ddl.literal(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return "NULL" if value is None else str(value)
