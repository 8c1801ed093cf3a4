"""Triggers that keep maintained tables equal to `rebuild.NAME`, whichever client writes the facts.

A statement on a fact queues the keys whose rows it may change, parts (`PARTS`) or runs (`RUNS`). The queue's own triggers then delete
the rows of those keys from each maintained table and insert the recomputed ones, table after table: triggers of one event fire in order
of their names, each to its end. Views that several tables read are evaluated once, into a table of `rebuild` that is emptied
afterwards. Bodies contain the text of intermediate views, so that these views can be replaced. A queue keeps the keys evaluated since
the last refresh: a trigger may not empty the table that fires it, and another trigger on every fact would slow each opening of the
file.

A client's write to a maintained table would change nothing and disappear at the next change, so it is refused: every such statement
fails unless `rebuild.writing` has a row, which a queue's first trigger, and charz's own writes (`writing`), insert and the last trigger
deletes.

Limits of triggers in DuckDB 2.0: `MERGE` and `ON CONFLICT DO UPDATE` into these facts are refused; names resolve in the current
database; `EXPORT DATABASE` and `COPY FROM DATABASE` drop triggers.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from charz.schema import ddl

from . import answers, compose, graph, refused, restate
from .installed import Relation, catalog, column_names, comparable, relations
from .keys import CHAIN, place
from .layers import HARDWARE, REBUILD, WORKLOAD

if TYPE_CHECKING:
    from charz.schema.row import Row

NEW, OLD = "charz_new", "charz_old"
"""Transition tables: the rows after and before a statement."""

_PREFIX = "charz_"
"""Prefix of the names of triggers."""

EVENTS = ("INSERT", "UPDATE", "DELETE")
_TRANSITIONS = {"INSERT": (NEW,), "UPDATE": (OLD, NEW), "DELETE": (OLD,)}
_REFERENCING = {NEW: f"NEW TABLE AS {NEW}", OLD: f"OLD TABLE AS {OLD}"}

SHARED_VALUES = {"efficiency": ("kernel_class", "operator_name", "precision_class")}
"""Columns in which rows of one part decide which rows other parts have: every value in any row is a row of all parts."""


SHIPPED = "shipped_part"
"""Fact by which parts are compared: rules read it for all parts, whichever are evaluated."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The keys of one layer whose rows have changed."""

    layer: str
    table: str
    keys: tuple[str, ...]

    @property
    def definition(self) -> str:
        """Statement that creates the queue's table."""
        types = {"scenario_id": "BIGINT"}
        columns = ", ".join(f"{key} {types.get(key, 'VARCHAR')} NOT NULL" for key in self.keys)
        return f"CREATE TABLE {self.table} ({columns})"

    def holds(self, columns: Sequence[str]) -> str:
        """Write the condition that the key of a row was queued. A table with part of the key is compared by that part; for a table that
        parts share, one queued part suffices."""
        places = [(place(columns, key), key) for key in self.keys]
        tests = [f"{column} IN (SELECT {key} FROM {NEW})" for column, key in places if column is not None]
        if not tests and CHAIN in columns:
            return f"{CHAIN} IN (SELECT {CHAIN} FROM {_CHAINS} WHERE hardware IN (SELECT hardware FROM {NEW}))"
        return " AND ".join(tests)

    def leaves(self, columns: Sequence[str]) -> str:
        """Write the condition on rows to delete: rows that are evaluated again, or whose key no longer exists."""
        is_common = CHAIN in columns and not set(self.keys) & set(columns)
        return self.holds(columns) + (f" OR {CHAIN} NOT IN (SELECT {CHAIN} FROM {_CHAINS})" if is_common else "")


_CHAINS = "main.part_backend"
"""Table of the groups of efficiencies that parts use."""

TURN = f"{REBUILD}.turn"
"""Table of one row that every maintaining transaction updates, so that the engine refuses the second of two concurrent transactions;
each would otherwise evaluate only the rows that it sees."""

READ = f"{REBUILD}.read_name"
"""Table of the names by which triggers read tables and views."""

QUEUE = f"{REBUILD}.USE_this_database_before_you_write_to_it"
"""Prefix of the queues' names. A trigger's body names tables in the current database; if a client writes through an alias (`UPDATE
x.hardware_power`), the engine fails to find the queue and its message shows this name, which tells the client what to do."""

PARTS = Queue(HARDWARE, f"{QUEUE}_hardware", ("hardware",))
RUNS = Queue(WORKLOAD, f"{QUEUE}_run", ("model", "scenario_id"))


