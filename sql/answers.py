"""Answers at hand: the models' rows for every stored run on every part, kept in the schema `answer`.

The rows of a file of `sql/` with `-- At hand: stored` are kept. All such relations have the keys of a run on a part, so `answer.stored`
keeps them in one row, each column once, with a flag for each relation that has the row. `-- At hand: as NAME` marks a relation that
computes the same rows and columns in another way. Every report that reads only parts, runs and these relations also has a view of its
name in `answer`, with its file's text.

Triggers delete the rows that a changed fact affects, so a row of `answer.stored` is right or missing. Reports at hand still list every
stored run: `is_at_hand` is false if its numbers are missing, and `answer_state` counts these.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from charz.schema import ddl

from . import evaluate
from .evaluate import evaluated, shared
from .installed import Catalog, Relation, catalog
from .keys import CHAIN, PACKED, RUN
from .keys import TARGET as KEYS
from .layers import ANSWERS as SCHEMA
from .layers import HARDWARE, REPORT, WORKLOAD
from .scopes import SUPPORT, Scope, listed, scenario_rows
from .seals import SEAL

STORED = f"{SCHEMA}.stored"
"""Table of all rows at hand."""

_ON_PARTS = f"JOIN {SUPPORT} AS t ON t.backend = r.run.backend AND t.precision = r.run.precision"
"""Join of the parts that execute a run `r`."""

_RUNS_ON_PARTS = f"SELECT {', '.join(f'r.run.{key}' if key in RUN else f't.{key}' for key in KEYS)} FROM run AS r {_ON_PARTS}"
"""Query for the keys of every run on every part."""

MARK = "is_at_hand"
"""Column of the reports at hand, false for a run whose answer is missing because a fact has changed."""

MARKED = "False if a fact of the run changed after its evaluation: its numbers are null until `charz refresh`."
"""Comment of the column `is_at_hand`."""


def relations(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the names of the relations whose rows answers at hand contain."""
    return names(catalog(connection))


def names(known: Catalog) -> list[str]:
    """Return the names of the relations whose rows answers at hand contain."""
    return [relation.name for relation in _stored(known)]


def _stored(known: Catalog) -> list[Relation]:
    return [relation for relation in known.relations.values() if relation.at_hand == "stored"]


