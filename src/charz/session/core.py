"""The session's core: it opens the file, keeps the scope, and narrows views to a question."""

from __future__ import annotations

import contextlib
import re
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from charz.schema import cache, user_file
from charz.schema.errors import CharzError, some, unknown_name

from . import releases
from .access import Access, database_path
from .answer import Rows
from .axes import check_size
from .messages import Messages
from .scoped import Said, Scoped

if TYPE_CHECKING:
    import duckdb

    from charz.sql.answers import Missing
    from charz.sql.evaluate import Ground, Triple, Varied
    from charz.sql.evaluate import Scope as Extent
    from charz.sql.installed import Catalog

    from .engine.endpoint import Endpoint
    from .engine.rows import Manifest

SINGLE = "fp32"
"""Single precision. A question that names no precision gets what the backend computes fp32 in by default."""

PREFERRED_PRECISIONS = (SINGLE, "bf16", "fp16", "int8")
"""Precision policies to try where a question names none: a part takes the first one that it computes in. Those of its family
(`hardware_family.assumed_precision`) come first."""

COSTED_TARGETS = 200
"""Largest number of targets for which the views of a question share one evaluation of the costs. More targets are streamed."""

FILLED_U = 10.0
"""Largest work for which a writing command fills missing answers. [CPU time of ten million empty passes of a Python loop]"""

SAID_PARTS = 3
"""Number of parts that a message names before it counts the rest."""

DEFAULT_MODE = "default"
"""Name of a part's default power mode."""

LIMIT = " LIMIT {top}"
"""End of a section's order where its list may be long."""

Section = tuple[str, tuple[str, ...], str]
"""A view, its columns and the order of its rows."""

KEPT_SCOPED = 4
"""Number of scoped connections that are kept for the next question."""


@dataclass(frozen=True, slots=True)
class Question:
    """Axes of a question; an empty axis takes the defaults."""

    models: Sequence[str] = ()
    hardware: Sequence[str] = ()
    batches: Sequence[int] = ()
    sequences: Sequence[int] = ()
    precisions: Sequence[str] = ()
    backends: Sequence[str] = ()
    caps: Sequence[str] = ()
    """Power modes by name, or limits such as `150w`; empty means each part's default."""
    every_backend: bool = False
    """True if, without `backends`, a part takes every backend that runs on it except unfused counterparts, not the assumed one alone."""
    is_as_run: bool = False
    """True if a precision's default backend (`default_backend`) replaces every backend where a row names one."""
    with_counterparts: bool = False
    """True if `every_backend` includes unfused counterparts."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Further columns of every scenario."""
    runs: Sequence[Mapping[str, Any]] = ()
    """Runs as columns of a scenario. They replace the product of batches and sequences."""
    preferred: Sequence[str] = PREFERRED_PRECISIONS
    """Policies to try without `precisions`, after those that the family assumes. A server of language models tries these alone."""
    is_first: bool = True
    """True if, without `precisions`, a part takes the first policy only."""
    is_as_stored: bool = False
    """True if, without `precisions`, a model takes the policy of its checkpoint, where all models of the question have the same."""
    is_strict: bool = False
    """True if a preferred fp32 means fp32, not the backend's default for it."""
    serves: bool = False
    """True if, without `backends`, a part takes a server of language models where one runs on it."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Models, parts and scenarios of a session; an empty field means all."""

    models: tuple[str, ...] = ()
    hardware: tuple[str, ...] = ()
    scenarios: tuple[int, ...] = ()
    """Ids of stored scenarios, for questions that name no conditions."""


