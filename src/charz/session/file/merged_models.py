"""Insertion of another file's models, with runs and precomputed answers that depend only on facts which are equal in both files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from charz.ingest.compile.rules import by_table
from charz.ingest.write import MODEL_TABLES, delete, known_hashes
from charz.schema import about, ddl
from charz.schema.errors import CharzError
from charz.schema.row import Row
from charz.schema.workload import Model

PART = "merged_part"
"""Name under which the other file is attached."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Result for a model of another file."""

    model: str
    state: str
    """State: `written`, `unchanged` if this file has the same model, or `refused` if this file has a different model of the same name."""


def check(into: duckdb.DuckDBPyConnection, part: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise `CharzError` for files with different catalogs or rules, and describe the difference."""
    from charz.sql import maintain

    own, other = about.read(into), about.read(part)
    if own.get("catalog_version") != other.get("catalog_version"):
        exists = _difference(*(json.loads(known.get("catalog_rows", "{}")) for known in (own, other)))
        raise CharzError("another catalog", str(path), exists, "`charz hardware sync` updates each of them to the shipped catalog")
    ours, theirs = ({**maintain.rules(c), **by_table(c)} for c in (into, part))
    if changed := sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)):
        exists = f"different rows of {', '.join(changed)}"
        raise CharzError("compiled by other rules", str(path), exists, "give both files the same rows")


def _difference(own: Mapping[str, Mapping[str, str]], other: Mapping[str, Mapping[str, str]]) -> str:
    """Describe the rows that differ between two catalogs: for each table, the number of such rows and the first row."""
    found = []
    for table in sorted({*own, *other}):
        ours, theirs = own.get(table, {}), other.get(table, {})
        keys = sorted(key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key))
        if keys:
            first = ".".join(map(str, json.loads(keys[0])))
            found.append(f"{len(keys)} rows of {table}, e.g. {first}")
    return f"different: {'; '.join(found[:3])}{f' and {len(found) - 3} more tables' if len(found) > 3 else ''}"


def merge(
    into: duckdb.DuckDBPyConnection, part: duckdb.DuckDBPyConnection, path: Path, force: bool = False
) -> list[Merged]:
    """Insert the models of another file that this file lacks, in the caller's transaction. With `force`, also replace models of the same name.
    `part` is a connection to the other file, at `path`."""
    own, other = known_hashes(into), known_hashes(part)
    found = []
    for model, hashes in sorted(other.items()):
        is_same = model in own and (own[model][0], own[model][2]) == (hashes[0], hashes[2])
        is_taken = model in own and not is_same and not force
        found.append(Merged(model, "unchanged" if is_same else "refused" if is_taken else "written"))
    fresh = [one.model for one in found if one.state == "written"]
    if fresh:
        with_answers = _parts_alike(into, part)
        scenarios = sorted({number for number, _ in _scenarios(into) & _scenarios(part)})
        into.execute(f"ATTACH {ddl.literal(str(path.absolute()))} AS {PART} (READ_ONLY)")
        _take(into, fresh, sorted(set(fresh) & own.keys()), scenarios, with_answers)
    return found


def detach(connection: duckdb.DuckDBPyConnection) -> None:
    """Close the other file, after the transaction that read it."""
    connection.execute(f"DETACH DATABASE IF EXISTS {PART}")


def _scenarios(connection: duckdb.DuckDBPyConnection) -> set[tuple[int, str]]:
    found = connection.execute("SELECT * FROM scenario").fetchall()
    return {(row[0], repr(row[1:])) for row in found}


def _parts_alike(into: duckdb.DuckDBPyConnection, part: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the hardware parts whose facts are equal in both files, so that their answers are valid in both files."""
    from charz.sql import answers

    own, other = answers.fingerprints(into), answers.fingerprints(part)
    changed = {name for table in own for name, _ in own[table].items() ^ other.get(table, {}).items()}
    if "" in changed:
        return []
    parts = [name for (name,) in into.execute("SELECT hardware FROM hardware ORDER BY hardware").fetchall()]
    return [name for name in parts if name not in changed]


def _take(
    into: duckdb.DuckDBPyConnection,
    models: Sequence[str],
    replaced: Sequence[str],
    scenarios: Sequence[int],
    parts: Sequence[str],
) -> None:
    from charz.sql import answers, maintain, scopes, seals, triggers
    from charz.sql.installed import catalog
    from charz.sql.layers import WORKLOAD

    of_models = f"model IN {scopes.listed(models)}"
    of_runs = maintain.of_runs(models, scenarios)
    for model in replaced:
        delete(into, model)
    answers.forget(into, maintain.of_runs(models, None))
    tables: tuple[type[Row], ...] = (Model, *MODEL_TABLES)
    for row_type in tables:
        _copy(into, row_type.TABLE, row_type.TABLE, of_models)
    with triggers.writing(into):
        for table in catalog(into).tables(WORKLOAD):
            into.execute(f"DELETE FROM {scopes.stored(into, table.name)} WHERE {maintain.of_runs(models, None, 'run.')}")
            _copy(into, table.name, table.name, maintain.of_runs(models, scenarios, "run."))
        _copy(into, answers.table(into), answers.STORED, f"{of_runs} AND hardware IN {scopes.listed(parts)}")
        seals.forget(into)  # answers that another user's charz computed
    here = {number for (number,) in into.execute("SELECT scenario_id FROM scenario").fetchall()}
    if others := sorted(here.difference(scenarios)):
        maintain.add_runs(into, models=models, scenarios=others)


def _copy(into: duckdb.DuckDBPyConnection, table: str, of_part: str, condition: str) -> None:
    source = of_part if "." in of_part else f"main.{ddl.quote(of_part)}"
    into.execute(f"INSERT INTO {table} BY NAME SELECT * FROM {PART}.{source} WHERE {condition}")
