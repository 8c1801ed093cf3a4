"""Temporary tables that make every view of a connection answer for a scope.

DuckDB finds a temporary table before a table or view of its name, also within views. So a scope is a set of temporary tables: facts of
the scope, and maintained tables copied from the file or evaluated. `hold` makes them, `release` drops them. Nothing is written to the
file.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import duckdb

from charz.schema import ddl

from . import alike
from .installed import Catalog, Relation, catalog
from .keys import CHAIN
from .layers import HARDWARE, WORKLOAD
from .scopes import BACKENDS, ENERGY, Copies, Ground, Scope, Varied, listed

if TYPE_CHECKING:
    from charz.schema.row import Row


def hold(
    connection: duckdb.DuckDBPyConnection,
    scope: Scope,
    wanted: Collection[str] | None = None,
    known: Catalog | None = None,
    held: Collection[str] = (),
    keeps_views: bool = False,
) -> list[str]:
    """Make every view of a connection answer for the scope and nothing else.

    Returns the names of the temporary tables, for `release`. With `wanted`, only relations that these depend on are scoped. `known` is
    the file's catalog, if already read; `held` are temporary tables and views of the same scope, which stay. `keeps_views` keeps the
    views of runs that views of parts read: reading them again takes as long, but until then they take memory.
    """
    holder = _Holder(connection, scope, wanted, known or catalog(connection), held, keeps_views)
    holder.hold()
    return holder.made


def lay(connection: duckdb.DuckDBPyConnection, copies: Sequence[Copies], known: Catalog) -> Ground:
    """Evaluate copies that replace parts, for scopes of cursors of the connection; `lift` removes them."""
    maintained = known.tables(HARDWARE)
    with connection.cursor() as cursor:
        tables = _Holder(cursor, Scope(copies=copies), [table.name for table in maintained], known, ()).change()
        database, parts = f"changed_parts_{next(_GROUNDS)}", [copy.base for copy in copies]
        others = {table.name: _others(table, parts, f"{database}.{table.name}") for table in maintained}
        ground = Ground(database, parts, {name: others.get(name, "") for name in tables})
        cursor.execute(f"ATTACH ':memory:' AS {ground.database} (READ_WRITE)")
        for name in tables:
            cursor.execute(f"CREATE TABLE {ground.database}.{ddl.quote(name)} AS SELECT * FROM temp.{ddl.quote(name)}")
    return ground


def _others(table: Relation, parts: Sequence[str], own: str) -> str:
    """Write the condition on rows of a maintained hardware table that rows of the parts `own` do not replace; empty if these replace
    all rows."""
    if "hardware" in table.columns:
        return f"hardware NOT IN {listed(parts)}"
    return f"{CHAIN} NOT IN (SELECT {CHAIN} FROM {own})" if CHAIN in table.columns else ""


def lift(connection: duckdb.DuckDBPyConnection, ground: Ground) -> None:
    """Detach parts evaluated for scopes; none of these scopes may be in use."""
    connection.execute(f"DETACH {ground.database}")


_GROUNDS = itertools.count(1)


def release(connection: duckdb.DuckDBPyConnection, made: Sequence[str]) -> None:
    """Drop temporary tables and views; a failed transaction has dropped them already."""
    with contextlib.suppress(duckdb.TransactionException):
        query = "SELECT view_name FROM duckdb_views() WHERE temporary AND NOT internal"
        views = {name for (name,) in connection.execute(query).fetchall()} if made else set()
        for name in reversed(made):
            kind = "VIEW" if name in views else "TABLE"
            connection.execute(f"DROP {kind} IF EXISTS temp.{ddl.quote(name)}")


_ALL_RUNS = "held_run"
"""Table of all runs of a scope while new ones are evaluated."""


class _Holder:
    """Builder of the temporary tables of one scope."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        scope: Scope,
        wanted: Collection[str] | None,
        known: Catalog,
        held: Collection[str],
        keeps_views: bool = False,
    ) -> None:
        self.connection, self.scope, self.known, self.keeps_views = connection, scope, known, keeps_views
        ((self.database,),) = connection.execute("SELECT current_database()").fetchall()
        wanted = known.relations if wanted is None else wanted
        self.held = held
        self.read = known.upstream(wanted, {*self._copied_tables(), *held}).difference(held)
        self.made: list[str] = []

    def change(self) -> list[str]:
        """Evaluate only the changed parts, and return the names of the facts and maintained tables that differ from the file."""
        facts = self._copy_facts()
        made = self._evaluate_parts(self._parts_anew() or ())
        return [*facts, *(name for name in made if self.known.relations[name].is_table)]

    def hold(self) -> None:
        if self.scope.copies:
            self._copy_facts()
        self._take_facts()
        self._hold_parts()
        self._hold_runs()
        self._limit_facts()

    def _copied_tables(self) -> list[str]:
        """Return the maintained tables whose rows the file has, so that their inputs are not needed."""
        is_anew = {
            HARDWARE: bool(self.scope.copies or self.scope.hidden),
            WORKLOAD: self.scope.scenarios is not None
            and any(row["scenario_id"] not in self.scope.stored for row in self.scope.scenarios),
        }
        return [
            table.name for layer in (HARDWARE, WORKLOAD) if not is_anew[layer] for table in self.known.tables(layer)
        ]

    def _table(self, name: str, query: str) -> None:
        """Create or replace a temporary table."""
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {ddl.quote(name)} AS {query}")
        if name not in self.made:
            self.made.append(name)

    def _view(self, name: str, query: str) -> None:
        self.connection.execute(f"CREATE OR REPLACE TEMP VIEW {ddl.quote(name)} AS {query}")
        self.made.append(name)

    def _file(self, name: str) -> str:
        """Return the table of the scope: the file's rows, and the rows of parts that are already evaluated."""
        file, ground = f"{ddl.quote(self.database)}.main.{ddl.quote(name)}", self.scope.ground
        if ground is None or name not in ground.tables:
            return file
        laid = f"SELECT * FROM {ground.database}.{ddl.quote(name)}"
        if ground.tables[name]:
            laid = f"SELECT * FROM {file} WHERE {ground.tables[name]} UNION ALL BY NAME {laid}"
        return f"({laid})"

    # Parts

    def _hold_parts(self) -> None:
        """Make the maintained hardware tables: unchanged parts from the file, changed ones evaluated."""
        anew = self._parts_anew()
        tables = [table for table in self.known.tables(HARDWARE) if table.name in self.read]
        made: list[str] = []
        if anew is not None:
            made = self._evaluate_parts(anew)
        self._list_targets()
        for table in tables:
            if table.name not in made:
                self._copy_parts(table)
            elif anew is not None and (others := _others(table, anew, f"temp.{table.name}")):
                kept = " AND ".join([*self._limits(table), others])
                self._append(table.name, f"SELECT * FROM {self._file(table.name)} WHERE {kept}")
            if table.name in made and (chosen := self._chosen(table)):
                self._table(table.name, f"SELECT t.* FROM {ddl.quote(table.name)} AS t {chosen}")
        self._drop([name for name in made if not self.known.relations[name].is_table])
        release(self.connection, [_TARGETS])

    def _copy_parts(self, table: Relation) -> None:
        """Make a maintained table from the file's rows: a copy for some parts, a view for all."""
        limits, chosen = self._limits(table), self._chosen(table)
        is_laid = self.scope.ground is not None and table.name in self.scope.ground.tables
        if limits or chosen or is_laid:
            query = f"SELECT t.* FROM {self._file(table.name)} AS t {chosen} WHERE {' AND '.join(limits) or 'TRUE'}"
            is_small = chosen or table.name == BACKENDS or (limits and self.scope.hardware is not None)
            put = self._table if is_small else self._view
            put(table.name, query)

    def _evaluate_parts(self, anew: Sequence[str]) -> list[str]:
        """Evaluate the hardware relations that depend on changed facts, for some parts."""
        changed = self._rests_on_changed()
        return self._evaluate(
            [r for r in self.known.of(HARDWARE) if r.name in self.read and r.name in changed],
            lambda relation: f"hardware IN {listed(anew)}" if "hardware" in relation.columns else "TRUE",
        )

    def _append(self, name: str, query: str) -> None:
        self.connection.execute(f"INSERT INTO temp.{ddl.quote(name)} BY NAME {query}")

    def _parts_anew(self) -> list[str] | None:
        """Return the parts to evaluate; None if all are unchanged."""
        if self.scope.copies:
            return [name for copies in self.scope.copies for name in copies.names]
        if self.scope.hidden:
            return list(self.scope.hardware) if self.scope.hardware is not None else self._every_part()
        return None

    def _every_part(self) -> list[str]:
        return [part for (part,) in self.connection.execute("SELECT hardware FROM hardware").fetchall()]

    def _rests_on_changed(self) -> set[str]:
        """Return the hardware relations that depend on changed facts."""
        changed = set(self.scope.hidden)
        if self.scope.copies:
            changed |= {name for name in self.made if name not in self.known.relations}
        for relation in self.known.of(HARDWARE):
            if changed & set(relation.reads):
                changed.add(relation.name)
        return changed

    def _limits(self, table: Relation) -> list[str]:
        """Return conditions on the rows of a maintained hardware table."""
        asked = {"hardware": self.scope.hardware, "backend": self._backends()}
        return [f"{name} IN {listed(v)}" for name, v in asked.items() if v is not None and name in table.columns]

    def _backends(self) -> list[str] | None:
        targets = self.scope.targets
        return None if targets is None else sorted({backend for _, backend, _ in targets})

    def _list_targets(self) -> None:
        if self.scope.targets is not None:
            columns = ", ".join(f"CAST(UNNEST(?) AS VARCHAR) AS {key}" for key in _TARGET)
            values = [[target[i] for target in self.scope.targets] for i in range(len(_TARGET))]
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {_TARGETS} AS SELECT {columns}", values)

    def _chosen(self, table: Relation) -> str:
        """Write the join that keeps the scope's targets of a table `t`, if its rows belong to targets, or to parts under a backend."""
        keys = [key for key in _TARGET if key in table.columns]
        is_limited = self.scope.targets is not None and keys[:2] == ["hardware", "backend"]
        return f"SEMI JOIN {_TARGETS} AS c USING ({', '.join(keys)})" if is_limited else ""

    # Runs

    def _hold_runs(self) -> None:
        """Make the maintained workload tables: stored runs from the file, other runs evaluated."""
        tables = [table for table in self.known.tables(WORKLOAD) if table.name in self.read]
        limits = [] if self.scope.models is None else [f"run.model IN {listed(self.scope.models)}"]
        if self.scope.runs != "TRUE":
            limits.append(f"({self.scope.runs})")
        made: list[str] = []
        is_copied = bool(limits)
        if self.scope.scenarios is not None:
            if "scenario" not in self.held:
                self._table("scenario", f"SELECT * FROM {self._file('scenario')} LIMIT 0")
                _insert_rows(self.connection, "scenario", self.scope.scenarios)
            numbers = {row["scenario_id"] for row in self.scope.scenarios}
            new, held = (
                sorted(found) for found in (numbers.difference(self.scope.stored), numbers & set(self.scope.stored))
            )
            if new or not numbers:
                made = self._evaluate_runs([*limits, f"run.scenario_id IN {listed(new)}"])
            limits.append(f"run.scenario_id IN {listed(held)}")
            is_copied = bool(held) or not made
        for table in tables:
            query = f"SELECT * FROM {self._file(table.name)} WHERE {' AND '.join(limits)}"
            if table.name not in made and is_copied:
                self._table(table.name, query)
            elif is_copied:
                self._append(table.name, query)
        # Views of new runs alone do not replace those of the file.
        kept = self._read_elsewhere() if self.keeps_views and not is_copied else set()
        self._drop([name for name in made if not self.known.relations[name].is_table and name not in kept])

    def _read_elsewhere(self) -> set[str]:
        """Return the names that the relations outside the layer of runs read."""
        return {name for r in self.known.relations.values() if r.name in self.read and r.layer != WORKLOAD for name in r.reads}

    def _evaluate_runs(self, limits: Sequence[str]) -> list[str]:
        of_models = "TRUE" if self.scope.models is None else f"model IN {listed(self.scope.models)}"

        def condition(relation: Relation) -> str:
            if relation.name == "run":
                return " AND ".join(limits)
            # A table that existed before also has stored runs: these are copied, not evaluated again.
            if "run" in relation.columns:
                return limits[-1]
            # Rows of models that read no runs are limited by model.
            is_of_models = "model" in relation.columns and "run" not in self.known.upstream([relation.name])
            return of_models if is_of_models else "TRUE"

        with self._new_runs(limits[-1]) if "run" in self.held else contextlib.nullcontext():
            found = [r for r in self.known.of(WORKLOAD) if r.name in self.read]
            is_alike = len({row["device_count"] for row in self.scope.scenarios or ()}) > 1
            if not is_alike or "run" not in {*self.read, *self.held}:
                return self._evaluate(found, condition)
            after = [r.name for r in found].index("run") + 1 if "run" in self.read else 0
            made = self._evaluate(found[:after], condition)
            same, others = alike.divided(found[after:])
            with alike.first_runs(self.connection, self.known):
                made += self._evaluate(same, condition)
                readers = [*others, *(r for r in self.known.relations.values() if r.name in self.read and r.layer != WORKLOAD)]
                for name, rows in alike.repeated(same, readers):
                    self._table(name, rows)
            return made + self._evaluate(others, condition)

    @contextlib.contextmanager
    def _new_runs(self, limit: str) -> Iterator[None]:
        """Keep only the new runs in `run`, which had all runs before: equal kernels are numbered once for equal runs."""
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {_ALL_RUNS} AS SELECT * FROM run")
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE run AS SELECT * FROM {_ALL_RUNS} WHERE {limit}")
        yield
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE run AS SELECT * FROM {_ALL_RUNS}")
        self.connection.execute(f"DROP TABLE {_ALL_RUNS}")

    def _evaluate(self, found: Sequence[Relation], condition: Callable[[Relation], str]) -> list[str]:
        """Evaluate a layer's relations into temporary tables, each after those it reads."""
        for relation in found:
            limit = condition(relation)
            query = relation.body if limit == "TRUE" else f"SELECT * FROM ({relation.body}) WHERE {limit}"
            self._table(relation.name, query)
        return [relation.name for relation in found]

    def _drop(self, names: Sequence[str]) -> None:
        release(self.connection, names)
        self.made = [name for name in self.made if name not in names]

    # Facts

    def _limit_facts(self) -> None:
        """Restrict the views to these models and parts, after evaluating relations that depend on facts of other models or parts."""
        for name, values in (("model", self.scope.models), ("hardware", self.scope.hardware)):
            if values is not None and name not in self.held:
                self._table(name, f"SELECT * FROM {ddl.quote(name)} WHERE {name} IN {listed(values)}")

    def _take_facts(self) -> None:
        """Create temporary tables of the facts of parts that are already evaluated."""
        for name in self.scope.ground.tables if self.scope.ground else ():
            if name not in self.known.relations and name not in self.held:
                self._table(name, f"SELECT * FROM {self._file(name)}")

    def _copy_facts(self) -> list[str]:
        """Replace the facts of parts by those of the copies, with their numbers, and of the other parts; return their names."""
        from charz.schema import database

        facts = []
        for number, copies in enumerate(self.scope.copies):
            columns = ["CAST(UNNEST(?) AS VARCHAR) AS hardware"]
            columns += [
                f"CAST(UNNEST(?) AS {'VARCHAR' if isinstance(varied.values[0], str) else 'DOUBLE'}) AS {_number(i)}"
                for i, varied in enumerate(copies.varied)
            ]
            values = [list(copies.names), *(list(varied.values) for varied in copies.varied)]
            self.connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {_copies(number)} AS SELECT {', '.join(columns)}", values
            )
            self.made.append(_copies(number))
        for row_type in database.TABLES:
            if row_type.TABLE in self.read and self._differs(row_type):
                self._copy_fact(row_type)
                facts.append(row_type.TABLE)
        backends = self._backends()
        if backends is not None:
            support = "backend_support"
            self._table(support, f"SELECT * FROM {self._file(support)} WHERE backend IN {listed(backends)}")
        return facts

    def _differs(self, row_type: type[Row]) -> bool:
        """Return whether a fact of the copies differs from the file: new parts differ in all facts of parts, changed numbers in the facts
        that contain them."""
        from . import restate

        if not {"hardware", "scope"} & set(row_type.model_fields):
            return False
        if any(list(copies.names) != [copies.base] for copies in self.scope.copies):
            return True
        numbers = [number for copies in self.scope.copies for number in copies.varied]
        is_restated = any(restate.kept_in(number.table, number.column) for number in numbers)
        return row_type.TABLE in {number.table for number in numbers} or (
            is_restated and row_type.TABLE == restate.RESTATED
        )

    def _copy_fact(self, row_type: type[Row]) -> None:
        key = "hardware" if "hardware" in row_type.model_fields else "scope"
        file = self._file(row_type.TABLE)
        names = [f"hardware:{n}" if key == "scope" else n for copies in self.scope.copies for n in copies.names]
        self._table(row_type.TABLE, f"SELECT * FROM {file} WHERE {key} NOT IN {listed(names)}")
        for number, copies in enumerate(self.scope.copies):
            base = f"hardware:{copies.base}" if key == "scope" else copies.base
            name = "CONCAT('hardware:', c.hardware)" if key == "scope" else "c.hardware"
            rows = f"SELECT * FROM {file} WHERE {key} = {ddl.literal(base)}{_dropped(row_type, copies.varied)}"
            if row_type.TABLE == ENERGY:
                rows += self._derived_energies(copies.varied)
            replaced = ", ".join([f"{name} AS {key}", *_replaced(row_type, copies.varied)])
            self._append(
                row_type.TABLE, f"SELECT b.* REPLACE ({replaced}) FROM ({rows}) AS b CROSS JOIN {_copies(number)} AS c"
            )

    def _derived_energies(self, varied: Sequence[Varied]) -> str:
        """Write the query for energies that follow from rules, where the copies state them."""
        keys = [f"({', '.join(ddl.literal(v) for _, v in n.key)})" for n in varied if n.table == ENERGY]
        if not keys:
            return ""
        condition = f"NOT is_stated AND (hardware, what, key) IN ({', '.join(keys)})"
        return f" UNION ALL BY NAME SELECT * EXCLUDE (is_stated) FROM {self._file('part_energy')} WHERE {condition}"


