"""Evaluation of relations for a scope: some models, scenarios and parts, and parts with changed numbers.

DuckDB finds a temporary table before a table or view of its name, also within views. So a scope is a set of temporary tables: facts of
the scope, maintained tables copied from the file or evaluated, and views that several others read, each evaluated once. `hold` makes
them, `release` drops them, `evaluated` goes through a large scope in portions of bounded memory. Nothing is written to the file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from charz.schema import ddl

from .installed import Catalog, Relation, catalog
from .keys import CHAIN, TARGET, natural
from .layers import COST, HARDWARE, MAPPING, MODELS, REPORT, ROLLUP, WORKLOAD

if TYPE_CHECKING:
    from charz.schema.row import Row

K = TypeVar("K")

COSTED = "shape_cost"
"""View that takes most of the time of an answer, and that all reports of time and energy read."""

ENERGY = "energy_profile"
"""Fact whose rows override those of rules (`part_energy`): a changed energy that a part does not state is a new row."""

SUPPORT = "part_support"
"""Maintained table that joins models to parts."""

BACKENDS = "part_backend"
"""Maintained table that joins products of models to the tiles of parts."""

RUN_KERNELS_AT_ONCE = 100_000
"""Kernels of runs whose intermediate results are in memory at once: about 2 kB each, for networks of a thousand kernels too."""

KERNELS_AT_ONCE = 250_000
"""Kernels on parts that are costed together: about 2 kB each in memory."""

SUMMED_AT_ONCE = 300_000
"""Kernels on parts that are costed together for sums alone: the engine keeps their shapes, which are narrower and fewer."""

KERNELS_PER_SUM = 4
"""Kernels that take as much memory as the sums of one run on one part: networks of three kernels ran out of memory, measured."""

NARROW = 100_000
"""Largest number of kernels on parts whose costs are evaluated step by step: planning takes as long as evaluation, and data read twice fit
in memory (tiles of 100,000 kernels on parts are half a million rows)."""

MEMORY_GB = 0.7
"""Memory limit for the evaluation of several portions, which keeps the process below 1 GB: dropped temporary tables stay until the
transaction ends, but may go to disk. [GB]"""

REORDERING = "join_order"
"""Optimizer that costs more than it gains on data that several relations read: the engine overestimates joins by eight keys 1e6 times.
With joins in the order of the text, a transformer's costs take 0.7 of the time, a CNN's 0.97."""

Triple = tuple[str, str, str]
"""Part, backend and precision of a target."""


@dataclass(frozen=True, slots=True)
class Varied:
    """A number in which copies of a part differ from the part."""

    table: str
    key: tuple[tuple[str, str], ...]
    """Columns and values that identify its row; the part is among them."""
    column: str
    values: Sequence[float] | Sequence[str] | Sequence[float | str]
    """Value of each copy."""

    @property
    def hardware(self) -> str:
        """Part of the number."""
        return dict(self.key)["hardware"]


@dataclass(frozen=True, slots=True)
class Copies:
    """Copies of a part with other numbers. A copy under the part's own name replaces it."""

    base: str
    names: Sequence[str]
    varied: Sequence[Varied]


def changed(numbers: Sequence[Varied]) -> list[Copies]:
    """Replace parts by copies with some numbers changed; if a number is given twice, the last counts."""
    last = {(number.table, number.key, number.column): number for number in numbers}
    parts = dict.fromkeys(number.hardware for number in last.values())
    return [Copies(part, [part], [n for n in last.values() if n.hardware == part]) for part in parts]


@dataclass(frozen=True, slots=True)
class Ground:
    """Parts with changed numbers under their own names, evaluated once for several scopes."""

    database: str
    """Database in memory with the changed tables."""
    parts: Sequence[str]
    tables: Mapping[str, str]
    """Its facts and maintained tables, each with the condition on the file's rows that are used with its own."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The models, parts, scenarios and changes that relations are evaluated for; None means as in the file."""

    models: Sequence[str] | None = None
    hardware: Sequence[str] | None = None
    targets: Collection[Triple] | None = None
    scenarios: Sequence[Mapping[str, Any]] | None = None
    """Rows of `scenario`."""
    stored: Collection[int] = ()
    """Ids of the scenarios whose runs are copied from the file; other runs are evaluated."""
    runs: str = "TRUE"
    """Condition on the rows of `run`."""
    copies: Sequence[Copies] = ()
    hidden: Collection[str] = ()
    """Facts that the caller's temporary tables replace: what depends on them is evaluated again."""
    ground: Ground | None = None
    """Parts with changed numbers, already evaluated (`lay`)."""

    @property
    def changed(self) -> Sequence[str]:
        """Parts that copies replace."""
        return self.ground.parts if self.ground else [name for copies in self.copies for name in copies.names]


