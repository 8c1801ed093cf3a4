"""Questions in SQL, and what views and tables hold."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from charz import sandbox
from charz.schema.errors import CharzError, unknown_name
from charz.schema.units import UNITS, ending

from . import interruption
from .answer import Rows, answer, of_arrow
from .axes import names
from .core import Core, Question, Scope
from .parameters import AnyModels, Backend, Batch, Names, Parts, Precision, Sequence_, Text
from .voice import Voice

if TYPE_CHECKING:
    import duckdb
    import polars as pl

    from charz.sql.narrow import Change

_VIEWS = "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'"
_TABLES = "SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main'"
_COLUMNS = "SELECT column_name, data_type, comment FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = ?"


class Queries(Core):
    """SQL, and the texts of what it can read."""

    @answer()
    def sql(
        self,
        query: Annotated[str, Text("One SQL statement, or - to read it from standard input.")],
        *,
        model: Annotated[Names | None, Text("Models the views answer for, again for each or with commas.")] = None,
        on: Parts = None,
        batch: Batch = None,
        sequence: Sequence_ = None,
        precision: Precision = None,
        backend: Backend = None,
        timeout: Annotated[float, Text("Seconds after which it is stopped; 0 for none.", least=0.0)] = 60.0,
        memory: Annotated[str, Text("Memory it may use.")] = "4GB",
    ) -> Rows:
        """Ask the database in SQL: one statement, read only; from the command line kept away from files and network.

        With a batch, sequence, precision or backend the views answer for that one scenario, with a model and parts for these
        alone: in a file of many models that takes a fraction of the time.
        """
        text = sandbox.one_statement(sys.stdin.read() if query == "-" else query)
        limits = sandbox.Limits(sandbox.memory_byte(memory), timeout)
        narrowing = (names(model), names(on), batch, sequence, precision, backend)
        if self.is_guarded:
            self.connection()  # brings a file of another charz up to this one: the other process cannot write
            with sandbox.asked(
                narrowed_to, (self.path, self._scope, self._changes, *narrowing), text, limits
            ) as answered:
                table = answered.table()
                for line in answered.said:
                    self.voice.warn(line)
                return of_arrow(table, answered.check_time)
        connection = self._narrowed_to(*narrowing)

        def guard() -> contextlib.AbstractContextManager[None]:
            return interruption.guarded(connection, timeout)

        with guard():
            relation: duckdb.DuckDBPyRelation | None = connection.sql(text)
        if relation is None:
            next = "charz only reads in SQL; change rows with a DuckDB client"
            raise CharzError("the statement gives no rows", text, next=next)
        relation = sandbox.held(relation)
        return Rows(tuple(relation.columns), relation, guard=guard)

    def _narrowed_to(
        self,
        models: Sequence[str],
        parts: Sequence[str],
        batch: int | None,
        sequence: int | None,
        precision: str | None,
        backend: str | None,
    ) -> duckdb.DuckDBPyConnection:
        """A connection whose views answer for these alone; what is left open is as the session has it."""
        if batch or sequence or precision or backend:
            one = [batch] if batch else [], [sequence] if sequence else []
            asked = Question(models, parts, *one, [precision or "fp32"], [backend] if backend else [])
            return self.asked(asked).connection
        if models or parts:
            return self.scope(models=models, hardware=parts).whole().connection
        return self.whole().connection

    def lazy(self, query: str) -> pl.LazyFrame:
        """Ask the database in SQL, for an answer that need not fit in memory: a lazy polars frame, read as it is used."""
        return self.whole().connection.sql(query).pl(lazy=True)

    @answer()
    def describe(self, query: Annotated[str, Text("A query, or the name of a view or table.")]) -> Rows:
        """Say of each column of a query its type, its unit and what it holds, where a view or table says so."""
        narrowed = self.whole()
        text = f"SELECT * FROM {query}" if query.isidentifier() else query
        with _named():
            relation = narrowed.connection.sql(text)
        meanings = _meanings(narrowed.connection, text)
        rows = []
        for name, kind in zip(relation.columns, relation.types, strict=True):
            meaning = meanings.get(name)
            unit = UNITS.get(ending(name)) or ("fraction" if name.endswith("_fraction") else None)
            rows.append((name, str(kind), unit, meaning))
        return Rows(("column", "type", "unit", "meaning"), rows)

    @answer()
    def schema(self, name: Annotated[str | None, Text("View or table; without one, all are listed.")] = None) -> Rows:
        """List every view and table, or the columns of one with units and meaning."""
        connection = self.connection()
        if name is None:
            query = "SELECT layer, view, description FROM view_catalog ORDER BY layer, view"
            found = connection.execute(query).fetchall()
            views = {name for _, name, _ in found}
            tables = [("table", *row) for row in sorted(connection.execute(_TABLES).fetchall()) if row[0] not in views]
            rows = [(layer, name, _first_sentence(text or "")) for layer, name, text in [*found, *tables]]
            return Rows(("layer", "name", "holds"), rows)
        known = dict([*connection.execute(_VIEWS).fetchall(), *connection.execute(_TABLES).fetchall()])
        if name not in known:
            raise unknown_name("view or table", name, known, "`charz schema` lists them")
        self.voice.remark(f"{name}: {known[name] or ''}")
        return Rows(
            ("column", "type", "holds"), connection.execute(f"{_COLUMNS} ORDER BY column_index", [name]).fetchall()
        )

    def scope(
        self, *, models: AnyModels = None, hardware: Parts = None, scenarios: list[int] | tuple[int, ...] = ()
    ) -> Self:
        """A session about these models, parts and scenarios of the file (by number) alone; what is left out stays open."""
        numbers = tuple(sorted(set(scenarios) or self._scope.scenarios))
        known = {i for (i,) in self.connection().execute("SELECT scenario_id FROM scenario").fetchall()}
        for number in numbers:
            if number not in known:
                raise CharzError(
                    "unknown scenario", str(number), f"there are {len(known)}", "`db.scenario.list()` shows them"
                )
        chosen = tuple(self.model_name(name) for name in names(models)) or self._scope.models
        parts = tuple(self.part_name(name) for name in names(hardware)) or self._scope.hardware
        return self.child(Scope(chosen, parts, numbers))


def narrowed_to(path: Path, scope: Scope, changes: Sequence[Change], *narrowing: Any) -> duckdb.DuckDBPyConnection:
    """Opens a database for the process in which anybody's SQL runs; what is left out is said on standard error."""
    voice = Voice(warn=lambda text: print(text, file=sys.stderr))
    return Queries(path, voice=voice).child(scope, changes)._narrowed_to(*narrowing)


def _meanings(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    """What the columns of a query hold: those it passes on under their own names from what it reads."""
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(query, dialect="duckdb")
    read = dict.fromkeys(table.name for table in tree.find_all(exp.Table))
    known: dict[str, str] = {}
    for name in reversed(read):
        known.update({column: text for column, _, text in connection.execute(_COLUMNS, [name]).fetchall() if text})
    for select in tree.find_all(exp.Select):
        for item in select.expressions:
            if isinstance(item, exp.Alias) and isinstance(item.this, exp.Column) and item.this.name in known:
                known.setdefault(item.alias, known[item.this.name])
            elif isinstance(item, exp.Alias):
                known.pop(item.alias, None)
    return known


@contextlib.contextmanager
def _named() -> Iterator[None]:
    """Errors of a query as one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise sandbox.query_failed(error) from error


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")