_TARGET = ("hardware", "backend", "precision")
"""Columns that identify a target."""

_TARGETS = "asked_target"
"""Temporary table of a scope's targets."""


def _copies(number: int) -> str:
    return f"copied_part_{number}"


def _number(i: int) -> str:
    return f"number_{i}"


def _replaced(row_type: type[Row], varied: Sequence[Varied]) -> Iterator[str]:
    """Yield a fact's columns with the copies' numbers; the derived value of an earlier statement becomes null.

    >>> from charz.schema.catalog.part import HardwareCluster
    >>> doubled = Varied("hardware_cluster", (("hardware", "a100"), ("cluster", "sm")), "unit_count", [216.0])
    >>> print(*_replaced(HardwareCluster, [doubled]))
    CASE WHEN b."cluster" = 'sm' THEN c.number_0 ELSE b."unit_count" END AS "unit_count"
    """
    from . import restate

    columns: dict[str, list[str]] = {}
    for i, number in enumerate(varied):
        if number.table != row_type.TABLE:
            continue
        tests = [f"b.{ddl.quote(name)} = {ddl.literal(value)}" for name, value in number.key if name != "hardware"]
        row = " AND ".join(tests) or "TRUE"
        columns.setdefault(number.column, []).append(f"WHEN {row} THEN c.{_number(i)}")
        kept = restate.kept_in(number.table, number.column)
        if kept is not None:
            columns.setdefault(kept, []).append(f"WHEN {row} THEN NULL")
    for column, cases in columns.items():
        yield f"CASE {' '.join(cases)} ELSE b.{ddl.quote(column)} END AS {ddl.quote(column)}"


def _dropped(row_type: type[Row], varied: Sequence[Varied]) -> str:
    """Write the condition that drops derived values kept for numbers that are restated."""
    from . import restate

    if row_type.TABLE != restate.RESTATED:
        return ""
    fields = [
        restate.place(number.table, [value for _, value in number.key], number.column)
        for number in varied
        if restate.kept_in(number.table, number.column) is not None
    ]
    return f" AND field NOT IN {listed(fields)}" if fields else ""


def _insert_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        marks = f"({', '.join('?' * len(rows[0]))})"
        values = [value for row in rows for value in row.values()]
        connection.execute(
            f"INSERT INTO temp.{table} ({', '.join(rows[0])}) VALUES {', '.join([marks] * len(rows))}", values
        )
