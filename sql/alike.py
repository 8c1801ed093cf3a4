"""Runs that differ only in the number of devices: relations whose rows no number of devices changes are evaluated for the first of them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence

import duckdb

from charz.schema import ddl

from .installed import Catalog, Relation
from .keys import RUN

_ALIKE = "alike_run"
"""Table of runs, each with the first of those that differ from it only in the number of devices."""


def divided(found: Sequence[Relation]) -> tuple[list[Relation], list[Relation]]:
    """Divide relations of runs, each after those it reads, into those whose rows are equal for every number of devices, and the others."""
    others: set[str] = set()
    for relation in found:
        words = {*re.findall(r"\w+", relation.body), *relation.columns}
        if others.intersection(relation.reads) or words & {"device_count", "scenario"}:
            others.add(relation.name)
    return [r for r in found if r.name not in others], [r for r in found if r.name in others]


@contextlib.contextmanager
def first_runs(connection: duckdb.DuckDBPyConnection, known: Catalog) -> Iterator[None]:
    """Keep in the temporary table `run`, for the duration of the block, one run of those that differ only in the number of devices."""
    keys = [f"run.{key}" for key in RUN if key != "scenario_id"]
    keys += [name for name in known.relations["run"].columns if name not in ("run", "device_count")]
    first = f"FIRST_VALUE(run) OVER (PARTITION BY {', '.join(keys)} ORDER BY run.scenario_id)"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {_ALIKE} AS SELECT *, {first} AS first_run FROM run")
    kept = f"CREATE OR REPLACE TEMP TABLE run AS SELECT * EXCLUDE (first_run) FROM {_ALIKE}"
    connection.execute(f"{kept} WHERE run = first_run")
    yield
    connection.execute(kept)
    connection.execute(f"DROP TABLE {_ALIKE}")


def repeated(same: Sequence[Relation], readers: Sequence[Relation]) -> Iterator[tuple[str, str]]:
    """Yield the relations that files or `readers` need for every run, with the query that repeats the rows of the first runs."""
    read = {name for relation in readers for name in relation.reads}
    for relation in same:
        if "run" in relation.columns and (relation.is_table or relation.name in read):
            name = ddl.quote(relation.name)
            yield relation.name, f"SELECT r.* REPLACE (a.run AS run) FROM {name} AS r INNER JOIN {_ALIKE} AS a ON a.first_run = r.run"
