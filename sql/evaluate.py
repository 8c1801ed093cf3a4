"""Evaluation of relations for a large scope, in portions of bounded memory. Views that several other views read are evaluated once."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import duckdb

from charz.schema import ddl

from .holder import hold, release
from .installed import Catalog, Relation, catalog
from .layers import COST, HARDWARE, MAPPING, MODELS, REPORT, ROLLUP, WORKLOAD
from .scopes import BACKENDS, SUPPORT, Scope, Triple, listed, scenario_rows

K = TypeVar("K")

COSTED = "shape_cost"
"""View that takes most of the time of an answer, and that all reports of time and energy read."""

RUN_KERNELS_AT_ONCE = 70_000
"""Kernels of runs whose intermediate results are in memory at once: about 2 kB each, for networks of a thousand kernels too. With 100,000,
eight language models in one transaction once ran out of `MEMORY_GB`."""

KERNELS_AT_ONCE = 300_000
"""Kernels on parts that are costed together: 2.7 times as many of DenseNet-121 need all of `MEMORY_GB`, measured."""

QUEUED_SHARE = 0.2
"""Memory of a kernel in the host's launch queue relative to that of a shape, of which a kernel of its own has both: about 400 byte, where
intermediate results of a shape take 2 kB. With 1,250,000 kernels of a language model on parts 0.6 GB were used."""

KERNELS_PER_SUM = 8
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


@dataclass(frozen=True, slots=True)
class Portion:
    """A portion of a scope, as `evaluated` yields it."""

    scope: Scope
    is_first: bool
    """True for the first portion with these models and scenarios: only in it are relations without parts read."""


@contextlib.contextmanager
def planned_briefly(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Disable most of the engine's optimizers, because for a question of few rows optimizing takes longer than it saves. The setting
    applies to the whole instance, so it is restored."""
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


def evaluated(
    connection: duckdb.DuckDBPyConnection,
    scope: Scope,
    wanted: Collection[str],
    done: Callable[[str], None] = lambda _: None,
    commits: bool = False,
) -> Iterator[Portion]:
    """Yield the portions of a scope one after another, each small enough for memory; until the next one, the wanted relations answer for
    the portion. `done` receives a description of each.

    With `commits` each portion ends the caller's transaction and begins another, for the copy of a file that an error discards: dropped
    temporary tables and inserted rows use memory until a transaction ends.
    """
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
                    if commits:
                        connection.commit()
                        connection.begin()
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
    """Yield the names that a relation reads, each as often as it occurs in the relation's text."""
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


def _blocks(
    connection: duckdb.DuckDBPyConnection, scope: Scope, wanted: Collection[str]
) -> list[tuple[Scope, list[Sequence[str]]]]:
    """Split the scope into models and scenarios whose runs are in memory together, each with lists of parts to evaluate at a time."""
    known = catalog(connection)
    of_parts = {relation.name for relation in known.of(*MODELS)}
    is_of_parts = bool(known.upstream(wanted) & of_parts)
    weights = _weights(connection, scope, is_of_parts)
    is_of_kernels = any("kernel_id" in r.grain for r in known.of(*MODELS) if r.name in known.upstream(wanted))
    shares = {} if is_of_kernels or not is_of_parts else _shape_shares(connection)
    found: list[tuple[Scope, list[Sequence[str]]]] = []
    for models, rows in _packed_runs(weights, scope):
        numbers = None if rows is None else {row["scenario_id"] for row in rows}
        block = dataclasses.replace(scope, models=models, scenarios=rows) if models is not None else scope
        of_part: Counter[str] = Counter()
        for model in models or ():
            for number, row, kernels, _ in weights[model]:
                if numbers is None or number in numbers:
                    share = QUEUED_SHARE + (1.0 - QUEUED_SHARE) * shares.get((model, row["backend"]), 1.0)
                    of_part.update({part: math.ceil(share * count) + KERNELS_PER_SUM for part, count in kernels.items()})
        found.append((block, list(_packed(of_part, KERNELS_AT_ONCE)) if is_of_parts else [()]))
    return found or [(scope, [scope.hardware or ()])]


def _shape_shares(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], float]:
    """Return the number of distinct shapes per kernel in the stored runs of each model under each backend: a sum over a run costs each shape
    once."""
    query = "SELECT run.model, run.backend, COUNT(*) / SUM(kernel_count) FROM shape GROUP BY run.model, run.backend"
    return {(model, backend): share for model, backend, share in connection.execute(query).fetchall()}


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
    """Group keys in order until the sum of sizes exceeds the limit. Return at least one list."""
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
    return without(connection, REORDERING)


def without(connection: duckdb.DuckDBPyConnection, optimizer: str) -> contextlib.AbstractContextManager[None]:
    """Disable one optimizer of the engine within the block."""
    return _set(connection, {"disabled_optimizers": optimizer})


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
