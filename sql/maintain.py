"""Maintenance of maintained tables and answers at hand where Python writes the facts.

Ingest writes models, so their runs are evaluated here; `triggers` handle changes by any client.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection, Iterator, Sequence

import duckdb

from charz.schema import database, ddl

from . import answers, evaluate, restate, triggers
from .installed import catalog
from .keys import fields
from .layers import HARDWARE, REBUILD, WORKLOAD
from .scopes import Scope, listed, scenario_rows, stored


def refresh(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Recompute every maintained table in the caller's transaction, delete the answers that depend on changed ones, and return the number
    of changed rows by table."""
    differed = differences(connection)
    parts = answers.fingerprints(connection)
    with triggers.suspended(connection):
        refill(connection)
    if any(table.name in differed for table in catalog(connection).tables(WORKLOAD)):
        answers.forget(connection, "TRUE")
    answers.forget_changed(connection, parts)
    return differed


@contextlib.contextmanager
def bulk(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Write facts of hardware, rules and scenarios without running triggers for each statement. At the end the tables of parts are
    recomputed, those of runs only if one of their rules or scenarios has changed or triggers were missing, and answers that depend on
    changes are deleted."""
    is_kept = triggers.are_kept(connection)
    before, scenarios, parts = rules(connection), _scenarios(connection), answers.fingerprints(connection)
    with triggers.suspended(connection):
        yield
        restate.settle(connection)
        _refill_parts(connection)
        if not is_kept or rules(connection) != before:
            add_runs(connection)
        elif changed := {number for number, _ in scenarios ^ _scenarios(connection)}:
            add_runs(connection, scenarios=sorted(changed))
        answers.forget_changed(connection, parts)


@contextlib.contextmanager
def one_part(connection: duckdb.DuckDBPyConnection, part: str, tables: Collection[str]) -> Iterator[None]:
    """Insert the facts of one new part into some tables without running triggers for each statement. At the end the rows of the part are
    computed once; those of its architecture too, if it has efficiencies to lend."""
    if not triggers.are_kept(connection):
        with bulk(connection):
            yield
        return
    settled = {(table.TABLE, "UPDATE") for table, *_ in restate.ratios() if table.TABLE in tables}
    with triggers.silenced(connection, {(table, "INSERT") for table in tables} | settled):
        yield
        restate.settle(connection)
    lends = "SELECT 1 FROM efficiency WHERE scope = CONCAT('hardware:', $1)"
    same = f"SELECT architecture FROM shipped_part WHERE hardware = $1 AND EXISTS ({lends})"
    parts = f"SELECT $1 UNION SELECT hardware FROM shipped_part WHERE architecture IN ({same})"
    connection.execute(f"INSERT INTO {triggers.PARTS.table} {parts}", [part])


def add_models(connection: duckdb.DuckDBPyConnection, *, models: Sequence[str]) -> None:
    """Evaluate the runs of models just written, and their answers at hand, in the caller's transaction."""
    add_runs(connection, models=models)
    answers.fill(connection, answers.missing(connection, models))


def add_runs(
    connection: duckdb.DuckDBPyConnection,
    *,
    models: Sequence[str] | None = None,
    scenarios: Sequence[int] | None = None,
    commits: bool = False,
) -> None:
    """Evaluate the runs of some models or scenarios, replacing existing ones. Their answers are then missing. The caller's transaction makes it
    atomic, or with `commits` that of each portion (`evaluate.evaluated`)."""
    answers.forget(connection, of_runs(models, scenarios))
    _evaluate_runs(connection, models, scenarios, commits)


def _evaluate_runs(
    connection: duckdb.DuckDBPyConnection,
    models: Sequence[str] | None,
    scenarios: Sequence[int] | None,
    commits: bool = False,
) -> None:
    tables = [table.name for table in catalog(connection).tables(WORKLOAD)]
    with triggers.writing(connection):
        for name in tables:
            connection.execute(f"DELETE FROM {stored(connection, name)} WHERE {of_runs(models, scenarios, 'run.')}")
        for portion in evaluate.evaluated(connection, runs_anew(connection, models, scenarios), tables, commits=commits):
            for name in tables if portion.is_first else ():
                rows = f"SELECT * FROM temp.{ddl.quote(name)}"
                connection.execute(f"INSERT INTO {stored(connection, name)} BY NAME {rows}")


def runs_anew(
    connection: duckdb.DuckDBPyConnection, models: Sequence[str] | None, scenarios: Sequence[int] | None
) -> Scope:
    """Return the scope of some models under some stored scenarios, in which all runs are evaluated again."""
    return Scope(models=models, scenarios=scenario_rows(connection, scenarios))


def refill(connection: duckdb.DuckDBPyConnection, with_runs: bool = True, commits: bool = False) -> None:
    """Recompute every maintained table, or only those of parts; the triggers must be dropped. With `commits` each portion of runs ends the
    caller's transaction (`evaluate.evaluated`)."""
    _refill_parts(connection)
    if with_runs:
        _evaluate_runs(connection, None, None, commits)


def _refill_parts(connection: duckdb.DuckDBPyConnection) -> None:
    # With inlined CTEs, DuckDB 2 ends in an internal error for some files ("dict-surviving cache").
    with evaluate.without(connection, "cte_inlining"):
        for table in catalog(connection).tables(HARDWARE):
            name, key = ddl.quote(table.name), ", ".join(table.grain)
            # Sorted rows take a third of the space.
            connection.execute(f"DELETE FROM {name}; INSERT INTO {name} BY NAME SELECT * FROM {REBUILD}.{name} ORDER BY {key}")


def rules(connection: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[int, int]]]:
    """Hash the content of each fact that runs depend on, except scenarios and models."""
    from charz.schema.row import ModelRow
    from charz.schema.scenario import Scenario
    from charz.schema.workload import Model

    known = catalog(connection)
    read = known.upstream(table.name for table in known.tables(WORKLOAD))
    facts = sorted(t.TABLE for t in database.TABLES if not issubclass(t, ModelRow) and t not in (Model, Scenario))
    query = "SELECT COUNT(*), BIT_XOR(HASH(t)) FROM {} AS t"
    return {name: connection.execute(query.format(name)).fetchall() for name in facts if name in read}