WRITING = f"{REBUILD}.writing"
"""Table that has a row while permitted writes to maintained tables run."""

_OPEN, _CLOSE = f"INSERT INTO {WRITING} VALUES (TRUE)", f"DELETE FROM {WRITING}"


@dataclass(frozen=True, slots=True)
class Trigger:
    """Trigger to create."""

    table: str
    name: str
    event: str
    statement: str
    transitions: tuple[str, ...]

    @property
    def sql(self) -> str:
        """Statement that creates the trigger.

        >>> queue = "INSERT INTO rebuild.queue SELECT hardware FROM charz_new"
        >>> print(Trigger("main.price", "charz_insert_hardware", "INSERT", queue, (NEW,)).sql)
        CREATE TRIGGER charz_insert_hardware AFTER INSERT ON main.price REFERENCING NEW TABLE AS charz_new FOR EACH STATEMENT
        INSERT INTO rebuild.queue SELECT hardware FROM charz_new
        """
        referencing = " ".join(_REFERENCING[t] for t in self.transitions)
        referencing = f"REFERENCING {referencing} " if referencing else ""
        return f"CREATE TRIGGER {self.name} AFTER {self.event} ON {self.table} {referencing}FOR EACH STATEMENT\n{self.statement}"


def install(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the triggers, their queues, and the list of them; none may exist."""
    from charz.schema import database
    from charz.schema.meta import MaintenanceTrigger

    maker = _Maker(connection)
    for queue in (PARTS, RUNS):
        connection.execute(queue.definition)
    connection.execute(f"CREATE TABLE {WRITING} (is_open BOOLEAN NOT NULL)")
    connection.execute(f"CREATE TABLE {TURN} AS SELECT CAST(0 AS BIGINT) AS number")
    connection.execute(f"CREATE TABLE {READ} AS SELECT UNNEST(?) AS name", [maker.names()])
    for name in [*maker.staged[PARTS], *maker.staged[RUNS]]:
        connection.execute(f"CREATE TABLE {_stage(name)} AS SELECT * FROM {ddl.quote(name)} LIMIT 0")
    made = list(maker.triggers())
    for trigger in made:
        connection.execute(trigger.sql)
    kept = {(table, name): sql for table, name, _, sql in _present(connection)}
    rows = [
        MaintenanceTrigger(
            table_name=t.table.rpartition(".")[2],
            trigger_name=t.name,
            event=t.event,
            position=i,
            sql=kept[t.table.rpartition(".")[2], t.name],
        )
        for i, t in enumerate(made)
    ]
    database.insert_rows(connection, rows)


def drop(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop the triggers that charz made, with queues and stages; a user's own triggers stay."""
    for table, name, schema, _ in _present(connection):
        if name.startswith(_PREFIX):
            connection.execute(f"DROP TRIGGER {ddl.quote(name)} ON {ddl.quote(schema)}.{ddl.quote(table)}")
    connection.execute("DELETE FROM maintenance_trigger")
    query = (
        f"SELECT table_name FROM duckdb_tables() WHERE schema_name = '{REBUILD}' AND database_name = current_database()"
    )
    for (table,) in connection.execute(query).fetchall():
        connection.execute(f"DROP TABLE {REBUILD}.{ddl.quote(table)}")


@contextlib.contextmanager
def suspended(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Drop all triggers for the duration of the block, in the caller's transaction, which restores them if it fails."""
    drop(connection)
    yield
    install(connection)


@contextlib.contextmanager
def silenced(connection: duckdb.DuckDBPyConnection, events: Collection[tuple[str, str]]) -> Iterator[None]:
    """Drop the triggers of some facts and events for the duration of the block, in the caller's transaction, and create them again with
    the text that the engine reports."""
    listed = connection.execute("SELECT table_name, trigger_name, event FROM maintenance_trigger").fetchall()
    wanted = {(table, name) for table, name, event in listed if (table, event) in events}
    dropped = [(table, name, schema, sql) for table, name, schema, sql in _present(connection) if (table, name) in wanted]
    for table, name, schema, _ in dropped:
        connection.execute(f"DROP TRIGGER {ddl.quote(name)} ON {ddl.quote(schema)}.{ddl.quote(table)}")
    yield
    for *_, sql in dropped:
        connection.execute(sql)


@contextlib.contextmanager
def writing(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Allow writes to maintained tables within the block, in the caller's transaction."""
    schema, table = WRITING.split(".")
    query = "SELECT 1 FROM duckdb_tables() WHERE (database_name, schema_name, table_name) = (current_database(), ?, ?)"
    if not connection.execute(query, [schema, table]).fetchall():  # no trigger exists that refuses
        yield
        return
    connection.execute(_OPEN)
    try:
        yield
    finally:
        with contextlib.suppress(duckdb.TransactionException):  # a failed statement has undone it already
            connection.execute(_CLOSE)


def are_kept(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return True if the file still has every trigger that it lists, so that its maintained tables follow from its facts. `EXPORT DATABASE`
    loses the triggers."""
    present = {(table, name): comparable(sql) for table, name, _, sql in _present(connection)}
    listed = connection.execute("SELECT table_name, trigger_name, sql FROM maintenance_trigger").fetchall()
    return bool(listed) and all(present.get((table, name)) == comparable(sql) for table, name, sql in listed)


def missing(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the triggers that charz installed and that the file lacks or has changed, as `name on table`."""
    present = {(table, name): comparable(sql) for table, name, _, sql in _present(connection)}
    listed = connection.execute("SELECT table_name, trigger_name, sql FROM maintenance_trigger").fetchall()
    known = {(table, name): comparable(sql) for table, name, sql in listed}
    wanted = [(trigger.table.rpartition(".")[2], trigger.name) for trigger in expected(connection)]
    return [
        f"{name} on {table}" for table, name in wanted if known.get((table, name), "") != present.get((table, name))
    ]


def expected(connection: duckdb.DuckDBPyConnection) -> list[Trigger]:
    """Return the triggers that follow from the file's catalog of views."""
    return list(_Maker(connection).triggers())


def clears(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return, for each fact, the column by which a changed row finds the answers to delete; empty if it deletes all."""
    return dict(_Maker(connection).clears())


def evaluations_of_parts(connection: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return, for some maintained tables of parts, the query for the rows of the parts in the table `NEW`, and the condition on these
    rows in the table."""
    maker = _Maker(connection)
    found = {}
    for table in maker.kept(PARTS):
        if table.name not in tables:
            continue
        columns = column_names(connection, table.name)
        found[table.name] = maker.evaluation(PARTS, table, staged=False), PARTS.holds(columns) or "TRUE"
    return found


def _present(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str, str]]:
    query = (
        "SELECT table_name, trigger_name, schema_name, sql FROM duckdb_triggers()"
        " WHERE database_name = current_database() ORDER BY table_name, trigger_name"
    )
    return connection.execute(query).fetchall()


def _stage(name: str) -> str:
    return f"{REBUILD}.{ddl.quote(name)}"


class _Maker:
    """Builder of all triggers for the relations of a file."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        from charz.schema import database
        from charz.schema.row import ModelRow

        self._relations = {r.name: r for r in relations(connection)}
        self._columns = {name: column_names(connection, name) for name in self._relations}
        self._facts = {t.TABLE: list(t.model_fields) for t in database.TABLES if not issubclass(t, ModelRow)}
        self._tables = {queue: self.kept(queue) for queue in (PARTS, RUNS)}
        self.staged = {queue: self._shared(queue) for queue in (PARTS, RUNS)}
        self._answered = answers.facts_read(catalog(connection)) if answers.relations(connection) else set()
        self._answered_models = [
            t.TABLE for t in database.TABLES if issubclass(t, ModelRow) and t.TABLE in self._answered
        ]

    def triggers(self) -> Iterator[Trigger]:
        """Yield all triggers, those of facts before those of queues: the engine binds a trigger with all that it fires."""
        if "scenario" in self._read(RUNS):
            refusal = f"INSERT INTO {WRITING} {refused.scenarios(NEW)}"
            for event in ("INSERT", "UPDATE"):
                yield Trigger("main.scenario", f"charz_{event.lower()}_check", event, refusal, (NEW,))
        for table, stated, derived in restate.ratios() if restate.DERIVED in self._relations else ():
            for event in EVENTS:
                yield from self._restating(table, stated, derived, event)
        for fact in self._facts:
            if fact == restate.RESTATED:
                continue
            queues = [queue for queue in (PARTS, RUNS) if fact in self._read(queue)]
            for event in EVENTS:
                yield from self._queueing(fact, event, queues)
                if fact in self._answered and PARTS not in queues:
                    changed = "SELECT hardware FROM (" + self._changed_parts(fact, _TRANSITIONS[event]) + ")"
                    yield self._forgetting(fact, event, "hardware", changed)
        for fact in self._answered_models:
            for event in EVENTS:
                changed = " UNION ".join(f"SELECT model FROM {t}" for t in _TRANSITIONS[event])
                yield self._forgetting(fact, event, "model", changed)
        for queue, tables in self._tables.items():
            for kept in tables:
                yield from self._refusing(queue, kept)
        for queue, tables in self._tables.items():
            if not tables:
                continue
            statements = [("turn", self._turn()), *self._rebuilding(queue, tables)]
            for number, (what, statement) in enumerate(statements):
                yield Trigger(queue.table, f"charz_{number:02d}_{what}", "INSERT", statement, (NEW,))

    def clears(self) -> Iterator[tuple[str, str]]:
        """Yield each fact that answers depend on, with the column by which a changed row selects the answers to delete."""
        own = {"model": "model", "scenario": "scenario_id"}
        for fact, columns in self._facts.items():
            if fact == restate.RESTATED or not {fact} & (self._answered | self._read(PARTS) | self._read(RUNS)):
                continue
            is_of_runs = fact in self._read(RUNS)
            yield fact, own.get(fact, "") if is_of_runs else next((n for n in _NARROWING if n in columns), "")

    def _restating(self, table: type[Row], stated: str, derived: str, event: str) -> Iterator[Trigger]:
        """Yield triggers that store the derived value of a number that a client changes, before the part is evaluated again."""
        places = restate.changed(table, stated, derived, event, OLD, NEW)
        fact, transitions = f"main.{table.TABLE}", _TRANSITIONS[event]
        kept, name = f"main.{restate.RESTATED}", f"charz_0_{event.lower()}"
        if event != "INSERT":
            delete = f"DELETE FROM {kept} WHERE (hardware, field) IN ({places})"
            yield Trigger(fact, f"{name}_0_forget", event, delete, transitions)
        if event != "DELETE":
            numbers = self.evaluation(PARTS, self._relations[restate.DERIVED], staged=False)
            insert = (
                f"INSERT INTO {kept} BY NAME\nSELECT d.hardware, d.field, d.value AS derived_value FROM (\n{numbers}\n) AS d\n"
                f"SEMI JOIN ({places}) AS c ON c.hardware = d.hardware AND c.field = d.field WHERE d.value IS NOT NULL"
            )
            yield Trigger(fact, f"{name}_1_restate", event, insert, transitions)

    def _refusing(self, queue: Queue, table: Relation) -> Iterator[Trigger]:
        """Yield triggers that refuse a client's write to a maintained table and name the facts to change instead."""
        read = self._upstream([table.name])
        own = [f for f, columns in self._facts.items() if f in read and f != SHIPPED and queue.keys[0] in columns]
        own += [fact for fact in ("scenario",) if fact in read and queue is RUNS]
        rules = [fact for fact in self._facts if fact in read and fact not in own]
        message = (
            f"{table.name} is computed, and a write to it would have no effect: change {', '.join(own)}"
            if own
            else f"{table.name} is computed from rules, and a write to it would have no effect"
        )
        message += f"; the rules are {', '.join(rules)}" if rules else ""
        refusal = f"SELECT CAST(error({ddl.literal(message)}) AS BOOLEAN) WHERE NOT EXISTS (SELECT 1 FROM {WRITING})"
        for event in EVENTS:
            name = f"charz_{event.lower()}_refused"
            yield Trigger(f"main.{table.name}", name, event, f"INSERT INTO {WRITING} {refusal}", ())

    def names(self) -> list[str]:
        """Return every name that a trigger's statement may read."""
        return sorted({*self._relations, *(name for relation in self._relations.values() for name in relation.reads)})

    def _turn(self) -> str:
        """Write the statement that makes concurrent writing transactions conflict (`TURN`). It raises an error if a temporary table
        shadows a table that triggers read, since then even `main.hardware` resolves to the temporary table."""
        hiding = " UNION ALL ".join(
            f"SELECT {kind}_name AS name FROM duckdb_{kind}s() WHERE temporary" for kind in ("table", "view")
        )
        message = (
            "'the temporary table or view ' || MIN(name) || ' hides a table or view that the triggers of charz read: drop temp.'"
            " || MIN(name) || ', or write from another connection'"
        )
        found = f"SELECT CASE WHEN COUNT(*) > 0 THEN error({message}) ELSE 1 END FROM ({hiding})"
        return f"UPDATE {TURN} SET number = number + ({found} WHERE name IN (SELECT name FROM {READ}))"

    def kept(self, queue: Queue) -> list[Relation]:
        """Return the maintained tables of a layer."""
        return [r for r in self._relations.values() if r.is_table and r.layer == queue.layer]

    def _shared(self, queue: Queue) -> list[str]:
        """Return the views of the layer that several of its tables read: these are evaluated once for all tables."""
        readers = Counter(view for table in self._tables[queue] for view in table.reads)
        return [
            r.name
            for r in self._relations.values()
            if r.layer == queue.layer and not r.is_table and readers[r.name] > 1
        ]

    def _read(self, queue: Queue) -> set[str]:
        """Return all relations that the maintained tables of a layer read."""
        return self._upstream([table.name for table in self._tables[queue]])

    def _upstream(self, names: Sequence[str]) -> set[str]:
        """Return all relations that the given relations read, directly or through others."""
        return graph.ancestors(names, {name: relation.reads for name, relation in self._relations.items()})

    def _rebuilding(self, queue: Queue, tables: Sequence[Relation]) -> Iterator[tuple[str, str]]:
        """Yield the statements of a queue's triggers, in order, each with a word for its name."""
        yield "open", _OPEN
        for relation in self._relations.values():
            if relation.name in self.staged[queue]:
                name = _stage(relation.name)
                yield f"stage_{relation.name}", f"INSERT INTO {name} BY NAME\n{self.evaluation(queue, relation)}"
            elif relation in tables:
                name = f"main.{ddl.quote(relation.name)}"
                condition = queue.leaves(self._columns[relation.name])
                where = f" WHERE {condition}" if condition else ""
                yield f"delete_{relation.name}", f"DELETE FROM {name}{where}"
                # In the order of a complete refill, so that sums over the rows end in the same digits.
                rows = f"SELECT * FROM ({self.evaluation(queue, relation)}) ORDER BY {', '.join(relation.grain)}"
                yield f"insert_{relation.name}", f"INSERT INTO {name} BY NAME\n{rows}"
        for view in self.staged[queue]:
            yield f"empty_{view}", f"DELETE FROM {_stage(view)}"
        if self._answered:
            yield "forget_answers", f"DELETE FROM {answers.STORED} WHERE {queue.holds(queue.keys)}"
        yield "close", _CLOSE

    def evaluation(self, queue: Queue, relation: Relation, staged: bool = True) -> str:
        """Write the query for a relation's rows of the queued keys, with all inputs limited to these keys first."""
        stages = [name for name in self.staged[queue] if staged and name != relation.name]
        between = [r.name for r in self._relations.values() if not r.is_table and r.name not in stages]
        reads = {name: r.reads for name, r in self._relations.items()}
        parts = compose.ancestors(relation.name, reads, between)
        read = dict.fromkeys(name for part in (relation.name, *parts) for name in reads[part] if name not in parts)
        inputs = []
        for name in read:
            columns = [] if name == SHIPPED else self._columns.get(name) or self._facts.get(name) or []
            condition = queue.holds(columns)
            if name in stages:
                inputs.append((name, f"SELECT * FROM {_stage(name)}"))
            elif condition and (queue is PARTS or name in self._relations or relation.name == "run"):
                inputs.append((name, f"SELECT * FROM main.{ddl.quote(name)} WHERE {condition}"))
        text = compose.composed(relation.body, [*inputs, *((name, self._relations[name].body) for name in parts)])
        condition = queue.holds(self._columns[relation.name])
        return f"SELECT * FROM (\n{text}\n) WHERE {condition}" if condition else text

    def _queueing(self, fact: str, event: str, queues: Sequence[Queue]) -> Iterator[Trigger]:
        transitions = _TRANSITIONS[event]
        for queue in queues:
            if fact == "model":
                if queue is RUNS:
                    yield from self._of_model(event)
                continue
            keys = self._changed_parts(fact, transitions) if queue is PARTS else self._changed_runs(fact, transitions)
            name = f"charz_{event.lower()}_{queue.table.rpartition('_')[2]}"
            yield Trigger(f"main.{fact}", name, event, f"INSERT INTO {queue.table} {keys}", transitions)

    def _forgetting(self, fact: str, event: str, key: str, changed: str) -> Trigger:
        """Delete the answers of the parts or models whose rows change in a fact that answers read directly."""
        statement = f"DELETE FROM {answers.STORED} WHERE {key} IN ({changed})"
        return Trigger(f"main.{fact}", f"charz_{event.lower()}_answers", event, statement, _TRANSITIONS[event])

    def _of_model(self, event: str) -> Iterator[Trigger]:
        """Handle deleted and changed rows of `model`; ingest writes models and their runs itself."""
        if event == "DELETE" and self._tables[RUNS]:
            yield Trigger("main.model", "charz_00_turn", event, self._turn(), (OLD,))
            yield Trigger("main.model", "charz_0_open", event, _OPEN, ())
            yield Trigger("main.model", "charz_z_close", event, _CLOSE, ())
            for table in self._tables[RUNS]:
                statement = f"DELETE FROM main.{ddl.quote(table.name)} WHERE run.model IN (SELECT model FROM {OLD})"
                yield Trigger("main.model", f"charz_delete_{table.name}", event, statement, (OLD,))
            if self._answered:
                statement = f"DELETE FROM {answers.STORED} WHERE model IN (SELECT model FROM {OLD})"
                yield Trigger("main.model", "charz_delete_answers", event, statement, (OLD,))
        if event == "UPDATE":
            changed = f"SELECT model FROM {OLD} UNION SELECT model FROM {NEW}"
            keys = f"SELECT m.model, s.scenario_id FROM ({changed}) AS m CROSS JOIN main.scenario AS s"
            insert = f"INSERT INTO {RUNS.table} {keys}"
            yield Trigger("main.model", "charz_update_run", event, insert, (OLD, NEW))

    def _changed_runs(self, fact: str, transitions: Sequence[str]) -> str:
        changed = "main.scenario"
        if fact == "scenario":
            changed = f"({' UNION '.join(f'SELECT scenario_id FROM {t}' for t in transitions)})"
        return f"SELECT m.model, s.scenario_id FROM main.model AS m CROSS JOIN {changed} AS s"

    def _changed_parts(self, fact: str, transitions: Sequence[str]) -> str:
        """Write the query for the changed parts, by the narrowest column that the fact shares with them; for facts that decide what parts
        lend each other, their siblings too."""
        columns = self._facts[fact]
        condition = next((c for name, c in _NARROWING.items() if name in columns), None)
        if condition is None:
            return "SELECT hardware FROM main.hardware"
        changed = " UNION ALL ".join(f"SELECT * FROM {t}" for t in transitions)
        parts = f"SELECT h.hardware FROM main.hardware AS h SEMI JOIN ({changed}) AS c ON {condition}"
        if fact == "hardware":
            parts = f"SELECT DISTINCT hardware FROM ({changed})"
        if fact in SIBLINGS:
            lending = SIBLINGS[fact].format(changed=changed)
            parts += f" UNION\nSELECT hardware FROM main.{SHIPPED} WHERE architecture IN ({lending})"
        if fact in SHARED_VALUES:
            parts += f" UNION\nSELECT hardware FROM main.hardware WHERE {_values_differ(fact, transitions)}"
        return parts


_NARROWING = {
    "hardware": "c.hardware = h.hardware",
    "scope": "c.scope IN ('*', CONCAT('hardware:', h.hardware), CONCAT('architecture:', h.architecture),"
    " CONCAT('family:', h.family))",
    "compute_capability": "c.compute_capability = h.compute_capability",
    "family": "c.family IN ('*', h.family)",
}
"""Condition for the parts that a row of a fact concerns, by the column it has, the narrowest first."""

SIBLINGS = {
    SHIPPED: "SELECT architecture FROM ({changed})",
    "efficiency": f"SELECT l.architecture FROM main.{SHIPPED} AS l"
    " SEMI JOIN ({changed}) AS c ON c.scope = CONCAT('hardware:', l.hardware)",
}
"""Facts that decide what parts of one architecture lend each other, with the query for the architectures that a change concerns."""


def _values_differ(fact: str, transitions: Sequence[str]) -> str:
    """Write the condition that a statement added or removed a value in the columns that parts share."""
    columns = ", ".join(SHARED_VALUES[fact])
    after = f"SELECT {columns} FROM main.{fact}"
    before = after
    if NEW in transitions:
        before = f"{before} EXCEPT ALL SELECT {columns} FROM {NEW}"
    if OLD in transitions:
        before = f"({before}) UNION ALL SELECT {columns} FROM {OLD}"
    return f"EXISTS (({after}) EXCEPT ({before})) OR EXISTS (({before}) EXCEPT ({after}))"
