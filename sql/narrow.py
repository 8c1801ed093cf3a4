"""Makes every view of one connection answer for some models, parts and scenarios and no others; the file stays as it is.

Temporary tables hide those of the file, also within views. For a read-only connection, once, outside a transaction that
writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from charz.schema import ddl

from . import restate
from .installed import Relation, column_names, relations
from .layers import HARDWARE, WORKLOAD
from .maintain import chunked, evaluated, of_runs, stored

COSTED = "shape_cost"
"""View that most of the time of an answer goes into, and that all reports of time and energy read: evaluated once for a few
targets, so that each report costs what it adds."""

ENERGY = "energy_profile"
"""Fact whose rows stand in front of what rules give (`part_energy`): a change of an energy that a part leaves open adds one."""

Triple = tuple[str, str, str]
"""Part, backend and precision of a target."""


@dataclass(frozen=True, slots=True)
class Change:
    """A number of a part as it is not in the file."""

    table: str
    key: tuple[tuple[str, str], ...]
    """Columns that name its row, each with its value; the part is among them."""
    column: str
    value: float

    @property
    def hardware(self) -> str:
        """Part it belongs to."""
        return dict(self.key)["hardware"]


def alter(
    connection: duckdb.DuckDBPyConnection, changes: Sequence[Change], hardware: Sequence[str] | None = None
) -> None:
    """Make every view answer as if these numbers stood in the file, for some parts or all; before `narrow`.

    What is known of the parts changed is evaluated anew; of all others the file's rows hold.
    """
    if not changes:
        return
    for fact in sorted({restate.RESTATED, *(change.table for change in changes)}):
        connection.execute(f"CREATE TEMP TABLE {fact} AS SELECT * FROM {stored(connection, fact)}")
    if any(change.table == ENERGY for change in changes):
        added = [change.key for change in changes if change.table == ENERGY]
        marks = ", ".join("(?, ?, ?)" for _ in added)
        rows = (
            f"SELECT * EXCLUDE (is_stated) FROM part_energy WHERE NOT is_stated AND (hardware, what, key) IN ({marks})"
        )
        connection.execute(f"INSERT INTO temp.{ENERGY} BY NAME {rows}", [value for key in added for _, value in key])
    for change in changes:
        row = " AND ".join(f"{ddl.quote(name)} = ?" for name, _ in change.key)
        assigned = f"{ddl.quote(change.column)} = ?"
        kept = restate.kept_in(change.table, change.column)
        if kept is not None:
            assigned += f", {kept} = NULL"
            number = [change.hardware, restate.place(change.table, [value for _, value in change.key], change.column)]
            connection.execute(f"DELETE FROM temp.{restate.RESTATED} WHERE hardware = ? AND field = ?", number)
        values = [change.value, *(value for _, value in change.key)]
        connection.execute(f"UPDATE temp.{change.table} SET {assigned} WHERE {row}", values)
    changed = sorted({change.hardware for change in changes})
    asked = "TRUE" if hardware is None else f"hardware IN {_listed(hardware)}"
    anew = _listed([part for part in changed if hardware is None or part in hardware])
    for table in _maintained(connection, HARDWARE):
        if "hardware" in column_names(connection, table.name):
            kept = (
                f"SELECT * FROM {stored(connection, table.name)} WHERE {asked} AND hardware NOT IN {_listed(changed)}"
            )
            made = f"SELECT * FROM ({table.body}) WHERE hardware IN {anew}"
            connection.execute(f"CREATE TEMP TABLE {ddl.quote(table.name)} AS {kept} UNION ALL BY NAME {made}")


def narrow(
    connection: duckdb.DuckDBPyConnection,
    *,
    scenarios: Sequence[Mapping[str, Any]] | None = None,
    stored_scenarios: Collection[int] = (),
    models: Sequence[str] | None = None,
    hardware: Sequence[str] | None = None,
    targets: Iterable[Triple] | None = None,
    runs: str = "TRUE",
) -> None:
    """Hide all but these scenarios (as columns), models, parts, and parts with backends and precisions; None leaves what there is.

    The runs of scenarios that the file has not (`stored_scenarios` by number) are evaluated, of the others copied. `runs` is
    a condition on the rows of `run`.
    """
    if scenarios is not None:
        _hide_scenarios(connection, scenarios)
        _hide_runs(connection, scenarios, stored_scenarios, models, runs)
    elif models is not None:
        for table in _maintained(connection, WORKLOAD):
            _keep(connection, table.name, f"model IN {_listed(models)}")
    for name, values in (("model", models), ("hardware", hardware)):
        if values is not None:
            _keep(connection, name, f"{name} IN {_listed(values)}")
    wanted = None if targets is None else list(targets)
    backends = None if wanted is None else sorted({backend for _, backend, _ in wanted})
    if hardware is not None or backends is not None:
        _hide_parts(connection, hardware, backends)
    if wanted is not None:
        _keep_targets(connection, wanted)


def _hide_scenarios(connection: duckdb.DuckDBPyConnection, scenarios: Sequence[Mapping[str, Any]]) -> None:
    connection.execute(f"CREATE TEMP TABLE scenario AS SELECT * FROM {stored(connection, 'scenario')} LIMIT 0")
    for row in scenarios:
        marks = ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO temp.scenario ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def _keep_targets(connection: duckdb.DuckDBPyConnection, targets: Iterable[Triple]) -> None:
    rows = ", ".join(f"({', '.join(map(ddl.literal, target))})" for target in targets) or "(NULL, NULL, NULL)"
    keys = "hardware, backend, precision"
    for table in _maintained(connection, HARDWARE):
        if set(keys.split(", ")) <= set(column_names(connection, table.name)):
            kept = f"SELECT t.* FROM {table.name} AS t SEMI JOIN (VALUES {rows}) AS k ({keys}) USING ({keys})"
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {table.name} AS {kept}")


def _hide_runs(
    connection: duckdb.DuckDBPyConnection,
    scenarios: Sequence[Mapping[str, Any]],
    stored_scenarios: Collection[int],
    models: Sequence[str] | None,
    runs: str,
) -> None:
    """Hide the maintained tables of the workload behind the runs of these scenarios: copies, and what is evaluated."""
    asked = {row["scenario_id"] for row in scenarios}
    held = sorted(asked.intersection(stored_scenarios))
    new = sorted(asked.difference(stored_scenarios))
    made = _evaluate(connection, models, f"({runs}) AND {of_runs(None, new)}") if new or not asked else {}
    of_held = f"{of_runs(models, held)} AND ({runs})"
    for table in _maintained(connection, WORKLOAD):
        copied = f"SELECT * FROM {stored(connection, table.name)} WHERE {of_held}"
        if table.name not in made:
            connection.execute(f"CREATE TEMP TABLE {ddl.quote(table.name)} AS {copied}")
            continue
        connection.execute(f"ALTER TABLE temp.{ddl.quote(made[table.name])} RENAME TO {ddl.quote(table.name)}")
        if held:
            connection.execute(f"INSERT INTO temp.{ddl.quote(table.name)} BY NAME {copied}")


def _evaluate(connection: duckdb.DuckDBPyConnection, models: Sequence[str] | None, runs: str) -> dict[str, str]:
    """Temporary tables of the runs for which the condition holds, by the maintained table that each is a part of."""
    made: dict[str, str] = {}
    for chunk in chunked(connection, models, None, runs) or [[]]:
        with evaluated(connection, f"{of_runs(chunk, None)} AND ({runs})", chunk) as names:
            for name in names:
                into = "INSERT INTO temp.{}" if name in made else "CREATE TEMP TABLE {} AS"
                made[name] = f"{name} evaluated"
                target = into.format(ddl.quote(made[name]))
                connection.execute(f"{target} SELECT * FROM temp.{ddl.quote(name)}")
    return made


def _hide_parts(
    connection: duckdb.DuckDBPyConnection, hardware: Sequence[str] | None, backends: Sequence[str] | None
) -> None:
    for table in _maintained(connection, HARDWARE):
        columns = column_names(connection, table.name)
        kept = {"hardware": hardware, "backend": backends}
        tests = [
            f"{name} IN {_listed(values)}" for name, values in kept.items() if values is not None and name in columns
        ]
        if tests:
            _keep(connection, table.name, " AND ".join(tests))


def _maintained(connection: duckdb.DuckDBPyConnection, layer: str) -> list[Relation]:
    return [relation for relation in relations(connection) if relation.is_table and relation.layer == layer]


def _keep(connection: duckdb.DuckDBPyConnection, table: str, kept: str) -> None:
    source = f"SELECT * FROM {ddl.quote(table)} WHERE {kept}"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {ddl.quote(table)} AS {source}")


def _listed(values: Sequence[str]) -> str:
    return f"({', '.join(map(ddl.literal, values)) or 'NULL'})"