@dataclass(frozen=True, slots=True)
class Portion:
    """A portion of a scope, as `evaluated` yields it."""

    scope: Scope
    is_first: bool
    """True for the first portion with these models and scenarios: only in it are relations without parts read."""


def hold(
    connection: duckdb.DuckDBPyConnection,
    scope: Scope,
    wanted: Collection[str] | None = None,
    known: Catalog | None = None,
    held: Collection[str] = (),
) -> list[str]:
    """Make every view of a connection answer for the scope and nothing else.

    Returns the names of the temporary tables, for `release`. With `wanted`, only relations that these depend on are scoped. `known` is
    the file's catalog, if already read; `held` are temporary tables and views of the same scope, which stay.
    """
    holder = _Holder(connection, scope, wanted, known or catalog(connection), held)
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
    """Write the condition on a maintained hardware table's rows that those of some parts, `own`, do not replace; empty if they replace
    all."""
    if "hardware" in table.columns:
        return f"hardware NOT IN {listed(parts)}"
    return f"{CHAIN} NOT IN (SELECT {CHAIN} FROM {own})" if CHAIN in table.columns else ""


@contextlib.contextmanager
def planned_briefly(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Disable most of the engine's optimizers: for a question of few rows they take longer than they save. The setting applies to the
    whole instance, so it is restored."""
    query = f"""
        SELECT current_setting('disabled_optimizers'), STRING_AGG(name, ',')
        FROM duckdb_optimizers() WHERE name NOT IN {listed(_PLANNED)}
    """
    ((before, disabled),) = connection.execute(query).fetchall()
    connection.execute(f"SET disabled_optimizers = '{disabled}'")
    try:
        yield
    finally:
        with contextlib.suppress(duckdb.TransactionException):
            connection.execute(f"SET disabled_optimizers = '{before}'")


_PLANNED = (
    "filter_pushdown", "filter_pullup", "unused_columns", "join_order", "build_side_probe_side", "cte_inlining", "deliminator",
    "in_clause", "limit_pushdown", "top_n",
)  # fmt: skip
"""Optimizers that stay enabled for a plan of few rows."""


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


def evaluated(
    connection: duckdb.DuckDBPyConnection,
    scope: Scope,
    wanted: Collection[str],
    done: Callable[[str], None] = lambda _: None,
) -> Iterator[Portion]:
    """Yield the portions of a scope one after another, each small enough for memory; until the next one, the wanted relations answer for
    the portion. `done` receives a description of each."""
    known = catalog(connection)
    blocks = _blocks(connection, scope, wanted)
    spared = {"memory_limit": f"{MEMORY_GB}GB"} if sum(len(parts) for _, parts in blocks) > 1 else {}
    with _set(connection, spared):
        for block, parts_at_once in blocks:
            held = hold(connection, block, wanted, known)
            try:
                held += _hold_views(connection, wanted, known, (WORKLOAD,))
                for number, parts in enumerate(parts_at_once):
                    portion = dataclasses.replace(block, hardware=parts) if len(parts_at_once) > 1 else block
                    if portion is not block:
                        _keep_parts(connection, parts, held)
                    is_narrow = bool(parts) and kernel_count(connection, portion) <= NARROW
                    with shared(connection, known, wanted, is_narrow, held):
                        yield Portion(portion, number == 0)
                    done(about(portion))
            finally:
                release(connection, held)


def portions(connection: duckdb.DuckDBPyConnection, scope: Scope, wanted: Collection[str]) -> Iterator[Scope]:
    """Yield the portions that `evaluated` goes through, for evaluation elsewhere."""
    for block, parts_at_once in _blocks(connection, scope, wanted):
        for parts in parts_at_once:
            yield dataclasses.replace(block, hardware=parts) if len(parts_at_once) > 1 else block


def portion_count(connection: duckdb.DuckDBPyConnection, scope: Scope, wanted: Collection[str]) -> int:
    """Count the portions that `evaluated` goes through."""
    return sum(len(parts) for _, parts in _blocks(connection, scope, wanted))


def kernel_count(connection: duckdb.DuckDBPyConnection, scope: Scope) -> int:
    """Count the kernels of all runs of a scope on all its parts, without those that a backend inserts."""
    weights = _weights(connection, scope, is_of_parts=True)
    return sum(sum(kernels.values()) for found in weights.values() for _, _, kernels, _ in found)


def about(scope: Scope) -> str:
    """Describe a scope by its models and number of parts."""
    models = scope.models or ()
    names = " to ".join(dict.fromkeys((*models[:1], *models[-1:])))
    return f"{names} on {len(scope.hardware)} parts" if scope.hardware else names


def stored(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the qualified name of a table of the file, even if a temporary table has its name."""
    ((current,),) = connection.execute("SELECT current_database()").fetchall()
    return f"{ddl.quote(current)}.main.{ddl.quote(name)}"


def listed(values: Collection[object]) -> str:
    """Write texts or numbers as the right side of `IN`.

    >>> listed(["a100", 8])
    "('a100', 8)"
    """
    literals = (ddl.literal(value) if isinstance(value, str) else str(value) for value in values)
    return f"({', '.join(literals) or 'NULL'})"


def scenario_rows(
    connection: duckdb.DuckDBPyConnection, scenarios: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """Return rows of `scenario` by column name, all or those with some ids."""
    condition = "TRUE" if scenarios is None else f"scenario_id IN {listed(scenarios)}"
    found = connection.execute(f"SELECT * FROM scenario WHERE {condition} ORDER BY scenario_id")
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


_ALL_RUNS = "held_run"
"""Table of all runs of a scope while new ones are evaluated."""


class _Holder:
    """A maker of the temporary tables of one scope."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        scope: Scope,
        wanted: Collection[str] | None,
        known: Catalog,
        held: Collection[str],
    ) -> None:
        self.connection, self.scope, self.known = connection, scope, known
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
        """Return a table as the scope sees it: the file's, with the rows of parts already evaluated."""
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
        """Write the join that keeps the scope's targets of a table `t`, if it has rows of targets."""
        is_limited = self.scope.targets is not None and set(_TARGET) <= set(table.columns)
        return f"SEMI JOIN {_TARGETS} AS c USING ({', '.join(_TARGET)})" if is_limited else ""

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
        self._drop([name for name in made if not self.known.relations[name].is_table])

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
            return self._evaluate([r for r in self.known.of(WORKLOAD) if r.name in self.read], condition)

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
        """Restrict the views to these models and parts, after evaluating what depends on facts of others."""
        for name, values in (("model", self.scope.models), ("hardware", self.scope.hardware)):
            if values is not None and name not in self.held:
                self._table(name, f"SELECT * FROM {ddl.quote(name)} WHERE {name} IN {listed(values)}")

    def _take_facts(self) -> None:
        """Make the facts of parts already evaluated."""
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


# Views that several others read


def _keep_parts(connection: duckdb.DuckDBPyConnection, parts: Sequence[str], held: list[str]) -> None:
    """Restrict the views to some parts of a block: costs read parts from one of these tables, tiles from the other."""
    for name in (SUPPORT, BACKENDS):
        every = f"{name} of all parts"
        if every not in held:
            connection.execute(f"CREATE TEMP TABLE {ddl.quote(every)} AS SELECT * FROM {name}")
            held += [every, name]
        limited = f"SELECT * FROM {ddl.quote(every)} WHERE hardware IN {listed(parts)}"
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {limited}")


@contextlib.contextmanager
def shared(
    connection: duckdb.DuckDBPyConnection,
    known: Catalog,
    wanted: Collection[str],
    is_narrow: bool,
    held: Collection[str] = (),
) -> Iterator[None]:
    """Evaluate once, for the duration of the block, the views of runs, costs, sums and reports that several wanted ones read; in a narrow
    scope also tiles, every cost, and views read twice by one other: the engine plans a view each time it is read. `held` are views that
    are already temporary tables."""
    layers = (WORKLOAD, *(MODELS if is_narrow else (COST, ROLLUP, REPORT)))
    made = _hold_views(connection, wanted, known, layers, is_narrow, held)
    try:
        yield
    finally:
        release(connection, made)


def _hold_views(
    connection: duckdb.DuckDBPyConnection,
    wanted: Collection[str],
    known: Catalog,
    layers: Collection[str],
    is_narrow: bool = False,
    held: Collection[str] = (),
) -> list[str]:
    """Evaluate the views of some layers that the wanted ones read more than once into temporary tables."""
    made = []
    with contextlib.nullcontext() if is_narrow else in_order(connection):
        for name, columns in pins(known, wanted, layers, is_narrow, held):
            selected = ", ".join(map(ddl.quote, columns))
            # In one order of rows, sums have the same last digit each time.
            order = f" ORDER BY {', '.join(known.relations[name].grain)}" if name == COSTED and is_narrow else ""
            connection.execute(f"CREATE TEMP TABLE {ddl.quote(name)} AS SELECT {selected} FROM {ddl.quote(name)}{order}")
            made.append(name)
    return made


def pins(
    known: Catalog, wanted: Collection[str], layers: Collection[str], is_narrow: bool, held: Collection[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the views of some layers that the wanted ones read more than once, each after those it reads, with the columns needed; of the
    costs only the last unless the scope is narrow, because each link is read by the next."""
    ends = {table.name for layer in (HARDWARE, WORKLOAD) for table in known.tables(layer)}.union(held)
    below = known.upstream(wanted, ends)
    readers: Counter[str] = Counter()
    for name in below.difference(ends):
        if name in known.relations:
            readers.update(_read(known.relations[name]) if is_narrow else known.relations[name].reads)
    # Views of tiles are combined by UNION, all columns of each.
    needed = columns_read(
        known, {*wanted, *(tiles.name for tiles in known.of(MAPPING))} if is_narrow else wanted, below
    )
    for relation in known.of(*layers):
        if relation.name not in below or relation.name in ends:
            continue
        is_shared = readers[relation.name] + (relation.name in wanted) > 1
        is_one = is_narrow or relation.layer != COST or relation.name == COSTED
        # Views after the costs are planned by the actual number of costs.
        is_step = is_narrow and relation.name == COSTED and relation.name not in wanted
        if (is_shared and is_one) or is_step:
            yield relation.name, needed[relation.name]


def _read(relation: Relation) -> Iterator[str]:
    """Yield the names that a relation reads, each as often as its text does."""
    for name in relation.reads:
        yield from [name] * len(re.findall(rf"\b(?:FROM|JOIN)\s+{name}\b", relation.body, re.IGNORECASE))


def columns_read(known: Catalog, wanted: Collection[str], below: Collection[str]) -> dict[str, list[str]]:
    """Find the columns of each view that its readers name, or pass on to the wanted ones."""
    named: dict[str, set[str]] = {name: set() for name in below}
    for relation in reversed(list(known.relations.values())):
        if relation.name not in below:
            continue
        if relation.name in wanted:
            named[relation.name].update(relation.columns)
        words = named[relation.name] | set(re.findall(r"\w+", relation.body))
        for read in relation.reads:
            named.setdefault(read, set()).update(words)
    return {
        name: [column for column in known.relations[name].columns if column in words]
        for name, words in named.items()
        if name in known.relations
    }


# Portions


def _blocks(
    connection: duckdb.DuckDBPyConnection, scope: Scope, wanted: Collection[str]
) -> list[tuple[Scope, list[Sequence[str]]]]:
    """Split the scope into models and scenarios whose runs are in memory together, each with lists of parts to evaluate at a time."""
    known = catalog(connection)
    of_parts = {relation.name for relation in known.of(*MODELS)}
    is_of_parts = bool(known.upstream(wanted) & of_parts)
    is_summed = all(set(natural(known.relations[name].grain)) <= set(TARGET) for name in of_parts.intersection(wanted))
    most = SUMMED_AT_ONCE if is_summed else KERNELS_AT_ONCE
    weights = _weights(connection, scope, is_of_parts)
    found: list[tuple[Scope, list[Sequence[str]]]] = []
    for models, rows in _packed_runs(weights, scope):
        numbers = None if rows is None else {row["scenario_id"] for row in rows}
        block = dataclasses.replace(scope, models=models, scenarios=rows) if models is not None else scope
        of_part: Counter[str] = Counter()
        for model in models or ():
            for number, _, kernels, _ in weights[model]:
                if numbers is None or number in numbers:
                    of_part.update({part: count + KERNELS_PER_SUM for part, count in kernels.items()})
        found.append((block, list(_packed(of_part, most)) if is_of_parts else [()]))
    return found or [(scope, [scope.hardware or ()])]


Weight = tuple[int, Mapping[str, Any], Mapping[str, int], int]
"""Id of a scenario, its row, and the number of kernels of its run on each part and in the run itself."""


def _weights(connection: duckdb.DuckDBPyConnection, scope: Scope, is_of_parts: bool) -> dict[str, list[Weight]]:
    """Count the kernels of each model's runs by scenario and part, without those that a backend inserts."""
    models = scope.models
    of_models = "TRUE" if models is None else f"model IN {listed(models)}"
    if models is None:
        models = [m for (m,) in connection.execute("SELECT model FROM model ORDER BY model").fetchall()]
    query = f"SELECT model, backend, COUNT(*) FROM kernel WHERE {of_models} GROUP BY model, backend"
    kernels = {(model, backend): count for model, backend, count in connection.execute(query).fetchall()}
    rows = scenario_rows(connection) if scope.scenarios is None else scope.scenarios
    parts: dict[tuple[str, str], list[str]] = {}
    for part, backend, precision in _targets(connection, scope) if is_of_parts else ():
        parts.setdefault((backend, precision), []).append(part)

    def weight(model: str, row: Mapping[str, Any]) -> Weight:
        count = kernels.get((model, row["backend"]), 0)
        on = parts.get((row["backend"], row["precision"]), ())
        return row["scenario_id"], row, dict.fromkeys(on, count), count

    return {model: [weight(model, row) for row in rows] for model in models}


CONDITIONS = (
    "batch", "sequence", "context", "phase", "precision", "memory_format", "input_host_fraction", "host_factor",
    "cache_state", "power", "backend",
)  # fmt: skip
"""Columns of a scenario; runs that differ only in the last are compared kernel by kernel."""


def _targets(connection: duckdb.DuckDBPyConnection, scope: Scope) -> Collection[Triple]:
    if scope.targets is not None:
        return scope.targets
    condition = "TRUE" if scope.hardware is None else f"hardware IN {listed(scope.hardware)}"
    return connection.execute(f"SELECT hardware, backend, precision FROM {SUPPORT} WHERE {condition}").fetchall()


def _packed_runs(
    weights: Mapping[str, Sequence[Weight]], scope: Scope
) -> Iterator[tuple[Sequence[str] | None, Sequence[Mapping[str, Any]] | None]]:
    """Group models until their runs are too many; split a model with too many runs into groups of its scenarios."""
    counts = {model: {number: count for number, _, _, count in found} for model, found in weights.items()}
    for models in _packed({model: sum(of.values()) for model, of in counts.items()}, RUN_KERNELS_AT_ONCE):
        held = sum((Counter(counts[model]) for model in models), Counter[int]())
        if held.total() <= RUN_KERNELS_AT_ONCE or scope.scenarios is None:
            yield models, scope.scenarios
            continue
        groups = _grouped(scope.scenarios)
        sizes = {i: sum(held[row["scenario_id"]] for row in group) for i, group in enumerate(groups)}
        for numbers in _packed(sizes, RUN_KERNELS_AT_ONCE):
            yield models, [row for i in numbers for row in groups[i]]


def _grouped(rows: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Group scenarios that differ only in the backend."""

    def alike(row: Mapping[str, Any]) -> str:
        return repr([row.get(name) for name in CONDITIONS[:-1]])

    return [list(group) for _, group in itertools.groupby(sorted(rows, key=alike), alike)]


def _packed(sizes: Mapping[K, int], most: int) -> list[list[K]]:
    """Group keys in order until their sizes exceed the limit; returns at least one list."""
    found: list[list[K]] = [[]]
    held = 0
    for name, size in sizes.items():
        if found[-1] and held + size > most:
            found.append([])
            held = 0
        found[-1].append(name)
        held += size
    return found


def in_order(connection: duckdb.DuckDBPyConnection) -> contextlib.AbstractContextManager[None]:
    """Join in the order of the text within the block, for questions of many rows (`REORDERING`)."""
    return _set(connection, {"disabled_optimizers": REORDERING})


@contextlib.contextmanager
def _set(connection: duckdb.DuckDBPyConnection, settings: Mapping[str, str]) -> Iterator[None]:
    """Apply settings of the engine within the block."""
    query = "SELECT value FROM duckdb_settings() WHERE name = ?"
    before = {name: connection.execute(query, [name]).fetchall()[0][0] for name in settings}
    try:
        for name, value in settings.items():
            connection.execute(f"SET {name} = '{value}'")
        yield
    finally:
        with contextlib.suppress(duckdb.TransactionException):
            for name, value in before.items():
                connection.execute(f"SET {name} = '{value}'")
