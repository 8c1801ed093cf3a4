"""Databases for the oracle tests: in memory, with the rule tables of the catalog, the views under test
and whatever models and parts a test puts in."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb

from charz.hardware_catalog import loader
from charz.ingest import write
from charz.ingest.compile import compile_graph
from charz.ingest.compile.rules import Rules, from_rows
from charz.ingest.graph import Graph
from charz.ingest.rows import workload
from charz.schema import database, ddl
from charz.schema.catalog import (
    EnergyProfile,
    Hardware,
    HardwareCluster,
    HardwareMemory,
    HardwareOverhead,
    HardwarePeak,
    HardwarePower,
)
from charz.schema.row import Row
from charz.schema.scenario import Scenario
from charz.schema.workload import Model
from charz.sql import views

PART_TABLES = (Hardware, HardwareCluster, HardwareMemory, HardwarePeak, HardwarePower, HardwareOverhead, EnergyProfile)


@functools.cache
def catalog() -> loader.Catalog:
    """The shipped catalog, read once."""
    return loader.load()


@functools.cache
def rules() -> Rules:
    """The compiler's rules from the shipped catalog."""
    return from_rows(catalog().rows)


def new_database(needed: Iterable[str], with_parts: bool = False) -> duckdb.DuckDBPyConnection:
    """Tables, rule rows and the views named with all they read; no model, no scenario, and the shipped parts
    only on request."""
    connection = duckdb.connect(config={"threads": 2})
    for row_type in database.TABLES:
        connection.execute(ddl.create_table(row_type))
    for row_type, rows in catalog().rows.items():
        is_part = row_type.TABLE.startswith("hardware") or row_type is EnergyProfile
        if row_type is not Scenario and (with_parts or not is_part):
            database.insert(connection, row_type, loader.columns_of(row_type, rows))
    views.create(connection, with_dependencies(needed))
    return connection


def with_dependencies(needed: Iterable[str]) -> list[views.View]:
    """The views named and those they read, in order of creation."""
    loaded = views.load()
    wanted = set(needed)
    for view in reversed(loaded):
        if view.name in wanted:
            wanted |= view.relations
    return [view for view in loaded if view.name in wanted]


def add_graph(connection: duckdb.DuckDBPyConnection, graph: Graph, name: str = "generated") -> int:
    """Compile and write a graph as the model `name`, in place of one of that name; returns its id."""
    row: dict[str, Any] = {
        "model": name, "source": f"test:{name}", "architecture_family": "test", "input_signature": "",
        "planned_format": graph.planned_format,
        "is_batch_symbolic": True, "is_sequence_symbolic": True, "has_context": False, "is_training": False,
        "default_batch": 1, "default_sequence": 4, "parameter_count": 0, "charz_version": "test",
        "rules_fingerprint": rules().fingerprint, "ingest_s": 0.0,
    }  # fmt: skip
    for column, info in Model.model_fields.items():
        if column not in row and column not in ("model_id", "ingested_at"):
            row[column] = "" if info.annotation is str else None
    columns = {**workload(graph), **compile_graph(graph, rules())}
    write.write(connection, [write.Ingested(row, columns)])
    return int(connection.execute("SELECT model_id FROM model WHERE model = ?", [name]).fetchall()[0][0])


def replace_rows(connection: duckdb.DuckDBPyConnection, row_type: type[Row], rows: Sequence[Row]) -> None:
    """The table holds exactly these rows afterwards."""
    connection.execute(f"DELETE FROM {row_type.TABLE}")
    database.insert_rows(connection, rows)


def replace_part(connection: duckdb.DuckDBPyConnection, rows: Iterable[Row]) -> None:
    """The database holds exactly the parts that these rows describe."""
    given = list(rows)
    for row_type in PART_TABLES:
        replace_rows(connection, row_type, [r for r in given if type(r) is row_type])


def scenario(scenario_id: int, **fields: Any) -> Scenario:
    """A scenario with the usual defaults."""
    values: dict[str, Any] = {
        "batch": 1, "sequence": None, "context": None, "phase": "forward", "policy": "fp32", "backend": "eager",
        "memory_format": "nchw", "host_factor": 1.0, "cache_state": "warm", "origin": "user",
    }  # fmt: skip
    return Scenario(scenario_id=scenario_id, **(values | fields))


def add_model(connection: duckdb.DuckDBPyConnection, name: str) -> int:
    """Ingest a torchvision model and write it; returns its id."""
    from charz.ingest import pipeline
    from charz.ingest.sources.spec import parse

    write.write(connection, [pipeline.ingest(parse(name), rules())])
    return int(connection.execute("SELECT model_id FROM model WHERE model = ?", [name]).fetchall()[0][0])
