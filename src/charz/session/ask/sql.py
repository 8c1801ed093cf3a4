"""The command that runs a user's SQL, and sessions limited to some models, parts and scenarios."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from charz import sandbox
from charz.schema.errors import CharzError

from .. import interruption
from ..access import Access
from ..answer import Rows, answer, of_arrow
from ..axes import names
from ..core import Core
from ..messages import Messages
from ..parameters import AnyModels, Backend, Batch, Names, Parts, Precision, Sequence_, Text
from ..question import Question, Scope
from . import computed

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    import pyarrow

    from charz.sql.scopes import Varied

    from ..scoped import Scoped


class Sql(Core):
    """SQL queries, and sessions limited to some models, parts and scenarios."""

    @answer()
    def sql(
        self,
        query: Annotated[str, Text("One SQL statement, or - to read it from standard input.")],
        *,
        model: Annotated[Names | None, Text("Models to which the views are limited, separated by commas or by repeating the option.")] = None,
        on: Parts = None,
        batch: Batch = None,
        sequence: Sequence_ = None,
        precision: Precision = None,
        backend: Backend = None,
        timeout: Annotated[float, Text("Time limit in s; 0 disables the limit.", least=0.0)] = 60.0,
        memory: Annotated[str, Text("Memory limit.")] = "4GB",
    ) -> Rows:
        """Run one read-only SQL statement. On the command line, the statement cannot access other files or the network.

        A number is printed with the unit that the column's name ends in. An alias is printed with a unit only if its expression has that unit.

        With a batch, sequence, precision or backend, the views contain that scenario only. With models and parts, the views contain only
        these models and parts, which is much faster in a file of many models.
        """
        sandbox.check_timeout(timeout)
        text = sandbox.one_statement(sandbox.typed(sys.stdin) if query == "-" else query)
        limits = sandbox.Limits(sandbox.memory_byte(memory), timeout)
        narrowing = (text, names(model), names(on), batch, sequence, precision, backend)
        self._say_missing(*narrowing)
        if self.access.engine and (found := self._on_engine(*narrowing, timeout_s=timeout)) is not None:
            return replace(of_arrow(found), bare=computed.columns(text, found.column_names))
        if self.is_guarded:
            self.connection()  # updates a file of an older charz, since the sandbox cannot write
            with sandbox.asked(
                scoped_to,
                (self.path, self.access, self._scope, self._changes, *narrowing),
                text,
                limits,
            ) as answered:
                table = answered.table()
                for line in answered.said:
                    self.messages.warn(line)
                return replace(of_arrow(table, answered.check_time), bare=computed.columns(text, table.column_names))
        sandbox.check_gives_rows(text)
        connection = self._scoped_to(*narrowing)

        @contextlib.contextmanager
        def guard() -> Iterator[None]:
            with interruption.guarded(connection, timeout), interruption.undone(connection):
                yield

        with guard():
            relation = sandbox.held(connection.sql(text))
        names_given = tuple(relation.columns)
        return Rows(names_given, relation, guard=guard, bare=computed.columns(text, names_given))

    def _say_missing(self, text: str, *narrowing: Any) -> None:
        """Report missing precomputed answers if a statement about the whole file reads views that have precomputed answers. The live views are then
        evaluated, which is slow without a WHERE clause, and the tables of precomputed answers contain nulls."""
        from charz.sql import answers

        if any(narrowing) or self._scope != Scope() or self._changes or self.is_live or self.access.engine:
            return
        kept = re.compile(r"\banswer\s*\.\s*\w+")
        words = set(re.findall(r"\w+", kept.sub("", text.lower())))
        at_hand = sorted(r.name for r in self._relations().relations.values() if r.at_hand and r.name in words)
        with contextlib.closing(self.cursor()) as cursor:
            if not (at_hand or kept.search(text.lower())) or answers.is_complete(cursor):
                return
            missing = answers.missing(cursor).count
        if not at_hand:
            self.messages.warn(f"{missing:,} answers are not at hand, their numbers are null: `charz refresh` fills them")
            return
        line = (
            f"{missing:,} answers are not at hand, so {', '.join(at_hand)} is evaluated: `charz refresh` fills them, "
        )
        line += f"answer.{at_hand[0]} has the others"
        (self.messages.remark if "where" in words else self.messages.warn)(line)

    def _scoped_to(self, text: str, *narrowing: Any) -> duckdb.DuckDBPyConnection:
        """Return a connection on which the views that a statement reads are limited to the given values. Omitted values are those of the session."""
        return self._narrowed(*narrowing).prepared(text)

    def _narrowed(
        self,
        models: Sequence[str],
        parts: Sequence[str],
        batch: int | None,
        sequence: int | None,
        precision: str | None,
        backend: str | None,
    ) -> Scoped:
        if batch or sequence or precision or backend:
            one = [batch] if batch else [], [sequence] if sequence else []
            return self.asked(Question(models, parts, *one, [precision] if precision else [], [backend] if backend else []))
        return self.scope(models=models, hardware=parts).whole() if models or parts else self.whole()

    def _on_engine(self, text: str, *narrowing: Any, timeout_s: float) -> pyarrow.Table | None:
        """Run a statement on the session's engine and return the rows. Return None if the statement reads no model, so that DuckDB runs it."""
        from ..engine.remote import Remote

        scoped = self._narrowed(*narrowing)
        assert isinstance(scoped, Remote)
        return scoped.ask(text, timeout_s=timeout_s) if scoped.is_remote(text) else None

    def lazy(self, query: str) -> pl.LazyFrame:
        """Return the rows of a query as a lazy polars frame, which need not fit in memory."""
        self.stays_here("a lazy answer")
        connection = self.whole().prepared(query)
        sandbox.check_is_select(sandbox.one_statement(query))
        with interruption.guarded(connection, timeout_s=0):
            connection.execute(
                f"DESCRIBE {query}"
            ).fetchall()  # fails for a statement that changes rows in a WITH
        return connection.sql(query).pl(lazy=True)

    def scope(
        self, *, models: AnyModels = None, hardware: Parts = None, scenarios: list[int] | tuple[int, ...] = ()
    ) -> Self:
        """Return a session limited to these models, parts and scenarios (by number). An omitted argument limits nothing."""
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


def scoped_to(
    path: Path, access: Access, scope: Scope, changes: Sequence[Varied], *narrowing: Any
) -> duckdb.DuckDBPyConnection:
    """Open a database in the process that runs a user's SQL. Warnings are printed on standard error."""
    messages = Messages(warn=lambda text: print(text, file=sys.stderr))
    return Sql(path, messages=messages, access=Access(access.trust, is_live=access.is_live)).child(scope, changes)._scoped_to(*narrowing)
