"""Databases for the oracle tests, in memory: the catalog's rule tables, the relations under test and the models and parts that a test
inserts."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import duckdb
import model_facts

from charz.hardware_catalog import loader
from charz.ingest import write
from charz.ingest.compile import compile_graph
from charz.ingest.compile.rules import Rules, from_rows
from charz.ingest.graph import Graph
from charz.ingest.rows import Ingested, workload
from charz.schema import database, ddl
from charz.schema.catalog.energy import EnergyProfile
from charz.schema.catalog.part import (
    Hardware,
    HardwareCluster,
    HardwareMemory,
    HardwareOverhead,
    HardwarePeak,
    HardwarePower,
    UsualHost,
)
from charz.schema.row import Row
from charz.schema.scenario import Scenario
from charz.schema.workload import Model
from charz.sql import layers, views

PART_TABLES = (
    Hardware,
    HardwareCluster,
    HardwareMemory,
    HardwarePeak,
    HardwarePower,
    HardwareOverhead,
    EnergyProfile,
    UsualHost,
)
EVALUATED = (layers.HARDWARE, layers.WORKLOAD)
"""Layers whose relations are evaluated once after the facts are written; the others are views."""


@functools.cache
def catalog() -> loader.Catalog:
    """Load the shipped catalog, once."""
    return loader.load()


@functools.cache
def rules() -> Rules:
    """Read the compiler's rules from the shipped catalog."""
    return from_rows(catalog().rows)


@functools.cache
def relations() -> list[views.View]:
    """Load every file of `sql/`, once."""
    return views.load()


class Bench:
    """A database under test. Connections are reused: a test's writes are rolled back."""

    free: ClassVar[dict[bool, list[duckdb.DuckDBPyConnection]]] = {False: [], True: []}
    """Connections not in use, without and with the shipped parts."""

    def __init__(self, needed: Iterable[str], with_parts: bool = False) -> None:
        """Create tables, rule rows and the named relations with all they read; no model, no scenario, and the shipped parts only on
        request."""
        self.with_parts = with_parts
        self.connection = self.free[with_parts].pop() if self.free[with_parts] else with_rules(with_parts)
        self.relations = with_dependencies(needed)
        self._make_views()
        self.connection.execute("BEGIN")
        self.is_stale = True

    def _make_views(self) -> None:
        """Create relations that the connection lacks; those of the first layers as empty tables."""
        known = {name for (name,) in self.connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        known |= {name for (name,) in self.connection.execute("SELECT view_name FROM duckdb_views()").fetchall()}
        for view in self.relations:
            if view.name not in known:
                kind = "TABLE" if view.layer in EVALUATED else "VIEW"
                self.connection.execute(f"CREATE {kind} {view.name} AS {view.body}")

    def evaluate(self) -> None:
        """Evaluate the relations of the first layers, once after each change of facts."""
        if self.is_stale:
            for view in self.relations:
                if view.layer in EVALUATED:
                    self.connection.execute(f"CREATE OR REPLACE TABLE {view.name} AS {view.body}")
        self.is_stale = False

    def execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Execute a statement that changes facts."""
        self.connection.execute(statement, values or None)
        self.is_stale = True

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a query over the current facts."""
        self.evaluate()
        return self.connection.execute(query, values or None).fetchall()

    def add_graph(self, graph: Graph, name: str = "generated") -> str:
        """Compile and write a graph as the model `name`, in place of one of that name."""
        self._write(ingested(graph, name))
        return name

    def add_model(self, name: str) -> str:
        """Ingest a torchvision model and write it."""
        traced = trace(name)
        self._write(traced)
        return str(traced.model["model"])

    def _write(self, made: Ingested) -> None:
        """Write the facts; the relations that `charz ingest` evaluates are evaluated here on demand."""
        write_facts(self.connection, made)
        self.is_stale = True

    def replace_rows(self, row_type: type[Row], rows: Sequence[Row]) -> None:
        """Replace all rows of a table."""
        self.connection.execute(f"DELETE FROM {row_type.TABLE}")
        database.insert_rows(self.connection, rows)
        self.is_stale = True

    def replace_part(self, rows: Iterable[Row]) -> None:
        """Replace all parts by those that these rows describe."""
        given = list(rows)
        for row_type in PART_TABLES:
            self.replace_rows(row_type, [r for r in given if type(r) is row_type])

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.execute("ROLLBACK")
        self.free[self.with_parts].append(self.connection)


def write_facts(connection: duckdb.DuckDBPyConnection, made: Ingested) -> None:
    """Write the facts of a model, in place of one of its name."""
    name = made.model["model"]
    write.delete(connection, name)
    columns = {**made.model, "ingested_at": datetime.now(UTC).replace(tzinfo=None)}
    database.insert(connection, Model, {column: [value] for column, value in columns.items()})
    for row_type, values in made.columns.items():
        length = len(next(iter(values.values())))
        if length:
            database.insert(connection, row_type, {"model": [name] * length, **values})


def with_rules(with_parts: bool) -> duckdb.DuckDBPyConnection:
    """Create a database with the rules of the catalog and, on request, its parts."""
    connection = duckdb.connect(config={"threads": 2})
    for row_type in database.TABLES:
        connection.execute(ddl.create_table(row_type))
    for row_type, rows in catalog().rows.items():
        is_part = row_type in PART_TABLES or row_type.TABLE.startswith("hardware_p")
        if row_type is not Scenario and rows and (with_parts or not is_part):
            database.insert(connection, row_type, loader.columns_of(row_type, rows))
    return connection


def ingested(graph: Graph, name: str, other_rules: Rules | None = None) -> Ingested:
    """Compile a graph by the shipped rules or others, as `charz ingest` does."""
    by = other_rules or rules()
    row: dict[str, Any] = {
        "model": name, "source": f"test:{name}", "architecture_family": "test", "input_signature": "",
        "planned_format": graph.planned_format, "is_batch_symbolic": True, "is_sequence_symbolic": True,
        "has_context": False, "is_training": False, "default_batch": 1, "default_sequence": 4, "parameter_count": 0,
        "charz_version": "test", "rules_fingerprint": by.fingerprint, "ingest_s": 0.0,
    }  # fmt: skip
    for column, info in Model.model_fields.items():
        if column not in row and column != "ingested_at":
            row[column] = "" if info.annotation is str else None
    return Ingested(row, {**workload(graph), **compile_graph(graph, by, with_servers=True)})


def trace(name: str) -> Ingested:
    """Return a torchvision model's kept facts, or trace it, once per process."""
    return model_facts.kept(name) if name in model_facts.MODELS else model_facts.fresh(name)


def with_dependencies(needed: Iterable[str]) -> list[views.View]:
    """Return the named relations and those they read, in order."""
    wanted = set(needed)
    for view in reversed(relations()):
        if view.name in wanted:
            wanted |= set(view.relations)
    return [view for view in relations() if view.name in wanted]


def scenario(scenario_id: int, **fields: Any) -> Scenario:
    """Make a scenario with the usual defaults."""
    values: dict[str, Any] = {
        "batch": 1, "sequence": None, "context": None, "phase": "forward", "precision": "fp32", "backend": "eager",
        "engine_version": None, "kv_precision": None,
        "device_count": None, "weight_host_fraction": None, "cache_host_fraction": None, "input_host_fraction": None,
        "memory_format": "nchw", "host_factor": 1.0, "cache_state": "warm", "power": None, "origin": "user",
    }  # fmt: skip
    return Scenario(scenario_id=scenario_id, **(values | fields))