class Core:
    """A database file and the scope of the questions about it."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        scope: Scope = Scope(),
        messages: Messages | None = None,
        is_guarded: bool = False,
        access: Access = Access(),
        parent: Core | None = None,
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
        self._empty: duckdb.DuckDBPyConnection | None = None
        self._of_parent: duckdb.DuckDBPyConnection | None = None
        self._altered: duckdb.DuckDBPyConnection | None = None
        self._ground: Ground | None = None
        self._known: Catalog | None = None
        self._engine: tuple[Endpoint, Manifest] | None = None
        self._of_file: list[str] = []
        self._is_lenient = False
        """Whether a file is opened of which answers could be wrong: to say why."""

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
        from charz.sql import evaluate

        if self._ground and self._altered:
            evaluate.lift(self._altered, self._ground)
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
                from charz.sql import evaluate

                self._altered = self.cursor()
                known = self._relations()
                self._ground = evaluate.lay(self._altered, evaluate.changed(self._changes), known)
                evaluate.hold(self._altered, evaluate.Scope(ground=self._ground), known=known)
            return self._altered
        if self._opened and self._opened[0] != _state(self.path):
            self.close()
        if self._opened is None:
            from . import interruption, verdicts, workspace

            opened = verdicts.state(self.path)
            connection = workspace.read(self.path, create, self.access)
            try:
                refuses = not self._is_lenient
                self._of_file = workspace.examined(connection, self.path, self.access, refuses, opened)
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
        """Warn about the file, as for every answer: changed shipped rows, and objects that charz did not create."""
        for line in (self._parent or self)._of_file:
            self.messages.warn(line)

    def _tell_of_cache(self) -> None:
        """Report which kept files were made anew, and why."""
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

        Raise `CharzError` where no engine answers, where it does not see the rows, or where they differ from the file.
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
        """Return the folder of the engine's rows: the one named, else `FILE.rows`."""
        return self.access.rows or f"{self.path}.rows"

    def stays_here(self, what: str) -> None:
        """Raise `CharzError` in a session with an engine, for what changes the file or supposes a change."""
        if self.access.engine:
            raise CharzError("not available with an engine", what, next="leave out --engine")

    def scoped_on(self, cursor: duckdb.DuckDBPyConnection, scope: Extent | None, keeps_costs: bool = False) -> Scoped:
        """Return a connection whose views answer for a scope, evaluated here or on the session's engine."""
        if self.access.engine:
            from .engine.remote import Remote

            endpoint, manifest = self.endpoint()
            return Remote(cursor, scope, self._relations(), endpoint, manifest, self.messages.progress)
        known = self._relations() if scope is not None else None
        return Scoped(
            cursor, scope, known, is_live=self.access.is_live, keeps_costs=keeps_costs, progress=self.messages.progress
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

        Missing answers at hand are then filled, unless that takes long. A session with an engine writes only what the engine has computed
        (`is_engine_done`).
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
        """Fill missing answers at hand, or tell the user that it takes long."""
        from charz.sql import answers

        lacking = answers.missing(connection)
        if lacking.work > FILLED_U:
            self.messages.remark(f"{lacking.count:,} answers at hand are missing: `charz refresh` fills them")
        elif lacking.count:
            self._filled(connection, lacking)
            self.messages.remark(f"{lacking.count:,} answers at hand filled")

    def _filled(self, connection: duckdb.DuckDBPyConnection, lacking: Missing) -> int:
        """Fill missing answers in the caller's transaction, show progress, and return their number."""
        from charz.sql import answers

        with self.messages.progress("answers", answers.portion_count(connection, lacking)) as done:
            return answers.fill(connection, lacking, done)

    def child(self, scope: Scope, changes: Sequence[Varied] = ()) -> Self:
        """Return a session on this connection with a narrower scope or hypothetical changes of parts."""
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

    def scope_of(self, model: str, parts: Sequence[str]) -> Scope:
        """Return the session's scope narrowed to one model and to these parts, if any."""
        chosen = tuple(self.part_name(name) for name in parts) or self._scope.hardware
        return Scope((model,), chosen, self._scope.scenarios)

    def whole(self) -> Scoped:
        """Return a connection whose views cover the session's scope."""
        connection = self.connection()
        if self._scope not in self._scoped:
            self._keep(self._scope, self._whole(connection))
        return self._scoped[self._scope]

    def _whole(self, connection: duckdb.DuckDBPyConnection) -> Scoped:
        from charz.sql import answers, evaluate

        models, parts, numbers = self._scope.models, self._scope.hardware, self._scope.scenarios
        if self._scope == Scope():
            cursor = connection if self._changes else self.cursor()
            if self.access.engine:
                return self.scoped_on(cursor, None)
            if not self._changes and not self.access.is_live and answers.is_complete(cursor):
                answers.show(cursor, self._relations(), answers.STORED)
            return Scoped(cursor)
        rows = evaluate.scenario_rows(connection, numbers) if numbers else None
        scope = evaluate.Scope(
            models=list(models) or None,
            hardware=list(parts) or None,
            scenarios=rows,
            stored=numbers,
            ground=self._ground,
        )
        return self.scoped_on(self.cursor(), scope)

    def _keep(self, key: object, scoped: Scoped) -> None:
        self._scoped[key] = scoped
        while len(self._scoped) > KEPT_SCOPED:
            _, oldest = self._scoped.popitem(last=False)
            oldest.close()
            self._answered = {asked: known for asked, known in self._answered.items() if known[0] is not oldest}

    def listed(
        self, scoped: Scoped, section: Section, top: int, of: str, beside: Sequence[str] = (), **named: str
    ) -> Rows:
        """Return the rows of a section. Where its order ends in a limit, cut them and report how many are left out."""
        view, columns, order = section
        found = scoped.rows(view, columns, order.removesuffix(LIMIT).format(**named), beside=beside)
        return self.cut(found, top, of) if order.endswith(LIMIT) else found

    def cut(self, found: Rows, top: int, of: str = "rows") -> Rows:
        """Return the first rows of an answer, and report how many are left out."""
        frame = found.frame()
        if len(frame) > top:
            self.messages.warn(f"left out: {len(frame) - top} further {of}; --top {len(frame)} lists all")
        return replace(found, source=frame.head(top))

    def texts(self, views: Sequence[str]) -> dict[str, str]:
        """Return the description of each column of some views; the first view wins where several have a column."""
        query = "SELECT column_name, description FROM view_column WHERE view = ?"
        found: dict[str, str] = {}
        for view in reversed(views):
            found.update(self.catalog().execute(query, [view]).fetchall())
        return found

    def model_name(self, name: str) -> str:
        """Return the name of an ingested model. Raise `CharzError` with similar names for an unknown one."""
        known = self._names("model")
        if name in known:
            return name
        raise unknown_name("model", name, known, f"`charz ingest {name}` adds it, `charz models` lists what is there")

    def _check_computes(self, models: Sequence[str]) -> None:
        """Raise `CharzError` for a named model without kernels; without names, report all such models of the file."""
        query = "SELECT model FROM model ANTI JOIN kernel USING (model) ORDER BY model"
        idle = [name for (name,) in self.connection().execute(query).fetchall()]
        asked = [name for name in models if name in idle]
        if asked:
            next = "leave it out, or ingest what computes"
            raise CharzError("a model without operators has no answers", ", ".join(asked), next=next)
        if idle and not models:
            self.messages.warn(f"left out: {', '.join(idle)}, which have no operators")

    def part_name(self, name: str) -> str:
        """Return a part's id by any of its names. Raise `CharzError` with similar names for an unknown one."""
        from charz.hardware_catalog import names

        part = names.resolve(self.connection(), name)
        if self._scope.hardware and part not in self._scope.hardware:
            raise unknown_name("part", part, self._scope.hardware, "the session is scoped to these")
        return part

    def _names(self, table: str) -> list[str]:
        scoped = self._scope.models if table == "model" else self._scope.hardware
        query = f"SELECT {table} FROM {table} ORDER BY 1"
        return list(scoped) or [name for (name,) in self.connection().execute(query).fetchall()]

    def check_run(self, backends: Sequence[str], precisions: Sequence[str]) -> None:
        """Raise `CharzError` for an unknown backend or precision policy."""
        known = {"precision": "SELECT DISTINCT policy FROM precision_policy", "backend": "SELECT backend FROM backend"}
        for kind, given in (("precision", precisions), ("backend", backends)):
            names = [name for (name,) in self.connection().execute(known[kind]).fetchall()]
            for name in given:
                if name not in names:
                    raise unknown_name(kind, name, names)

    def _stored(self, models: Sequence[str], question: Question) -> tuple[str, ...]:
        """Return the precision policies of the models' checkpoint if all have the same, in the order in which a part tries them. A part
        without fp8 reads fp8 weights and computes in 16 bits."""
        if not question.is_as_stored:
            return ()
        query = "SELECT any_value(stored_policy) FROM model WHERE list_contains(?, model)"
        ((stored,),) = self.connection().execute(query, [list(models)]).fetchall()
        if stored is None:
            return ()
        return (stored, "w8a16") if stored == "fp8" else (stored,)

    def _released(self, parts: Sequence[str], question: Question, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Give the runs of servers versions that have numbers: the nearest to the one asked for, and on AMD parts the newest of their builds.
        Report them."""
        if not question.serves and not any(run.get("engine_version") for run in runs):
            return runs
        vendors = "SELECT DISTINCT vendor FROM hardware WHERE list_contains(?, hardware)"
        is_amd = self.connection().execute(vendors, [list(parts)]).fetchall() == [("amd",)]
        usual = """
            SELECT DISTINCT s.backend FROM backend_support AS s INNER JOIN backend AS b USING (backend)
            WHERE b.serves AND s.vendor = 'amd' AND s.is_default
        """
        backends = list(question.backends) or [name for (name,) in self.connection().execute(usual).fetchall() if is_amd]
        if len(backends) != 1:
            return runs
        query = "SELECT engine_version FROM engine_version WHERE backend = ?"
        known = [version for (version,) in self.connection().execute(query, backends).fetchall()]
        named: dict[str | None, str | None] = {}
        for version in {run.get("engine_version") for run in runs}:
            if version is None:
                named[version] = releases.newest(known, is_amd=True) if is_amd else None
            elif version not in known:
                named[version] = releases.nearest(version, known, is_amd=is_amd)
            if named.get(version):
                asked = version or "no version asked for"
                self.messages.remark(f"{asked}: {backends[0]} {named[version]} is the nearest with numbers")
        return [{**run, "engine_version": named.get(run.get("engine_version")) or run.get("engine_version")} for run in runs]

    def _check_engines(self, backends: Collection[str], runs: Sequence[Mapping[str, Any]]) -> None:
        """Raise `CharzError` for a version that none of the backends has, and for an unknown precision of keys and values."""
        if wanted := {run["engine_version"] for run in runs if run.get("engine_version")}:
            query = "SELECT engine_version FROM engine_version WHERE list_contains(?, backend) ORDER BY ALL"
            known = [name for (name,) in self.connection().execute(query, [sorted(backends)]).fetchall()]
            for name in sorted(wanted.difference(known)):
                raise unknown_name(f"version of {', '.join(sorted(backends))}", name, known)
        if kept := {run["kv_precision"] for run in runs if run.get("kv_precision")}:
            known = [name for (name,) in self.connection().execute("SELECT precision FROM precision").fetchall()]
            for name in sorted(kept.difference(known)):
                raise unknown_name("precision", name, known)

    def _check_caps(self, parts: Sequence[str], caps: Sequence[str]) -> None:
        """Raise `CharzError` for a word that names neither a power mode nor a limit in watts; report the parts that lack a mode."""
        for cap in caps:
            if cap == DEFAULT_MODE:
                continue
            if re.fullmatch(r"\d+(\.\d+)?w", cap):
                self._check_limit(parts, cap)
                continue
            query = "SELECT hardware, mode FROM hardware_power WHERE NOT is_default"
            modes = self.connection().execute(query).fetchall()
            known = sorted({mode for part, mode in modes if not parts or part in parts})
            able = {part for part, mode in modes if mode == cap}
            if not able.intersection(parts or able):
                raise CharzError(
                    "unknown power mode",
                    cap,
                    f"there are {', '.join([DEFAULT_MODE, *known])}",
                    "or write a limit as 150w",
                )
            if lacking := [part for part in parts if part not in able]:
                self.messages.warn(f"left out: {cap} on {', '.join(lacking)}, which have no such mode")

    def _check_limit(self, parts: Sequence[str], cap: str) -> None:
        """Raise `CharzError` for a limit below the lowest setting of a part, and name that setting."""
        query = "SELECT hardware, least_w FROM power_range"
        least = {part: watt for part, watt in self.connection().execute(query).fetchall() if part in parts}
        if low := {part: watt for part, watt in least.items() if watt > float(cap.removesuffix("w"))}:
            named = ", ".join(f"{part} at {watt:g}w" for part, watt in low.items())
            raise CharzError(
                "a limit below the lowest setting of the board", cap, f"the lowest: {named}", "ask for that"
            )

    def asked(self, question: Question, *views: str) -> Scoped:
        """Return a connection whose views answer for a question alone: its models, parts and scenarios.

        Report in one line what cannot run; raise `CharzError` where nothing can. With the `views` of the answer,
        report its doubtful inputs too. The connection is kept for the next question about the same.
        """
        self.connection()  # drops the connections if another file has replaced this one
        key = repr(question)
        if key not in self._answered:
            with self._recorded() as said:
                self._answered[key] = (self._scoped_for(question), said)
        scoped, said = self._answered[key]
        self._say(said)
        if views:
            from . import assumed

            if scoped.notes is None:
                with self._recorded() as scoped.notes:
                    assumed.note(scoped, self.messages)
            self._say(scoped.notes)
        return scoped

    def _say(self, said: Said) -> None:
        for is_left_out, text in said:
            (self.messages.warn if is_left_out else self.messages.remark)(text)

    @contextlib.contextmanager
    def _recorded(self) -> Iterator[Said]:
        """Record the messages of the block, so that each later question can repeat them."""
        said: Said = []
        messages = self.messages
        self.messages = Messages(
            warn=lambda text: said.append((True, text)),
            remark=lambda text: said.append((False, text)),
            progress=messages.progress,
        )
        try:
            yield said
        finally:
            self.messages = messages

    def _scoped_for(self, question: Question) -> Scoped:
        models = [self.model_name(name) for name in question.models] or list(self._scope.models)
        self._check_computes(models)
        parts = [self.part_name(name) for name in question.hardware] or list(self._scope.hardware)
        self.check_run(question.backends, question.precisions)
        self._check_caps(parts, question.caps)
        runs = self._released(parts, question, self._runs(question))
        taken = self._taken(models, parts, question, runs)
        targets = sorted({target for found in taken.values() for target in found})
        key = (tuple(models), tuple(targets), tuple(tuple(sorted(run.items())) for run in runs))
        if key not in self._scoped:
            self._keep(key, self._narrow(models, parts, targets, runs, taken))
        scoped = self._scoped[key]
        running = {name for names, found in taken.items() if found for name in names}
        self._check_sizes(scoped, [name for name in models if name in running], runs)
        return scoped

    def _taken(
        self, models: Sequence[str], parts: Sequence[str], question: Question, runs: Sequence[Mapping[str, Any]]
    ) -> dict[tuple[str, ...], list[Triple]]:
        """Return the targets by group of models, where a group is the models with the same choices when asked alone: trained models take backends that
        train, a checkpoint's model takes its format. Report the groups without a target; raise the first error if all lack one."""
        groups = self._alike(models, question)
        found: dict[tuple[str, ...], list[Triple]] = {}
        refused: list[tuple[tuple[str, ...], CharzError]] = []
        for names in groups:
            try:
                with self._recorded() as said:
                    found[names] = self._taken_alike(names, parts, question, runs)
            except CharzError as error:
                found[names] = []
                refused.append((names, error))
            about = f"{', '.join(names)}: " if len(groups) > 1 else ""
            self._say([(is_left_out, about + text) for is_left_out, text in said])
        if not any(found.values()):
            raise refused[0][1]
        if refused:
            told = "; ".join(f"{', '.join(names)} ({error.what}: {error.where})" for names, error in refused)
            self.messages.warn(f"left out: {told}")
        return found

    def _taken_alike(
        self, models: Sequence[str], parts: Sequence[str], question: Question, runs: Sequence[Mapping[str, Any]]
    ) -> list[Triple]:
        """Return the targets of models with the same choices. Report what does not run; raise `CharzError` if nothing runs."""
        untrained = self._untrained(models)
        question = self._trained(question, untrained)
        precisions = question.precisions or (*self._stored(models, question), *question.preferred)
        targets = self._targets(parts, question, precisions, untrained)
        self._check_engines({backend for _, backend, _ in targets}, runs)
        self._say_left_out(parts, question, precisions, targets, untrained)
        targets = self._linked(targets, question)
        if question.is_first:
            self._say_mixed(targets)
        return targets

    def _alike(self, models: Sequence[str], question: Question) -> list[tuple[str, ...]]:
        """Group the models that take the same backends and precisions when asked alone."""
        query = "SELECT model, is_training, stored_policy FROM model WHERE list_contains(?, model) ORDER BY model"
        is_stored = question.is_as_stored and not question.precisions
        groups: dict[tuple[bool, str | None], list[str]] = {}
        for name, is_training, stored in self.connection().execute(query, [models or self._names("model")]).fetchall():
            groups.setdefault((is_training, stored if is_stored else None), []).append(name)
        return [tuple(names) for names in groups.values()] or [()]

    def target(self, question: Question, *views: str) -> tuple[Scoped, dict[str, Any]]:
        """Call `asked` for one model on one part under one scenario; return also its keys and conditions."""
        ((batch,),) = self.connection().execute(
            "SELECT default_batch FROM model WHERE model = ?", [self.model_name(question.models[0])]
        ).fetchall()  # fmt: skip
        runs = question.runs or [{"batch": (*question.batches, batch)[0], "sequence": (*question.sequences, None)[0]}]
        scoped = self.asked(replace(question, batches=(), sequences=(), runs=runs), *views)
        return scoped, scoped.target

    def _runs(self, question: Question) -> list[dict[str, Any]]:
        """Return runs as columns of a scenario, without those that depend on the target."""
        runs = question.runs or [
            {"batch": batch, "sequence": sequence}
            for batch in question.batches or [1]
            for sequence in (*question.sequences,) or (None,)
        ]
        caps = [None if cap == DEFAULT_MODE else cap for cap in question.caps] or [None]
        return [{**run, "power": cap, **question.fields} for run in runs for cap in caps]

    def _untrained(self, models: Sequence[str]) -> set[str]:
        """Return the backends and precision policies that do not train, if all models of a question have a backward pass."""
        query = "SELECT bool_and(is_training) FROM model WHERE list_contains(?, model)"
        ((is_training,),) = self.connection().execute(query, [models or self._names("model")]).fetchall()
        return self._training("NOT trains") if is_training else set()

    def _training(self, which: str) -> set[str]:
        """Return the backends and policies that train, or those that do not."""
        policies = "SELECT policy AS name, policy NOT IN (FROM untrained_policy) AS trains FROM precision_policy"
        query = f"SELECT name FROM (SELECT backend AS name, trains FROM backend UNION {policies}) WHERE {which}"
        return {name for (name,) in self.connection().execute(query).fetchall()}

    def _trained(self, question: Question, untrained: set[str]) -> Question:
        """Return the question without names that do not train. Report these; raise `CharzError` where an axis is empty without them."""
        backends, precisions, preferred = (
            [name for name in values if name not in untrained]
            for values in (question.backends, question.precisions, question.preferred)
        )
        lost = [name for name in (*question.backends, *question.precisions) if name in untrained]
        if lost:
            trained = ", ".join(sorted(self._training("trains")))
            if (question.backends and not backends) or (question.precisions and not precisions):
                raise CharzError("this does not train", ", ".join(lost), f"these do: {trained}")
            self.messages.warn(f"left out: {', '.join(lost)}, which does not train a model; these do: {trained}")
        return replace(question, backends=backends, precisions=precisions, preferred=preferred)

    def _targets(
        self, parts: Sequence[str], question: Question, precisions: Sequence[str], untrained: set[str]
    ) -> list[Triple]:
        """Return the targets of a question. A part takes each named backend, else the one assumed on it, in each named precision, else in
        the first that it computes in. No part named means all."""
        connection = self.connection()
        assumed_by_part = {} if question.precisions or question.serves else self._assumed_precisions(untrained)
        order = "hardware, serves = ? DESC, is_default DESC, backend"
        support = f"SELECT hardware, backend, is_counterpart, serves FROM supported_backend ORDER BY {order}"
        backends: dict[str, list[str]] = {}
        for part, backend, is_counterpart, serves in connection.execute(support, [question.serves]).fetchall():
            is_wanted = (
                backend in question.backends
                if question.backends
                else part not in backends
                or (
                    question.every_backend
                    and serves == question.serves
                    and (question.with_counterparts or not is_counterpart)
                )
            )
            if is_wanted and backend not in untrained and (not parts or part in parts):
                backends.setdefault(part, []).append(backend)
        from charz.sql.evaluate import stored

        assumed: dict[tuple[str, str], str] = {}
        if not (question.backends or question.serves) and (question.is_as_run or not question.every_backend):
            # `assumed_backend` follows from the catalog alone, so the file's rows answer also where an engine evaluates the models.
            query = f"SELECT hardware, precision, backend FROM {stored(connection, 'assumed_backend')} WHERE is_by_kind"
            rows = connection.execute(query).fetchall()
            assumed = {(part, precision): backend for part, precision, backend in rows if backend not in untrained}
        found = connection.execute("SELECT hardware, backend, precision FROM part_support").fetchall()
        able = {
            (part, backend, precision)
            for part, backend, precision in found
            if part in backends
            and (precision in precisions or precision in assumed_by_part.get(part, ()))
            and (backend == assumed[part, precision] if (part, precision) in assumed else backend in backends[part])
        }
        if not question.precisions and question.is_first:
            computed: dict[str, set[str]] = {}
            for part, _, precision in able:
                computed.setdefault(part, set()).add(precision)
            first = {
                part: next(name for name in (*assumed_by_part.get(part, ()), *precisions) if name in known)
                for part, known in computed.items()
            }
            able = {triple for triple in able if first[triple[0]] == triple[2]}
        if not question.precisions and not question.is_strict:
            usual = self._usual_policies(untrained)
            able = {(p, b, usual.get((p, b), policy) if policy == SINGLE else policy) for p, b, policy in able}
        return sorted(able)

    def _linked(self, targets: list[Triple], question: Question) -> list[Triple]:
        """Return the targets whose inputs may come from host memory, if the question asks for that: host processors, and parts with a link.
        Report the others; raise `CharzError` where none is left."""
        if not question.fields.get("input_host_fraction"):
            return targets
        linked = {
            part
            for query in (
                "SELECT hardware FROM part_link WHERE interconnect = 'pcie'",
                "SELECT DISTINCT hardware FROM part_support WHERE dispatch = 'serial'",
            )
            for (part,) in self.connection().execute(query).fetchall()
        }
        found = [target for target in targets if target[0] in linked]
        if lost := sorted({part for part, *_ in targets} - linked):
            if not found:
                next = "ask without --include-transfer, or state an interconnect `pcie` of the part"
                raise CharzError("no link to the host is stated", ", ".join(lost), next=next)
            self.messages.warn(f"left out: {', '.join(lost)}, no link to the host is stated")
        return found

    def _assumed_precisions(self, untrained: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the policies that each part's family assumes, in order."""
        query = "SELECT hardware, assumed_precision, second_precision FROM hardware JOIN hardware_family USING (family)"
        found = self.connection().execute(query).fetchall()
        return {part: tuple(p for p in policies if p and p not in untrained) for part, *policies in found}

    def _say_mixed(self, targets: Sequence[Triple]) -> None:
        """Report which parts are asked in other precisions than the rest."""
        asked: dict[str, set[str]] = {}
        for part, _, precision in targets:
            asked.setdefault(part, set()).add(precision)
        parts: dict[tuple[str, ...], list[str]] = {}
        for part, found in sorted(asked.items()):
            parts.setdefault(tuple(sorted(found)), []).append(part)
        if len(parts) > 1:
            told = [f"{', '.join(precisions)} on {some(names, SAID_PARTS)}" for precisions, names in sorted(parts.items())]
            self.messages.warn(f"precisions differ: {'; '.join(told)}; --precision sets one for all")

    def usual_policy(self, parts: Sequence[str], backends: Sequence[str]) -> str:
        """Return the policy of a question that names none, or single precision where it would have several."""
        parts = [self.part_name(name) for name in parts] or list(self._scope.hardware)
        question = Question(hardware=parts, backends=backends)
        found = {policy for *_, policy in self._targets(parts, question, question.preferred, set())}
        return found.pop() if len(found) == 1 else SINGLE

    def _usual_policies(self, untrained: Collection[str] = ()) -> dict[tuple[str, str], str]:
        """Return the default policy of each backend on each part, which replaces single precision where none is named."""
        query = "SELECT hardware, backend, precision FROM part_support WHERE precision = default_precision"
        found = self.connection().execute(query).fetchall()
        return {(part, backend): policy for part, backend, policy in found if policy not in untrained}

    def _say_left_out(
        self,
        parts: Sequence[str],
        question: Question,
        precisions: Sequence[str],
        targets: Sequence[Triple],
        untrained: set[str],
    ) -> None:
        """Report which named backends and precisions do not run on which part; raise `CharzError` where nothing runs."""
        reasons = []
        for part in parts:
            backends = {backend for name, backend, _ in targets if name == part}
            able = {precision for name, _, precision in targets if name == part}
            if not able:
                reasons.append(self._not_executed(part, question.backends, precisions, untrained))
                continue
            if missing := [name for name in question.backends if name not in backends]:
                reasons.append(CharzError("left out", f"{', '.join(missing)} on {part}", self._has(part)))
            if missing := [name for name in question.precisions if name not in able]:
                reasons.append(CharzError("left out", f"{', '.join(missing)} on {part}", self._computes_in(part)))
        if not targets:
            nothing = CharzError(
                "no part runs this combination", ", ".join(question.models), next="widen --precision or --backend"
            )
            raise reasons[0] if reasons else nothing
        if reasons:
            self.messages.warn("left out: " + "; ".join(f"{reason.where}, {reason.exists}" for reason in reasons))
        elif not parts and (question.backends or question.precisions):
            query = "SELECT count(*) FROM hardware"
            ((count,),) = self.connection().execute(query).fetchall()
            running = len({target[0] for target in targets})
            if running < count:
                named = ", ".join((*question.backends, *question.precisions))
                self.messages.warn(f"left out: {count - running} of {count} parts, which do not run {named}")

    def _not_executed(
        self, part: str, backends: Sequence[str], precisions: Sequence[str], untrained: set[str]
    ) -> CharzError:
        supported = self._backends(part)
        if not supported:
            return CharzError("no backend runs on this part", part, "none", "add a row to backend_support")
        if untrained.issuperset(supported):
            return CharzError("nothing that runs on this part trains", part, self._has(part))
        if backends and not set(backends) & set(supported):
            where = f"{', '.join(backends)} on {part}"
            return CharzError("this backend does not run on this part", where, self._has(part))
        where = f"{', '.join(precisions)} on {part}"
        return CharzError("this part does not compute in this precision", where, self._computes_in(part))

    def _backends(self, part: str) -> list[str]:
        """Return the backends that run on a part, the assumed one first."""
        query = "SELECT backend FROM supported_backend WHERE hardware = ? ORDER BY serves, is_default DESC, backend"
        return [name for (name,) in self.connection().execute(query, [part]).fetchall()]

    def _has(self, part: str) -> str:
        """Tell a part's backends, without unfused counterparts."""
        which = "hardware = ? AND NOT is_counterpart ORDER BY serves, is_default DESC, backend"
        query = f"SELECT backend FROM supported_backend WHERE {which}"
        return f"it has {', '.join(name for (name,) in self.connection().execute(query, [part]).fetchall())}"

    def _computes_in(self, part: str) -> str:
        query = "SELECT precision FROM hardware_rate WHERE hardware = ? AND is_native ORDER BY precision"
        return f"it computes in {', '.join(p for (p,) in self.connection().execute(query, [part]).fetchall())}"

    def _narrow(
        self,
        models: Sequence[str],
        parts: Sequence[str],
        targets: Sequence[Triple],
        runs: Sequence[Mapping[str, Any]],
        taken: Mapping[tuple[str, ...], Sequence[Triple]],
    ) -> Scoped:
        """Return a new connection scoped to these runs; `taken` are the targets by model."""
        from charz.sql import evaluate

        pairs = sorted({(precision, backend) for _, backend, precision in targets})
        wanted = [self.conditions({**run, "backend": b, "precision": p}) for run in runs for p, b in pairs]
        rows, held = self.numbered(wanted)
        hardware = list(dict.fromkeys(part for part, *_ in targets))
        scope = evaluate.Scope(
            models=list(models) or None,
            hardware=hardware if parts or len(hardware) < len(self._names("hardware")) else None,
            targets=targets,
            scenarios=rows,
            stored=held,
            runs=_runs_taken(taken),
            ground=self._ground,
        )
        count = len(models or self._names("model")) * len(targets) * len(runs)
        scoped = self.scoped_on(self.cursor(), scope, keeps_costs=count <= COSTED_TARGETS)
        scoped.limit(taken)
        return scoped

    @staticmethod
    def conditions(fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a scenario with defaults filled in, without its number (`numbered`)."""
        values = _DEFAULTS | dict(fields)
        for size in ("batch", "sequence", "context"):
            if values[size] is not None:
                check_size(size, values[size])
        return values

    def numbered(
        self, wanted: Sequence[Mapping[str, Any]], writing: duckdb.DuckDBPyConnection | None = None
    ) -> tuple[list[dict[str, Any]], set[int]]:
        """Return the scenarios with their numbers in the file, or with new ones, and the set of numbers already in the file.

        Pass the connection that will write them, since another process may add scenarios in the meantime.
        """
        same = [name for name in _DEFAULTS if name != "origin"]
        query = f"SELECT min(scenario_id), {', '.join(same)} FROM scenario GROUP BY ALL"
        held = {tuple(values): number for number, *values in (writing or self.connection()).execute(query).fetchall()}
        known = set(held.values())
        highest = max(known, default=0)
        rows = []
        for row in wanted:
            number = held.setdefault(tuple(row[name] for name in same), highest + 1)
            highest = max(highest, number)
            rows.append({"scenario_id": number, **row})
        return rows, known.intersection(row["scenario_id"] for row in rows)

    def _check_sizes(self, scoped: Scoped, models: Sequence[str], runs: Sequence[Mapping[str, Any]]) -> None:
        """Report which models have no run of these sizes; raise `CharzError` where no model has one."""
        query = "SELECT run.model, count(DISTINCT run.scenario_id) / count(DISTINCT (run.backend, run.precision)) FROM run GROUP BY 1"
        counted = dict(scoped.execute(query).fetchall())
        missing = [self._no_run(scoped, model, runs[0]) for model in models if model not in counted]
        if counted and missing:
            self.messages.warn("left out: " + "; ".join(f"{error.where}, {error.exists}" for error in missing))
        if not counted:
            nothing = CharzError("no models yet", str(self.path), next="`charz ingest efficientnet_b0` adds one")
            raise missing[0] if missing else nothing
        most = max(counted.values())
        fewer = [model for model, count in counted.items() if count < most]
        if fewer:
            self.messages.warn(f"left out: some of the sizes, which {', '.join(fewer)} lacks")

    def _no_run(self, scoped: Scoped, model: str, run: Mapping[str, Any]) -> CharzError:
        query = "SELECT is_batch_symbolic, has_context, default_batch, default_sequence FROM model WHERE model = ?"
        ((is_batch_free, has_context, batch, sequence),) = self.connection().execute(query, [model]).fetchall()
        query = "SELECT backend FROM scenario"
        serving = {name for (name,) in self.connection().execute("SELECT backend FROM backend WHERE serves").fetchall()}
        if not has_context and all(backend in serving for (backend,) in scoped.execute(query).fetchall()):
            return CharzError("this backend serves language models", model, "the model keeps no state between tokens")
        fixed = f"its sequence is {sequence}" if is_batch_free else f"its batch is fixed at {batch}"
        size = f"batch {run['batch']}" + (f", sequence {run['sequence']}" if run.get("sequence") else "")
        return CharzError("the model has no such size", f"{model}, {size}", fixed)


def _runs_taken(taken: Mapping[tuple[str, ...], Sequence[Triple]]) -> str:
    """Return a condition on runs that leaves each model the backends and precisions of its own targets."""
    from charz.sql.evaluate import listed

    if len(taken) == 1:
        return "TRUE"
    conditions = []
    for names, targets in taken.items():
        pairs = sorted({f"{backend} {precision}" for _, backend, precision in targets})
        conditions.append(f"(run.model IN {listed(names)} AND CONCAT(run.backend, ' ', run.precision) IN {listed(pairs)})")
    return " OR ".join(conditions)


_DEFAULTS: dict[str, Any] = {
    "batch": 1,
    "sequence": None,
    "context": None,
    "phase": "forward",
    "precision": SINGLE,
    "backend": "eager",
    "engine_version": None,
    "kv_precision": None,
    "device_count": None,
    "weight_host_fraction": None,
    "cache_host_fraction": None,
    "input_host_fraction": None,
    "memory_format": "nchw",
    "host_factor": 1.0,
    "cache_state": "warm",
    "power": None,
    "origin": "user",
}
"""Columns of a scenario with their defaults."""


def _state(path: Path) -> tuple[int, int]:
    """Return the inode and the time of change of a file."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns
