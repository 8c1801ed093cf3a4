"""Keeps maintained tables equal to what their files say, where Python writes the facts.

Ingest writes models, so it builds their runs here; what people change with any client is kept by `triggers`. Between
the two the same statements are evaluated: here each view in between is a temporary table, there a `WITH`. A temporary
table is found before a table or view of its name, also within views.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import duckdb

from charz.schema import database, ddl
from charz.schema.scenario import Scenario

from . import triggers
from .installed import Relation, column_names, relations
from .views import HARDWARE, REBUILD, WORKLOAD

RUNS_AT_ONCE = 400
"""Runs whose intermediate results are held at once: about 2 MB each."""


def refresh(connection: duckdb.DuckDBPyConnection) -> None:
    """Evaluate every maintained table anew, in the caller's transaction."""
    with triggers.suspended(connection):
        refill(connection)


@contextlib.contextmanager
def bulk(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Write facts of hardware and rules without firing a trigger for each; all is evaluated anew at the end."""
    with triggers.suspended(connection):
        yield
        refill(connection)


def add_runs(
    connection: duckdb.DuckDBPyConnection, *, models: Sequence[str] | None = None, scenarios: Sequence[int] | None = None
) -> None:
    """Evaluate the runs of some models or scenarios anew, whether they were there or not; in the caller's transaction.

    For a model just written, or deleted. Fires no trigger: nothing hangs on maintained tables.
    """
    condition = _condition(models, scenarios)
    tables = [r for r in relations(connection) if r.is_table and r.layer == WORKLOAD]
    for table in tables:
        connection.execute(f"DELETE FROM {_stored(connection, table.name)} WHERE {condition}")
    for chunk in _chunks(connection, models, scenarios):
        with _evaluated(connection, _condition(chunk, scenarios), chunk) as names:
            for name in names:
                connection.execute(
                    f"INSERT INTO {_stored(connection, name)} BY NAME SELECT * FROM temp.{ddl.quote(name)}"
                )


def refill(connection: duckdb.DuckDBPyConnection) -> None:
    """Evaluate every maintained table anew; the triggers must be dropped."""
    for table in relations(connection):
        if table.is_table and table.layer == HARDWARE:
            name = ddl.quote(table.name)
            connection.execute(f"DELETE FROM {name}; INSERT INTO {name} BY NAME SELECT * FROM {REBUILD}.{name}")
    add_runs(connection)


def ask(
    connection: duckdb.DuckDBPyConnection,
    *,
    scenarios: Sequence[Scenario] | None = None,
    models: Sequence[str] | None = None,
    hardware: Sequence[str] | None = None,
) -> None:
    """Make every view of this connection know these scenarios, models and parts and no others; the file stays as it is.

    For a what-if of one call, on a read-only connection: temporary tables hide those of the file. Not in a transaction
    that writes, since what is written then goes to them.
    """
    if scenarios is not None:
        connection.execute(ddl.create_table(Scenario).replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
        database.insert_rows(connection, scenarios)
        with _evaluated(connection, _condition(models, None), models, is_kept=True):
            pass
    elif models is not None:
        _hide(connection, WORKLOAD, "model", models)
    for name, values in (("model", models), ("hardware", hardware)):
        if values is not None:
            _keep_only(connection, name, name, values)
    if hardware is not None:
        _hide(connection, HARDWARE, "hardware", hardware)


def keep_targets(connection: duckdb.DuckDBPyConnection, targets: Iterable[tuple[str, str, str]]) -> None:
    """Make every view of this connection know these parts, backends and precisions together and no others, as `ask` does."""
    rows = ", ".join(f"({', '.join(map(ddl.literal, target))})" for target in targets) or "(NULL, NULL, NULL)"
    kept = f"SEMI JOIN (VALUES {rows}) AS t (hardware, backend, precision) USING (hardware, backend, precision)"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE part_support AS SELECT s.* FROM part_support AS s {kept}")


def differences(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Rows by which each maintained table differs from its evaluation anew; empty when all is well. Reads, writes nothing."""
    found = {}
    for table in relations(connection):
        if table.is_table and table.layer == HARDWARE:
            found[table.name] = _difference(connection, table.name, f"{REBUILD}.{ddl.quote(table.name)}", "TRUE")
    names = [r.name for r in relations(connection) if r.is_table and r.layer == WORKLOAD]
    found |= dict.fromkeys(names, 0)
    for chunk in _chunks(connection, None, None):
        condition = _condition(chunk, None)
        with _evaluated(connection, condition, chunk):
            for name in names:
                found[name] += _difference(connection, name, f"temp.{ddl.quote(name)}", condition)
    known = _list("SELECT model FROM model")
    for name in names:  # rows of models that are no more
        query = f"SELECT count(*) FROM {_stored(connection, name)} WHERE model NOT IN {known}"
        found[name] += connection.execute(query).fetchall()[0][0]
    return {name: count for name, count in found.items() if count}


def _difference(connection: duckdb.DuckDBPyConnection, name: str, anew: str, condition: str) -> int:
    columns = ", ".join(map(ddl.quote, column_names(connection, name)))
    kept = f"SELECT {columns} FROM {_stored(connection, name)} WHERE {condition}"
    fresh = f"SELECT {columns} FROM {anew}"
    query = f"SELECT count(*) FROM ((({kept}) EXCEPT ALL ({fresh})) UNION ALL (({fresh}) EXCEPT ALL ({kept})))"
    return int(connection.execute(query).fetchall()[0][0])


@contextlib.contextmanager
def _evaluated(
    connection: duckdb.DuckDBPyConnection, condition: str, models: Sequence[str] | None, is_kept: bool = False
) -> Iterator[list[str]]:
    """Temporary tables of the runs for which the condition holds, each after those it reads; yields the names of those
    that are maintained, which stay if `is_kept`."""
    known = [r for r in relations(connection) if r.layer == WORKLOAD]
    wanted = _needed(known)
    made: list[str] = []
    try:
        for relation in known:
            if relation.name not in wanted:
                continue
            body = relation.body
            if relation.name == "run":
                body = f"SELECT * FROM ({body}) WHERE {condition}"
            elif models is not None and "run" not in _upstream(relation, known):
                if "model" in column_names(connection, relation.name):
                    body = f"SELECT * FROM ({body}) WHERE {_condition(models, None)}"
            connection.execute(f"CREATE TEMP TABLE {ddl.quote(relation.name)} AS {body}")
            made.append(relation.name)
        tables = [r.name for r in known if r.is_table]
        yield tables
        if is_kept:
            made = [name for name in made if name not in tables]
    finally:
        with contextlib.suppress(duckdb.TransactionException):  # a failed statement has undone them already
            for name in made:
                connection.execute(f"DROP TABLE IF EXISTS temp.{ddl.quote(name)}")


def _needed(known: Sequence[Relation]) -> set[str]:
    """Maintained tables and all that they read."""
    wanted = {r.name for r in known if r.is_table}
    for relation in reversed(known):
        if relation.name in wanted:
            wanted.update(relation.reads)
    return wanted


def _upstream(relation: Relation, known: Sequence[Relation]) -> set[str]:
    found = set(relation.reads)
    for other in reversed(known):
        if other.name in found:
            found.update(other.reads)
    return found


def _chunks(
    connection: duckdb.DuckDBPyConnection, models: Sequence[str] | None, scenarios: Sequence[int] | None
) -> Iterator[list[str]]:
    """Models, so many at a time that their runs fit in memory."""
    names = [name for (name,) in connection.execute("SELECT model FROM model ORDER BY model").fetchall()]
    if models is not None:
        names = [name for name in names if name in set(models)]
    each = len(scenarios) if scenarios is not None else connection.execute("SELECT count(*) FROM scenario").fetchall()[0][0]
    size = max(1, RUNS_AT_ONCE // max(1, each))
    for start in range(0, len(names), size):
        yield names[start : start + size]


def _condition(models: Sequence[str] | None, scenarios: Sequence[int] | None) -> str:
    parts = []
    if models is not None:
        parts.append(f"model IN {_list(', '.join(map(ddl.literal, models)) or 'NULL')}")
    if scenarios is not None:
        parts.append(f"scenario_id IN {_list(', '.join(map(str, scenarios)) or 'NULL')}")
    return " AND ".join(parts) or "TRUE"


def _list(text: str) -> str:
    return f"({text})"


def _hide(connection: duckdb.DuckDBPyConnection, layer: str, column: str, values: Sequence[str]) -> None:
    for table in relations(connection):
        if table.is_table and table.layer == layer and column in column_names(connection, table.name):
            _keep_only(connection, table.name, column, values)


def _keep_only(connection: duckdb.DuckDBPyConnection, table: str, column: str, values: Sequence[str]) -> None:
    listed = ", ".join(map(ddl.literal, values)) or "NULL"
    source = f"SELECT * FROM {_stored(connection, table)} WHERE {ddl.quote(column)} IN ({listed})"
    connection.execute(f"CREATE TEMP TABLE {ddl.quote(table)} AS {source}")


def _stored(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """A table of the file, whatever temporary table has its name."""
    current = connection.execute("SELECT current_database()").fetchall()[0][0]
    return f"{ddl.quote(current)}.main.{ddl.quote(name)}"
