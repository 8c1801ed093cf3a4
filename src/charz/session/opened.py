"""Base of a session, which opens, closes and writes the database, and connects to an engine."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from charz.schema import cache, user_file
from charz.schema.errors import CharzError

from .access import Access, database_path
from .answer import Rows
from .messages import Messages
from .question import Scope
from .scoped import Said, Scoped

if TYPE_CHECKING:
    import duckdb

    from charz.sql.answers import Missing
    from charz.sql.installed import Catalog
    from charz.sql.scopes import Ground, Varied
    from charz.sql.scopes import Scope as Extent

    from .engine.endpoint import Endpoint
    from .engine.rows import Manifest
    from .verdicts import Verdict

FILLED_U = 10.0
"""Largest work for which a writing command computes missing answers at hand. [CPU time of ten million empty passes of a Python loop]"""

LIMIT = " LIMIT {top}"
"""End of the ORDER BY clause of a section that can have many rows."""

Section = tuple[str, tuple[str, ...], str]
"""A view, its columns and the order of its rows."""

KEPT_SCOPED = 4
"""Number of connections that are cached for later questions."""


class Opened:
    """A database file, and the models, parts and scenarios to which questions are limited."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        scope: Scope = Scope(),
        messages: Messages | None = None,
        is_guarded: bool = False,
        access: Access = Access(),
        parent: Opened | None = None,
        changes: Sequence[Varied] = (),
    ) -> None:
        self._parent = parent
        self._changes = tuple(changes)
        self.access = access
        self.is_guarded = is_guarded
        """True if SQL comes from an untrusted user and may read the database only."""
        self.path = database_path(path)
        user_file.guard(self.path)
        self._scope = scope
        self.messages = messages or Messages()
        self._opened: tuple[tuple[int, int], duckdb.DuckDBPyConnection] | None = None
        self._scoped: OrderedDict[object, Scoped] = OrderedDict()
        self._answered: dict[str, tuple[Scoped, Said]] = {}
        self._kept_scoped = KEPT_SCOPED
        self._empty: duckdb.DuckDBPyConnection | None = None
        self._of_parent: duckdb.DuckDBPyConnection | None = None
        self._altered: duckdb.DuckDBPyConnection | None = None
        self._ground: Ground | None = None
        self._known: Catalog | None = None
        self._engine: tuple[Endpoint, Manifest] | None = None
        self._verdict: Verdict | None = None
        self._is_lenient = False
        """True if a file with wrong objects may be opened, to diagnose the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and the engine; the next question opens them again."""
        self._lift()
        if self._engine:
            self._engine[0].close()
            self._engine = None
        for scoped in self._scoped.values():
            scoped.close()
        self._scoped.clear()
        self._answered.clear()
        self._known = None
        if self._opened:
            self._opened[1].close()
            self._opened = None
        if self._altered:
            self._altered.close()
            self._altered = None
        if self._empty:
            self._empty.close()
            self._empty = None

    def _lift(self) -> None:
        """Remove the hypothetical changes of parts."""
        from charz.sql import holder

        if self._ground and self._altered:
            holder.lift(self._altered, self._ground)
            self._ground = None

    def connection(self, create: bool = False) -> duckdb.DuckDBPyConnection:
        """Return a read-only connection to the whole file in its current state. Raise `CharzError` where the file does not exist."""
        if self._parent:
            connection = self._parent.connection(create)
            if connection is not self._of_parent:
                self.close()
                self._of_parent = connection
            if not self._changes:
                return connection
            if self._altered is None:
                from charz.sql import holder, scopes

                self._altered = self.cursor()
                known = self._relations()
                self._ground = holder.lay(self._altered, scopes.changed(self._changes), known)
                holder.hold(self._altered, scopes.Scope(ground=self._ground), known=known)
            return self._altered
        if self._opened and self._opened[0] != _state(self.path):
            self.close()
        if self._opened is None:
            from . import interruption, verdicts, workspace

            opened = verdicts.state(self.path)
            connection = workspace.read(self.path, create, self.access)
            try:
                refuses = not self._is_lenient
                self._verdict = workspace.examined(connection, self.path, self.access, refuses, opened)
            except BaseException:
                connection.close()
                raise
            self._tell_of_cache()
            if self.is_guarded:
                interruption.shut(connection)
            if self.access.engine:
                from charz.sql.installed import catalog

                from .engine import remote

                remote.hide(connection, catalog(connection))
            self._opened = (_state(self.path), connection)
        return self._opened[1]

    def remind(self) -> None:
        """Warn about changed rows and objects that charz did not create. Every answer repeats this warning."""
        from . import workspace

        if verdict := (self._parent or self)._verdict:
            for line in workspace.warnings(verdict):
                self.messages.warn(line)

    @property
    def is_live(self) -> bool:
        """True if every answer is evaluated on demand: the user asks for it, or the answers at hand do not come from this user's charz and
        the file is not trusted."""
        owner = self._parent or self
        owner.connection()
        return self.access.is_live or (not self.access.trust and owner._verdict is not None and owner._verdict.unsealed > 0)

    def _tell_of_cache(self) -> None:
        """Report the cached files that were created again, with the reason."""
        for line in cache.said():
            self.messages.warn(line)

    def _relations(self) -> Catalog:
        """Return the catalog of the file's views and maintained tables, read once."""
        from charz.sql.installed import catalog

        if self._parent:
            return self._parent._relations()
        connection = self.connection()
        self._known = self._known or catalog(connection)
        return self._known

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a new cursor on the same file, without scope or changes."""
        return (self._parent or self).connection().cursor()

    def endpoint(self) -> tuple[Endpoint, Manifest]:
        """Return the engine that evaluates this session's models, and the manifest of the rows that it reads.

        Raise `CharzError` if no engine answers, if the engine cannot read the rows, or if the rows differ from the file.
        """
        if self._parent:
            return self._parent.endpoint()
        if self._engine is None:
            from .engine import rows
            from .engine.endpoint import Endpoint
            from .engine.store import Store

            place = self.rows_place()
            store = Store(place)
            found = rows.read(store)
            if found is None:
                next = f"`charz export {place} --for spark` writes them"
                raise CharzError("no rows for the engine", place, next=next)
            connection = self.connection()
            with connection.cursor() as cursor:
                rows.check(found, rows.state(cursor, self._relations()), place)
            endpoint = Endpoint(self.access.engine, store)
            try:
                endpoint.connect(found)
            except BaseException:
                endpoint.close()
                raise
            self._engine = endpoint, found
        return self._engine

    def rows_place(self) -> str:
        """Return the folder of the engine's rows: the folder that the user named, else `FILE.rows`."""
        return self.access.rows or f"{self.path}.rows"

    def stays_here(self, what: str) -> None:
        """Raise `CharzError` in a session with an engine. Call this before changes of the file, also hypothetical ones."""
        if self.access.engine:
            raise CharzError("not available with an engine", what, next="leave out --engine")

    def scoped_on(self, cursor: duckdb.DuckDBPyConnection, scope: Extent | None, keeps_costs: bool = False) -> Scoped:
        """Return a connection whose views are limited to a scope, evaluated by DuckDB or the session's engine."""
        if self.access.engine:
            from .engine.remote import Remote

            endpoint, manifest = self.endpoint()
            return Remote(cursor, scope, self._relations(), endpoint, manifest, self.messages.progress)
        known = self._relations() if scope is not None else None
        return Scoped(
            cursor, scope, known, is_live=self.is_live, keeps_costs=keeps_costs, progress=self.messages.progress
        )

    def writing_files(self) -> duckdb.DuckDBPyConnection:
        """Return a connection that may write files. Raise `CharzError` if a guarded, untrusted file contains foreign views or triggers."""
        if self.is_guarded:
            from . import workspace

            if not self.access.trust:
                workspace.check_own(self.connection(), self.path)
            self.close()
            self.is_guarded = False
        return self.connection()

    def catalog(self) -> duckdb.DuckDBPyConnection:
        """Return a read-only connection to the file, or to a database without models if the file does not exist."""
        if self.path.exists():
            return self.connection()
        if self._empty is None:
            from . import workspace

            self._empty = workspace.empty()
            self._tell_of_cache()
        return self._empty

    @contextlib.contextmanager
    def changing(
        self, create: bool = True, fills: bool = True, is_engine_done: bool = False, repairs: bool = False
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection for one transaction, and replace the file when the block ends without an error.

        At the end, missing answers at hand are computed, unless this takes long. A session with an engine may write only results of the
        engine (`is_engine_done`).
        """
        if not is_engine_done:
            self.stays_here("a change of the file")
        self.close()
        if self._parent:
            self._parent.close()
        from . import workspace

        with workspace.change(self.path, create, self.access, repairs) as connection:
            self._tell_of_cache()
            yield connection
            if fills:
                self._fill(connection)

    def _fill(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Compute missing answers at hand; if this takes long, only those of models that have some. Report those that are still missing."""
        from charz.sql import answers

        every = answers.missing(connection)
        lacking = every if every.work <= FILLED_U else answers.missing(connection, answers.answered(connection))
        filled = lacking.count if lacking.work <= FILLED_U else 0
        if filled:
            self._filled(connection, lacking)
            self.messages.remark(f"{filled:,} answers at hand filled")
        if left := every.count - filled:
            self.messages.remark(f"{left:,} answers at hand are missing: `charz refresh` fills them")

    def _filled(self, connection: duckdb.DuckDBPyConnection, lacking: Missing) -> int:
        """Compute missing answers at hand in the copy of a file that is being changed, show progress, and return the number of answers."""
        from charz.sql import answers

        with self.messages.progress("answers", answers.portion_count(connection, lacking)) as done:
            return answers.fill(connection, lacking, done, commits=True)

    def child(self, scope: Scope, changes: Sequence[Varied] = ()) -> Self:
        """Return a session on the same connection with a narrower scope or hypothetical changes of parts."""
        if changes:
            self.stays_here("a what-if")
        return type(self)(
            self.path,
            scope=scope,
            messages=self.messages,
            is_guarded=self.is_guarded,
            access=self.access,
            parent=self._parent or self,
            changes=(*self._changes, *changes),
        )

    def whole(self) -> Scoped:
        """Return a connection whose views cover the session's scope."""
        connection = self.connection()
        if self._scope not in self._scoped:
            self._keep(self._scope, self._whole(connection))
        return self._scoped[self._scope]

    def _whole(self, connection: duckdb.DuckDBPyConnection) -> Scoped:
        from charz.sql import answers, scopes

        models, parts, numbers = self._scope.models, self._scope.hardware, self._scope.scenarios
        if self._scope == Scope():
            cursor = connection if self._changes else self.cursor()
            if self.access.engine:
                return self.scoped_on(cursor, None)
            if not self._changes and not self.is_live and answers.is_complete(cursor):
                answers.show(cursor, self._relations(), answers.STORED)
            return Scoped(cursor)
        rows = scopes.scenario_rows(connection, numbers) if numbers else None
        scope = scopes.Scope(
            models=list(models) or None,
            hardware=list(parts) or None,
            scenarios=rows,
            stored=numbers,
            ground=self._ground,
        )
        return self.scoped_on(self.cursor(), scope)

    def _keep(self, key: object, scoped: Scoped) -> None:
        self._scoped[key] = scoped
        while len(self._scoped) > self._kept_scoped:
            _, oldest = self._scoped.popitem(last=False)
            oldest.close()
            self._answered = {asked: known for asked, known in self._answered.items() if known[0] is not oldest}

    def listed(
        self, scoped: Scoped, section: Section, top: int, of: str, beside: Sequence[str] = (), **named: str
    ) -> Rows:
        """Return the rows of a section. If the section's order ends in a limit, return the first `top` rows and report the number of other rows."""
        view, columns, order = section
        found = scoped.rows(view, columns, order.removesuffix(LIMIT).format(**named), beside=beside)
        return self.cut(found, top, of) if order.endswith(LIMIT) else found

    def cut(self, found: Rows, top: int, of: str = "rows") -> Rows:
        """Return the first `top` rows of an answer, and report the number of other rows."""
        frame = found.frame()
        if len(frame) > top:
            self.messages.warn(f"left out: {len(frame) - top} further {of}; --top {len(frame)} lists all")
        return replace(found, source=frame.head(top))

    def texts(self, views: Sequence[str]) -> dict[str, str]:
        """Return the description of each column of some views. If several views have a column, the first view applies."""
        query = "SELECT column_name, description FROM view_column WHERE view = ?"
        found: dict[str, str] = {}
        for view in reversed(views):
            found.update(self.catalog().execute(query, [view]).fetchall())
        return found


def _state(path: Path) -> tuple[int, int]:
    """Return the inode and the time of change of a file."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns
