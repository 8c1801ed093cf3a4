"""Answers to all questions at once in bounded memory: one relation of some models, on some parts, after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from charz.schema import database, ddl

from .maintain import of_runs, stored
from .narrow import narrow
from .stages import Pin, stages

if TYPE_CHECKING:
    import pyarrow

KERNELS_AT_ONCE = 250_000
"""Kernels on targets that are costed together: about 2 kB each is held."""

ROWS_AT_ONCE = 122_880
"""Rows handed on together."""


@dataclass(frozen=True, slots=True)
class Extent:
    """What is asked about."""

    models: Sequence[str]
    hardware: Sequence[str]
    scenarios: Sequence[Mapping[str, Any]]
    stored_scenarios: Collection[int]
    """Those of the scenarios that the file has, by number."""
    limited: Collection[str] = ()
    """Of the columns `model` and `hardware` those of which rows of others are left out of facts too."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Models that are asked about together, and the parts at a time."""

    models: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]


class Streamed:
    """Relations of a file for some models, parts and scenarios, portion by portion."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, extent: Extent, wanted: Sequence[str]) -> None:
        self.connection = connection
        self.extent = extent
        self.stages = stages(connection, wanted)
        self.facts = {row_type.TABLE for row_type in database.TABLES}
        self.columns = _columns(connection)
        self.kernels = kernel_targets(connection, extent)
        self.portions = _portions(self.kernels, extent) if self._is_of_models() else []

    @property
    def step_count(self) -> int:
        """Steps that `readers` tells of."""
        return 1 + sum(1 + len(portion.parts) for portion in self.portions)

    def readers(self, done: Callable[[str], None]) -> Iterator[tuple[str, pyarrow.RecordBatchReader]]:
        """A relation and some of its rows, to be read before the next; every relation at least once. `done` is told each
        step."""
        own = [name for name in self.stages.once if name not in self.columns]
        known = [name for name in self.stages.once if name in self.columns]
        for names, models in ((known, ()), (own, self.extent.models)):
            if names:
                with self.connection.cursor() as cursor:
                    self._narrow(cursor, models)
                    for name in names:
                        yield name, _reader(cursor, self._of_once(cursor, name))
        done("facts")
        for portion in self.portions:
            with self.connection.cursor() as cursor:
                yield from self._of_portion(cursor, portion, done)

    def _of_portion(
        self, cursor: duckdb.DuckDBPyConnection, portion: Portion, done: Callable[[str], None]
    ) -> Iterator[tuple[str, pyarrow.RecordBatchReader]]:
        about = " to ".join(dict.fromkeys((*portion.models[:1], *portion.models[-1:])))
        self._narrow(cursor, portion.models)
        hold(cursor, self.stages.run_pins)
        for i, parts in enumerate(portion.parts):
            _keep_parts(cursor, parts)
            hold(cursor, self.stages.part_pins)
            for name in self.stages.by_part:
                yield name, _reader(cursor, ddl.quote(name))
            _carry(cursor, self.stages.carried, is_first=i == 0)
            _drop(cursor, self.stages.part_pins)
            done(f"{about} on {len(parts)} parts")
        _keep_parts(cursor, self.extent.hardware)
        for pin in self.stages.carried:
            cursor.execute(f"ALTER TABLE temp.{ddl.quote(_carried(pin.name))} RENAME TO {ddl.quote(pin.name)}")
        hold(cursor, self.stages.target_pins)
        for name in self.stages.by_model:
            yield name, _reader(cursor, ddl.quote(name))
        done(about)

    def _of_once(self, cursor: duckdb.DuckDBPyConnection, name: str) -> str:
        """The rows of a relation that no model decides, or of a table of facts about all of the models."""
        values = {"model": self.extent.models, "hardware": self.extent.hardware}
        limits = [
            f"({column} IN ({', '.join(map(ddl.literal, values[column])) or 'NULL'}) OR {column} IS NULL)"
            for column in sorted(self.extent.limited)
            if column in self.columns.get(name, ())
        ]
        source = stored(cursor, name) if name in self.facts and name != "scenario" else ddl.quote(name)
        return f"{source} WHERE {' AND '.join(limits) or 'TRUE'}"

    def _is_of_models(self) -> bool:
        return bool(self.stages.by_part or self.stages.by_model)

    def _narrow(self, cursor: duckdb.DuckDBPyConnection, models: Sequence[str]) -> None:
        narrow(
            cursor,
            scenarios=self.extent.scenarios,
            stored_scenarios=self.extent.stored_scenarios,
            models=models,
            hardware=self.extent.hardware,
        )


def kernel_targets(connection: duckdb.DuckDBPyConnection, extent: Extent) -> Counter[tuple[str, str]]:
    """Kernels of all runs of a model on a part, without those that a backend inserts, by model and part."""
    query = f"SELECT model, backend, COUNT(*) FROM kernel WHERE {of_runs(extent.models, None)} GROUP BY model, backend"
    kernels = {(model, backend): count for model, backend, count in connection.execute(query).fetchall()}
    asked = Counter((row["backend"], row["precision"]) for row in extent.scenarios)
    support = connection.execute("SELECT hardware, backend, precision FROM part_support").fetchall()
    known = set(extent.hardware)
    found: Counter[tuple[str, str]] = Counter({(model, part): 0 for model in extent.models for part in extent.hardware})
    for part, backend, precision in support:
        if part in known and (runs := asked[backend, precision]):
            for model in extent.models:
                found[model, part] += runs * kernels.get((model, backend), 0)
    return found


def _portions(kernels: Mapping[tuple[str, str], int], extent: Extent) -> list[Portion]:
    """Small models together; of a large one, some parts at a time."""
    of_model = {model: sum(kernels[model, part] for part in extent.hardware) for model in extent.models}
    found: list[Portion] = []
    for models in _packed(of_model):
        of_part = {part: sum(kernels[model, part] for model in models) for part in extent.hardware}
        found.append(Portion(tuple(models), tuple(tuple(parts) for parts in _packed(of_part))))
    return found


def _packed(sizes: Mapping[str, int]) -> list[list[str]]:
    """Names in order, together as long as their kernels are not too many; at least one list."""
    found: list[list[str]] = [[]]
    held = 0
    for name, size in sizes.items():
        if found[-1] and held + size > KERNELS_AT_ONCE:
            found.append([])
            held = 0
        found[-1].append(name)
        held += size
    return found


def _columns(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Columns of every relation of charz, in order."""
    query = "SELECT view, LIST(column_name ORDER BY position) FROM view_column GROUP BY view"
    of_facts = {row_type.TABLE: list(row_type.model_fields) for row_type in database.TABLES}
    return of_facts | dict(connection.execute(query).fetchall())


def _reader(cursor: duckdb.DuckDBPyConnection, source: str) -> pyarrow.RecordBatchReader:
    return cursor.sql(f"SELECT * FROM {source}").to_arrow_reader(ROWS_AT_ONCE)


def hold(cursor: duckdb.DuckDBPyConnection, pins: Sequence[Pin]) -> None:
    """Evaluate views that several others read, once."""
    for pin in pins:
        cursor.execute(f"CREATE TEMP TABLE {ddl.quote(pin.name)} AS {_selected(pin)}")


def _carry(cursor: duckdb.DuckDBPyConnection, pins: Sequence[Pin], is_first: bool) -> None:
    """Add the rows of some parts to those held."""
    for pin in pins:
        held = ddl.quote(_carried(pin.name))
        cursor.execute((f"CREATE TEMP TABLE {held} AS " if is_first else f"INSERT INTO temp.{held} ") + _selected(pin))


def _selected(pin: Pin) -> str:
    return f"SELECT {', '.join(map(ddl.quote, pin.columns))} FROM {ddl.quote(pin.name)}"


def _carried(name: str) -> str:
    return f"{name} of all parts"


def _drop(cursor: duckdb.DuckDBPyConnection, pins: Sequence[Pin]) -> None:
    for pin in pins:
        cursor.execute(f"DROP TABLE temp.{ddl.quote(pin.name)}")


def _keep_parts(cursor: duckdb.DuckDBPyConnection, parts: Sequence[str]) -> None:
    """Let the views know these parts and no others."""
    listed = ", ".join(map(ddl.literal, parts)) or "NULL"
    source = f"SELECT * FROM {stored(cursor, 'part_support')} WHERE hardware IN ({listed})"
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE part_support AS {source}")
