"""Keeps maintained tables equal to what their files say, where Python writes the facts.

Ingest writes models, so it builds their runs here; what people change with any client is kept by `triggers`. Between
the two the same statements are evaluated: here each view in between is a temporary table, there a `WITH`. A temporary
table is found before a table or view of its name, also within views.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import duckdb

from charz.schema import ddl

from . import restate, triggers
from .installed import Relation, column_names, relations
from .layers import HARDWARE, REBUILD, WORKLOAD

RUNS_AT_ONCE = 400
"""Runs whose intermediate results are held at once: about half a MB each."""

SPARED_GB = 2
"""Memory for the evaluation of many runs. [GB]"""


def refresh(connection: duckdb.DuckDBPyConnection) -> None:
    """Evaluate every maintained table anew, in the caller's transaction."""
    with triggers.suspended(connection):
        refill(connection)


@contextlib.contextmanager
def bulk(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Write facts of hardware, rules and scenarios without firing a trigger for each; at the end what is known of parts is
    evaluated anew, and the runs only where a rule of theirs or a scenario is not what it was."""
    rules, scenarios = _rules(connection), _scenarios(connection)
    with triggers.suspended(connection):
        yield
        restate.settle(connection)
        _refill_parts(connection)
        if _rules(connection) != rules:
            add_runs(connection)
        elif changed := {number for number, _ in scenarios ^ _scenarios(connection)}:
            add_runs(connection, scenarios=sorted(changed))


def add_runs(
    connection: duckdb.DuckDBPyConnection,
    *,
    models: Sequence[str] | None = None,
    scenarios: Sequence[int] | None = None,
) -> None:
    """Evaluate the runs of some models or scenarios anew, whether they were there or not; in the caller's transaction.

    For a model just written, or deleted. Fires no trigger: nothing hangs on maintained tables.
    """
    condition = of_runs(models, scenarios)
    tables = [r for r in relations(connection) if r.is_table and r.layer == WORKLOAD]
    for table in tables:
        connection.execute(f"DELETE FROM {stored(connection, table.name)} WHERE {condition}")
    chunks = chunked(connection, models, scenarios)
    with _memory_spared(connection) if len(chunks) > 1 else contextlib.nullcontext():
        for chunk in chunks:
            with evaluated(connection, of_runs(chunk, scenarios), chunk) as names:
                for name in names:
                    connection.execute(
                        f"INSERT INTO {stored(connection, name)} BY NAME SELECT * FROM temp.{ddl.quote(name)}"
                    )


def refill(connection: duckdb.DuckDBPyConnection, with_runs: bool = True) -> None:
    """Evaluate every maintained table anew, or those of parts alone; the triggers must be dropped."""
    _refill_parts(connection)
    if with_runs:
        add_runs(connection)


def _refill_parts(connection: duckdb.DuckDBPyConnection) -> None:
    for table in relations(connection):
        if table.is_table and table.layer == HARDWARE:
            name = ddl.quote(table.name)
            connection.execute(f"DELETE FROM {name}; INSERT INTO {name} BY NAME SELECT * FROM {REBUILD}.{name}")


def _rules(connection: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[int, int]]]:
    """A number for the content of each fact, but scenarios and models, that the runs depend on."""
    from charz.schema import database
    from charz.schema.row import ModelRow
    from charz.schema.scenario import Scenario
    from charz.schema.workload import Model

    known = relations(connection)
    read = {name for r in known if r.layer == WORKLOAD and r.name in _needed(known) for name in r.reads}
    facts = sorted(t.TABLE for t in database.TABLES if not issubclass(t, ModelRow) and t not in (Model, Scenario))
    query = "SELECT COUNT(*), BIT_XOR(HASH(t)) FROM {} AS t"
    return {name: connection.execute(query.format(name)).fetchall() for name in facts if name in read}


def _scenarios(connection: duckdb.DuckDBPyConnection) -> set[tuple[int, int]]:
    return set(connection.execute("SELECT scenario_id, HASH(s) FROM scenario AS s").fetchall())


def differences(connection: duckdb.DuckDBPyConnection, runs: str = "TRUE") -> dict[str, int]:
    """Rows by which each maintained table differs from its evaluation anew; empty when all is well. Reads, writes nothing.

    `runs` is a condition on the rows of `run`: of tables of runs only theirs are compared.
    """
    found = {}
    for table in relations(connection):
        if table.is_table and table.layer == HARDWARE:
            found[table.name] = _difference(connection, table.name, f"{REBUILD}.{ddl.quote(table.name)}", "TRUE")
    names = [r.name for r in relations(connection) if r.is_table and r.layer == WORKLOAD]
    found |= dict.fromkeys(names, 0)
    for chunk in chunked(connection, None, None, runs):
        condition = f"{of_runs(chunk, None)} AND ({runs})"
        with evaluated(connection, condition, chunk):
            for name in names:
                found[name] += _difference(connection, name, f"temp.{ddl.quote(name)}", condition)
    known = _list("SELECT model FROM model")
    for name in names:  # rows of models that are no more
        query = f"SELECT count(*) FROM {stored(connection, name)} WHERE model NOT IN {known}"
        found[name] += connection.execute(query).fetchall()[0][0]
    return {name: count for name, count in found.items() if count}


def _difference(connection: duckdb.DuckDBPyConnection, name: str, anew: str, condition: str) -> int:
    """Rows that one of two relations has and the other lacks, told apart by their hash: each is evaluated once."""
    found = connection.execute(f"DESCRIBE {stored(connection, name)}").fetchall()
    columns = ", ".join(ddl.quote(column) for column, *_ in found)
    typed = ", ".join(f"CAST({ddl.quote(column)} AS {kind}) AS {ddl.quote(column)}" for column, kind, *_ in found)
    kept = f"SELECT {columns} FROM {stored(connection, name)} WHERE {condition}"
    fresh = f"SELECT {typed} FROM {anew}"
    # Not of the row as one value: the engine gives equal rows of nested types other hashes.
    hashed = f"SELECT HASH({columns}) AS h, 1 AS n FROM ({kept}) UNION ALL SELECT HASH({columns}), -1 FROM ({fresh})"
    query = f"SELECT COALESCE(SUM(ABS(n)), 0) FROM (SELECT SUM(n) AS n FROM ({hashed}) GROUP BY h)"
    return int(connection.execute(query).fetchall()[0][0])


@contextlib.contextmanager
def evaluated(
    connection: duckdb.DuckDBPyConnection, condition: str, models: Sequence[str] | None
) -> Iterator[list[str]]:
    """Temporary tables of the runs for which the condition holds, each after those it reads; yields the names of those
    that are maintained."""
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
            elif models is not None and _is_of_models(connection, relation, known):
                body = f"SELECT * FROM ({body}) WHERE {of_runs(models, None)}"
            connection.execute(f"CREATE TEMP TABLE {ddl.quote(relation.name)} AS {body}")
            made.append(relation.name)
        yield [r.name for r in known if r.is_table]
    finally:
        with contextlib.suppress(duckdb.TransactionException):  # a failed statement has undone them already
            for name in made:
                connection.execute(f"DROP TABLE IF EXISTS temp.{ddl.quote(name)}")


def _needed(known: Sequence[Relation]) -> set[str]:
    """Maintained tables of runs and all that they read."""
    wanted = {r.name for r in known if r.is_table and r.layer == WORKLOAD}
    for relation in reversed(known):
        if relation.name in wanted:
            wanted.update(relation.reads)
    return wanted


def _is_of_models(connection: duckdb.DuckDBPyConnection, relation: Relation, known: Sequence[Relation]) -> bool:
    """True for what holds rows of models whatever the runs: it is cut down by name, the others by the runs they read."""
    return "run" not in _upstream(relation, known) and "model" in column_names(connection, relation.name)


def _upstream(relation: Relation, known: Sequence[Relation]) -> set[str]:
    found = set(relation.reads)
    for other in reversed(known):
        if other.name in found:
            found.update(other.reads)
    return found


def chunked(
    connection: duckdb.DuckDBPyConnection,
    models: Sequence[str] | None,
    scenarios: Sequence[int] | None,
    runs: str = "TRUE",
) -> list[list[str]]:
    """Models, so many at a time that their runs fit in memory; those without a run are with the others."""
    bodies = {r.name: r.body for r in relations(connection)}
    if "run" not in bodies:
        return []
    body, of_models = bodies["run"], of_runs(models, None)
    query = f"""
        SELECT m.model, COUNT(r.model)
        FROM (SELECT model FROM model WHERE {of_models}) AS m
        LEFT JOIN (SELECT model FROM ({body}) WHERE {of_runs(models, scenarios)} AND ({runs})) AS r ON r.model = m.model
        GROUP BY m.model
        ORDER BY m.model
    """
    chunks: list[list[str]] = []
    held = 0
    for model, count in connection.execute(query).fetchall():
        if not chunks or held + count > RUNS_AT_ONCE:
            chunks.append([])
            held = 0
        chunks[-1].append(model)
        held += count
    return chunks


@contextlib.contextmanager
def _memory_spared(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Keep the engine from filling the memory with temporary tables: dropped ones stay until the transaction ends, but may
    go to disk."""
    query = "SELECT value FROM duckdb_settings() WHERE name = 'memory_limit'"
    ((before,),) = connection.execute(query).fetchall()
    try:
        connection.execute(f"SET memory_limit = '{SPARED_GB}GB'")
        yield
    finally:
        with contextlib.suppress(duckdb.TransactionException):
            connection.execute(f"SET memory_limit = '{before}'")


def of_runs(models: Sequence[str] | None, scenarios: Sequence[int] | None) -> str:
    parts = []
    if models is not None:
        parts.append(f"model IN {_list(', '.join(map(ddl.literal, models)) or 'NULL')}")
    if scenarios is not None:
        parts.append(f"scenario_id IN {_list(', '.join(map(str, scenarios)) or 'NULL')}")
    return " AND ".join(parts) or "TRUE"


def _list(text: str) -> str:
    return f"({text})"


def stored(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """A table of the file, whatever temporary table has its name."""
    current = connection.execute("SELECT current_database()").fetchall()[0][0]
    return f"{ddl.quote(current)}.main.{ddl.quote(name)}"