def _scenarios(connection: duckdb.DuckDBPyConnection) -> set[tuple[int, int]]:
    return set(connection.execute("SELECT scenario_id, HASH(s) FROM scenario AS s").fetchall())


def differences(connection: duckdb.DuckDBPyConnection, runs: str = "TRUE") -> dict[str, int]:
    """Count the rows by which each maintained table differs from its recomputation; empty if none differ. Writes nothing to the file.

    `runs` is a condition on the rows of `run`: in tables of runs only these are compared.
    """
    known = catalog(connection)
    found = {
        table.name: _difference(connection, table.name, f"{REBUILD}.{ddl.quote(table.name)}", "TRUE")
        for table in known.tables(HARDWARE)
    }
    names = [table.name for table in known.tables(WORKLOAD)]
    found |= dict.fromkeys(names, 0)
    scope = dataclasses.replace(runs_anew(connection, None, None), runs=runs)
    for portion in evaluate.evaluated(connection, scope, names):
        of_portion = of_runs(portion.scope.models, [row["scenario_id"] for row in portion.scope.scenarios or ()], "run.")
        for name in names:
            found[name] += _difference(connection, name, f"temp.{ddl.quote(name)}", f"{of_portion} AND ({runs})")
    lost = "run.model NOT IN (SELECT model FROM model) OR run.scenario_id NOT IN (SELECT scenario_id FROM scenario)"
    for name in names:  # rows of models and scenarios that no longer exist
        query = f"SELECT count(*) FROM {stored(connection, name)} WHERE {lost}"
        found[name] += connection.execute(query).fetchall()[0][0]
    return {name: count for name, count in found.items() if count}


def altered(connection: duckdb.DuckDBPyConnection, tables: Sequence[str], parts: Sequence[str]) -> dict[str, int]:
    """Count the rows by which maintained tables differ, for some parts, from what triggers would compute; empty if none differ. Writes
    nothing to the file."""
    found = {}
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMP TABLE {triggers.NEW} AS SELECT UNNEST(CAST(? AS VARCHAR[])) AS hardware", [list(parts)])
        for table, (query, condition) in triggers.evaluations_of_parts(cursor, tables).items():
            found[table] = _difference(cursor, table, f"({query})", condition)
        cursor.execute(f"DROP TABLE {triggers.NEW}")
    return {table: count for table, count in found.items() if count}


def _difference(connection: duckdb.DuckDBPyConnection, name: str, anew: str, condition: str) -> int:
    """Count the rows that only one of two relations contains. Rows are compared by hash, so that each relation is evaluated once."""
    found = connection.execute(f"DESCRIBE {stored(connection, name)}").fetchall()
    columns = ", ".join(ddl.quote(column) for column, *_ in found)
    values = ", ".join(fields([column for column, *_ in found]))
    typed = ", ".join(f"CAST({ddl.quote(column)} AS {kind}) AS {ddl.quote(column)}" for column, kind, *_ in found)
    kept = f"SELECT {columns} FROM {stored(connection, name)} WHERE {condition}"
    fresh = f"SELECT {typed} FROM {anew}"
    # A hash of the columns, not of the row as one value: the engine hashes equal rows of nested types differently.
    hashed = f"SELECT HASH({values}) AS h, 1 AS n FROM ({kept}) UNION ALL SELECT HASH({values}), -1 FROM ({fresh})"
    query = f"SELECT COALESCE(SUM(ABS(n)), 0) FROM (SELECT SUM(n) AS n FROM ({hashed}) GROUP BY h)"
    return int(connection.execute(query).fetchall()[0][0])


def of_runs(models: Sequence[str] | None, scenarios: Sequence[int] | None, within: str = "") -> str:
    """Write the condition on rows with the keys of runs, as columns or `within` another column.

    >>> of_runs(["resnet50"], [1, 2], "run.")
    "run.model IN ('resnet50') AND run.scenario_id IN (1, 2)"
    """
    parts = [f"{within}model IN {listed(models)}"] if models is not None else []
    parts += [f"{within}scenario_id IN {listed(scenarios)}"] if scenarios is not None else []
    return " AND ".join(parts) or "TRUE"