def table(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the qualified name of the file's `answer.stored`, whatever database is current."""
    ((current,),) = connection.execute("SELECT current_database()").fetchall()
    return f"{ddl.quote(current)}.{STORED}"


def _flag(name: str) -> str:
    return f"is_in_{name}"


def _new_columns(known: Catalog) -> Iterator[tuple[Relation, list[str]]]:
    """Yield each stored relation with the columns that no earlier relation has."""
    seen = set(KEYS)
    for relation in _stored(known):
        new = [column for column in relation.columns if column not in seen]
        seen.update(new)
        yield relation, new


def evaluation(known: Catalog) -> str:
    """Write the query for the rows of every run on every part that a connection's views see."""
    columns, joins = [f"k.{key}" for key in KEYS], []
    for i, (relation, new) in enumerate(_new_columns(known)):
        columns.append(f"r{i}.model IS NOT NULL AS {_flag(relation.name)}")
        columns += [f"r{i}.{ddl.quote(column)}" for column in new]
        joins.append(f"LEFT JOIN {relation.name} AS r{i} ON {' AND '.join(f'r{i}.{key} = k.{key}' for key in KEYS)}")
    return f"SELECT {', '.join(columns)} FROM ({_RUNS_ON_PARTS}) AS k {' '.join(joins)}"


def create(connection: duckdb.DuckDBPyConnection, installed: Iterable[Relation]) -> None:
    """Create the table without rows and the views over it; neither may exist."""
    known = Catalog({relation.name: relation for relation in installed})
    rows = f"SELECT *, CAST(NULL AS UBIGINT) AS {SEAL} FROM ({evaluation(known)}) LIMIT 0"
    connection.execute(f"CREATE SCHEMA {SCHEMA}; CREATE TABLE {STORED} AS {rows}")
    for name, body in _views(known, STORED):
        if is_marked(known.relations[name]):
            body = f"SELECT *, TRUE AS {MARK} FROM ({body}) UNION ALL BY NAME {_lacking()}"
        connection.execute(f"CREATE VIEW {SCHEMA}.{ddl.quote(name)} AS {body}")


def is_marked(relation: Relation) -> bool:
    """Return whether the view in `answer` also lists stored runs without answers; reports with their own rows do."""
    return relation.layer == REPORT and relation.at_hand not in ("", "derived")


def _lacking() -> str:
    """Write the query for stored runs on parts without answers. It gives only keys, so that all numbers are null."""
    return f"SELECT *, FALSE AS {MARK} FROM ({_RUNS_ON_PARTS}) ANTI JOIN {STORED} USING (model, hardware, scenario_id)"


def stand_in(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the table of answers with key columns only, so that views that read the table bind without answers at hand."""
    keys = ", ".join(f"{key} {'BIGINT' if key in ('batch', 'sequence', 'scenario_id') else 'VARCHAR'}" for key in KEYS)
    connection.execute(f"CREATE SCHEMA {SCHEMA}; CREATE TABLE {STORED} ({keys})")


def _views(known: Catalog, source: str) -> Iterator[tuple[str, str]]:
    """Yield the relations at hand, each after the relations that it reads, with the query for its rows in the table of answers."""
    for relation in known.relations.values():
        kind, _, other = relation.at_hand.partition(" ")
        if kind in ("stored", "as"):
            columns = ", ".join(PACKED if name == "run" else ddl.quote(name) for name in relation.columns)
            yield relation.name, f"SELECT {columns} FROM {source} WHERE {_flag(other or relation.name)}"
        elif kind == "derived":
            yield relation.name, _qualified(relation, known)


def taken(known: Catalog, source: str) -> Iterator[tuple[str, str]]:
    """Yield the relations whose rows a table of answers contains, with the query for the rows."""
    return ((n, body) for n, body in _views(known, source) if known.relations[n].at_hand != "derived")


def _qualified(relation: Relation, known: Catalog) -> str:
    """Qualify the relations at hand in a report's text with their schema.

    >>> body = "SELECT * FROM model_cost JOIN run USING (model)"
    >>> cost = Relation("model_cost", False, "5_rollup", (), "", ("model",), "stored", ("model",))
    >>> report = Relation("report", False, "6_report", ("model_cost", "run"), body, ("model",), "derived", ("model",))
    >>> _qualified(report, Catalog({"model_cost": cost, "report": report}))
    'SELECT * FROM answer.model_cost JOIN run USING (model)'
    """
    names = "|".join(name for name in relation.reads if name in known.relations and known.relations[name].at_hand)
    return re.sub(rf"\b(FROM|JOIN)(\s+)({names})\b(?!\s*\.)", rf"\1\2{SCHEMA}.\3", relation.body, flags=re.IGNORECASE)


def insert(connection: duckdb.DuckDBPyConnection, into: str) -> None:
    """Insert the rows of every run on every part that the connection's views see."""
    connection.execute(f"INSERT INTO {into} BY NAME {evaluation(catalog(connection))}")


def forget(connection: duckdb.DuckDBPyConnection, condition: str) -> None:
    """Delete the answers that satisfy the condition; a file without all layers has no answers."""
    if relations(connection):
        connection.execute(f"DELETE FROM {table(connection)} WHERE {condition}")


# Dependencies


def facts_read(known: Catalog) -> set[str]:
    """Return the facts that answers read directly, not through a maintained table."""
    tables = [relation.name for relation in known.of(HARDWARE, WORKLOAD) if relation.is_table]
    return known.upstream((r.name for r in _stored(known)), ends=tables) - known.relations.keys()


def fingerprints(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, tuple[int, int]]]:
    """Hash the inputs of the answers by table and part; inputs common to all parts are under an empty name."""
    from charz.schema import database

    known = catalog(connection)
    models = {row_type.TABLE for row_type in database.TABLES if "model" in row_type.model_fields}
    columns: dict[str, Sequence[str]] = {table.name: table.columns for table in known.tables(HARDWARE)}
    columns |= {t.TABLE: list(t.model_fields) for t in database.TABLES if t.TABLE in facts_read(known) - models}
    found = {}
    for name, names in columns.items():
        key = next((key for key in ("hardware", CHAIN) if key in names), "''")
        query = f"SELECT {key}, COUNT(*) AS n, BIT_XOR(HASH(t)) AS h FROM {name} AS t GROUP BY 1"
        if key == CHAIN:
            query = f"SELECT hardware, SUM(n), BIT_XOR(HASH(backend, h)) FROM ({query}) JOIN part_backend USING ({CHAIN}) GROUP BY 1"
        found[name] = {part: (count, number) for part, count, number in connection.execute(query).fetchall()}
    return found


def forget_changed(connection: duckdb.DuckDBPyConnection, before: Mapping[str, Mapping[str, tuple[int, int]]]) -> None:
    """Delete the answers whose inputs differ from those hashed `before`."""
    changed: set[str] = set()
    for name, now in fingerprints(connection).items():
        changed |= {part for part, _ in now.items() ^ before.get(name, {}).items()}
    if changed:
        forget(connection, "TRUE" if "" in changed else f"hardware IN {listed(sorted(changed))}")


# Missing answers


@dataclass(frozen=True, slots=True)
class Missing:
    """Runs on parts that have no answers at hand."""

    scopes: Sequence[Scope]
    count: int
    kernels: int
    """Number of kernels in these runs."""

    @property
    def work(self) -> float:
        """Estimated time to compute the missing answers, in the CPU time of ten million empty passes of a Python loop (U)."""
        return self.kernels / KERNELS_A_U + SCOPE_U * len(self.scopes)


KERNELS_A_U = 40_000
"""Kernels on parts evaluated and stored per U, measured on CNNs and transformers (docs/benchmark-engine.md)."""

SCOPE_U = 2.0
"""Further time per scope for planning. [U]"""


def answered(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the models that have answers at hand."""
    return [model for (model,) in connection.execute(f"SELECT DISTINCT model FROM {table(connection)} ORDER BY model").fetchall()]


def missing(connection: duckdb.DuckDBPyConnection, models: Sequence[str] | None = None) -> Missing:
    """Find every stored run, of some models, on every part without an answer at hand. Models without any answers share a scope."""
    wanted = "TRUE" if models is None else f"r.model IN {listed(models)}"
    query = f"""
        SELECT r.model, r.hardware, LIST(r.scenario_id ORDER BY r.scenario_id), COUNT(*), CAST(SUM(k.kernels) AS BIGINT)
        FROM ({_RUNS_ON_PARTS}) AS r
        JOIN (SELECT model, backend, COUNT(*) AS kernels FROM kernel GROUP BY model, backend) AS k USING (model, backend)
        ANTI JOIN {table(connection)} AS s
            ON s.model = r.model AND s.hardware = r.hardware AND s.scenario_id = r.scenario_id
        WHERE {wanted}
        GROUP BY r.model, r.hardware
        ORDER BY r.model, r.hardware
    """
    rows = connection.execute(query).fetchall()
    parts: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    known = set(answered(connection))
    new = list(dict.fromkeys(row[0] for row in rows if row[0] not in known))
    for model, part, scenarios, _, _ in rows:
        if model in known:
            parts.setdefault((model, tuple(scenarios)), []).append(part)
    lacking: dict[tuple[tuple[int, ...], tuple[str, ...]], list[str]] = {}
    for (model, scenarios), named in parts.items():
        lacking.setdefault((scenarios, tuple(named)), []).append(model)
    stored = {row["scenario_id"]: row for row in scenario_rows(connection)} if rows else {}
    scopes = [
        Scope(models=of, hardware=named, scenarios=[stored[number] for number in numbers], stored=numbers)
        for (numbers, named), of in lacking.items()
    ]
    if new:
        scopes.append(Scope(models=new, scenarios=list(stored.values()), stored=list(stored)))
    return Missing(scopes, sum(row[3] for row in rows), sum(row[4] for row in rows))


def portion_count(connection: duckdb.DuckDBPyConnection, lacking: Missing) -> int:
    """Count the portions in which the missing answers are filled."""
    return sum(evaluate.portion_count(connection, scope, relations(connection)) for scope in lacking.scopes)


def fill(
    connection: duckdb.DuckDBPyConnection, lacking: Missing, done: Callable[[str], None] = lambda _: None, commits: bool = False
) -> int:
    """Evaluate the missing answers, and return their number. The caller's transaction makes it atomic, or with `commits` that of each portion
    (`evaluated`)."""
    for scope in lacking.scopes:
        for _ in evaluated(connection, scope, relations(connection), done, commits):
            insert(connection, table(connection))
    return lacking.count


# Answering a question


def take(connection: duckdb.DuckDBPyConnection, scope: Scope, is_live: bool) -> Scope | None:
    """Create the table that a question is answered from with the rows at hand, or none if `is_live`; the connection's runs and targets are
    already scoped. Return the rest of the scope to evaluate, or None."""
    limits = [f"scenario_id IN {listed(scope.stored)}"] if scope.scenarios is not None else []
    if scope.models is not None:
        limits.append(f"model IN {listed(scope.models)}")
    if scope.hardware is not None:
        limits.append(f"hardware IN {listed(scope.hardware)}")
    if scope.changed:
        limits.append(f"hardware NOT IN {listed(scope.changed)}")
    is_kept = "FALSE" if is_live else " AND ".join(limits) or "TRUE"
    kept = f"SELECT * EXCLUDE ({SEAL}) FROM {table(connection)} SEMI JOIN ({_RUNS_ON_PARTS}) USING (model, hardware, scenario_id) WHERE {is_kept}"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {TAKEN} AS {kept}")
    missing = f"SELECT * FROM ({_RUNS_ON_PARTS}) ANTI JOIN temp.{TAKEN} USING (model, hardware, scenario_id)"
    query = f"""
        SELECT LIST(DISTINCT model ORDER BY model), LIST(DISTINCT hardware ORDER BY hardware), LIST(DISTINCT scenario_id),
            LIST(DISTINCT (hardware, backend, precision)), (SELECT COUNT(*) FROM temp.{TAKEN})
        FROM ({missing})
    """
    ((models, hardware, numbers, targets, count),) = connection.execute(query).fetchall()
    if numbers is None or not count:
        return scope if numbers is not None else None
    rows = [row for row in scenario_rows(connection) if row["scenario_id"] in numbers]
    stored = numbers if scope.scenarios is None else scope.stored
    rest = {"models": models, "targets": targets, "scenarios": rows, "stored": set(numbers).intersection(stored)}
    return dataclasses.replace(scope, **rest, hardware=None if scope.hardware is None else hardware)


TAKEN = "taken_answer"
"""Temporary table with the rows that answer a question."""


def evaluate_rows(connection: duckdb.DuckDBPyConnection, known: Catalog, held: Collection[str]) -> None:
    """Evaluate the few rows of a connection's views, which are already scoped, and answer from these rows. `held` names views that are
    already temporary tables."""
    with shared(connection, known, names(known), is_narrow=True, held=held):
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {TAKEN} AS {evaluation(known)}")


def evaluate_portions(
    connection: duckdb.DuckDBPyConnection, scope: Scope, known: Catalog, done: Callable[[str], None] = lambda _: None
) -> None:
    """Evaluate a scope too large for memory in portions on a cursor, and add their rows to those already taken."""
    arriving = f"SELECT * FROM arriving_answer ANTI JOIN temp.{TAKEN} USING (model, hardware, scenario_id)"
    with connection.cursor() as beside:
        for _ in evaluated(beside, scope, names(known), done):
            connection.register("arriving_answer", beside.sql(evaluation(known)).to_arrow_table())
            connection.execute(f"INSERT INTO temp.{TAKEN} BY NAME {arriving}")
            connection.unregister("arriving_answer")


def is_complete(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether every stored run on every part has its answers at hand; wrong rows never exist."""
    query = (
        f"SELECT (SELECT COUNT(*) FROM ({_RUNS_ON_PARTS})) = (SELECT COUNT(*) FROM {STORED})"
    )
    return bool(connection.execute(query).fetchall()[0][0])


def covers(known: Catalog, name: str, is_stored: bool) -> bool:
    """Return whether a relation answers from rows at hand alone; for runs outside the file (not `is_stored`), only if it reads nothing of
    them but their conditions."""
    relation = known.relations[name]
    if relation.at_hand != "derived":
        return bool(relation.at_hand)
    ends = [r.name for r in known.relations.values() if r.is_table or (r.at_hand and r.at_hand != "derived")]
    workload = {r.name for r in known.of(WORKLOAD)} - {"run"}
    return is_stored or not known.upstream([name], ends) & workload


def show(connection: duckdb.DuckDBPyConnection, known: Catalog, source: str = f"temp.{TAKEN}") -> set[str]:
    """Replace the live views by views over a table of their rows, and return the names of these views; reports over them follow."""
    shown = dict(taken(known, source))
    for name, body in shown.items():
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {ddl.quote(name)} AS {body}")
    return set(shown)


def differences(connection: duckdb.DuckDBPyConnection, scope: Scope = Scope()) -> dict[str, int]:
    """Count, by relation, rows at hand of a scope that differ from the live views: other texts or integers, or numbers apart by more than
    rounding; and rows of runs and parts that no longer exist. Writes nothing to the file."""
    known = catalog(connection)
    lost = f"SELECT COUNT(*) FROM {table(connection)} ANTI JOIN ({_RUNS_ON_PARTS}) USING (model, hardware, scenario_id)"
    found = {"stored": connection.execute(lost).fetchall()[0][0]}
    for _ in evaluated(connection, scope, relations(connection)):
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {EVALUATED} AS {evaluation(known)}")
        described = connection.execute(f"DESCRIBE temp.{EVALUATED}").fetchall()
        types = {name: kind for name, kind, *_ in described}
        for relation, columns in _new_columns(known):
            differing = " OR ".join(_differs(c, types[c] == "DOUBLE") for c in (_flag(relation.name), *columns))
            query = (
                f"SELECT COUNT(*) FROM {table(connection)} AS s JOIN temp.{EVALUATED} AS l"
                f" USING (model, hardware, scenario_id) WHERE {differing}"
            )
            found[relation.name] = found.get(relation.name, 0) + connection.execute(query).fetchall()[0][0]
    connection.execute(f"DROP TABLE IF EXISTS temp.{EVALUATED}")
    return {name: count for name, count in found.items() if count}


def _differs(column: str, is_number: bool) -> str:
    """Write the condition that a stored value and a live value differ. A part of a time or energy is compared relative to the whole,
    because a difference is only as exact as its operands."""
    kept, live = f"s.{ddl.quote(column)}", f"l.{ddl.quote(column)}"
    apart = f"{kept} IS DISTINCT FROM {live}"
    whole = next((name for end, name in _WHOLE.items() if column.endswith(end)), "0e0")
    size = f"GREATEST(ABS({kept}), ABS({live}), COALESCE({whole}, 0e0))"
    near = f"COALESCE(ABS({kept} - {live}) <= {ROUNDING} * {size}, FALSE)"
    return f"({apart} AND NOT {near})" if is_number else apart


_WHOLE = {"_s": "l.latency_s", "_j": "l.energy_j", "_fraction": "1e0"}
"""Column of the whole, by the suffix of a column's name."""

EVALUATED = "evaluated_answer"

ROUNDING = 1e-12
"""Largest relative difference of equal numbers: the order of a sum depends on threads and plan."""
