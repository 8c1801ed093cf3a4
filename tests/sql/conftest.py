"""Small databases: a few parts of the catalog, a few scenarios, two networks of a few operators, and the maintained relations of the first
two layers."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from charz.hardware_catalog import loader
from charz.ingest import write
from charz.ingest.compile import compile_graph
from charz.ingest.compile.rules import Rules, from_rows
from charz.ingest.graph import Graph, GraphModule, GraphOperator, GraphTensor, Polynomial, Step
from charz.ingest.rows import Ingested, workload
from charz.schema import database, file
from charz.schema.scenario import Scenario
from charz.schema.workload import Model
from charz.sql import layers, macros, maintain, views

sys.path.insert(0, str(Path(__file__).parent))  # `folders` is imported by name, since test folders are not packages.

PARTS = ("rtx4090", "l40s", "i9_10940x", "tpu_v4", "kpu_t64")
"""Two siblings, and one part of each architecture class."""
SAMPLE, ONE = (1, 0, 0), (0, 0, 0)
BACKENDS = ("eager", "inductor", "xla", "kpu")


class Drawing:
    """A chain of operators under construction."""

    def __init__(self, channels: int) -> None:
        self.graph = Graph(modules=[GraphModule(0, None, "", "Root", 0)])
        self.channels = channels
        self.last = self.tensor("input", {SAMPLE: 64.0 * channels})

    def tensor(self, role: str, elements: Polynomial, producer: int | None = None) -> int:
        number = len(self.graph.tensors)
        self.graph.tensors.append(
            GraphTensor(number, f"t{number}", producer, role, "fp32", f"[B, {self.channels}]", elements, number)
        )
        return number

    def operator(self, aten: str, kind: str, steps: list[Step], weights: list[float] = []) -> None:  # noqa: B006
        number = len(self.graph.operators)
        reads = [self.last, *(self.tensor("weight", {ONE: size}) for size in weights)]
        self.last = self.tensor("activation", {SAMPLE: 64.0 * self.channels}, number)
        operator = GraphOperator(number, f"n{number}", f"aten.{aten}.default", kind, 0, "test", reads, [self.last])
        operator.stage, operator.steps = number, steps
        self.graph.operators.append(operator)

    def product(self, aten: str, kind: str) -> None:
        width = float(self.channels)
        macs = 64.0 * width * width
        sizes: dict[str, Polynomial] = {
            "macs": {SAMPLE: macs}, "flops": {SAMPLE: 2 * macs}, "threads": {SAMPLE: 64.0 * width},
            "m": {SAMPLE: 64.0}, "n": {ONE: width}, "k": {ONE: width}, "groups": {ONE: 1.0},
        }  # fmt: skip
        self.operator(aten, kind, [Step("main", "gemm", sizes)], [width * width, width])

    def loop(self, aten: str, kind: str) -> None:
        size = {SAMPLE: 64.0 * self.channels}
        self.operator(aten, kind, [Step("main", "vector", {"flops": size, "threads": size})])


def network(channels: int) -> Graph:
    """Make a network of products, loops and a chain of both."""
    drawing = Drawing(channels)
    drawing.product("conv2d", "conv")
    drawing.loop("relu", "activation")
    drawing.product("linear", "linear")
    drawing.loop("gelu", "activation")
    drawing.product("linear", "linear")
    drawing.graph.tensors[drawing.last].is_output = True
    return drawing.graph


def add_network(connection: duckdb.DuckDBPyConnection, name: str, channels: int, rules: Rules) -> None:
    """Write a network as ingest does."""
    graph = network(channels)
    row: dict[str, Any] = {
        "model": name, "source": f"test:{name}", "architecture_family": "test", "input_signature": "",
        "planned_format": graph.planned_format, "is_batch_symbolic": True, "is_sequence_symbolic": False,
        "has_context": False, "is_training": False, "default_batch": 1, "default_sequence": 1, "parameter_count": 0,
        "charz_version": "test", "rules_fingerprint": rules.fingerprint, "ingest_s": 0.0,
    }  # fmt: skip
    for column, info in Model.model_fields.items():
        if column not in row and column != "ingested_at":
            row[column] = "" if info.annotation is str else None
    ingested = Ingested(row, {**workload(graph), **compile_graph(graph, rules)})
    write.write(connection, [ingested], maintain.add_runs)


def scenario(scenario_id: int, backend: str, batch: int = 1, precision: str = "fp32") -> Scenario:
    """Make a scenario with the usual defaults."""
    return Scenario(
        scenario_id=scenario_id, batch=batch, sequence=None, context=None, phase="forward", precision=precision,
        backend=backend, engine_version=None, kv_precision=None, device_count=None,
        weight_host_fraction=None, cache_host_fraction=None, input_host_fraction=None, memory_format="nchw", host_factor=1.0,
        cache_state="warm", power=None, origin="user",
    )  # fmt: skip


@pytest.fixture(scope="session")
def rules() -> Rules:
    """Rules of the compiler from the shipped catalog."""
    return from_rows(loader.load().rows)


@pytest.fixture(scope="session")
def kept_layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped first two layers with the macros, without views that only later layers read."""
    root = tmp_path_factory.mktemp("sql")
    for layer in (layers.HARDWARE, layers.WORKLOAD, macros.FOLDER):
        (root / layer).symlink_to(views.ROOT / layer)
    return root


@pytest.fixture(scope="session")
def small_file(once: Callable[..., Path], rules: Rules, kept_layers: Path) -> Path:
    """File of the database; copy it before you write."""

    def make(path: Path) -> None:
        with file.replace(path, create=True) as connection:
            for row_type, rows in loader.load().rows.items():
                kept = [row for row in rows if getattr(row, "hardware", PARTS[0]) in PARTS]
                if row_type is Scenario:
                    kept = [scenario(i, backend) for i, backend in enumerate(BACKENDS, start=1)]
                database.insert(connection, row_type, loader.columns_of(row_type, kept))
            views.install(connection, kept_layers)
            add_network(connection, "narrow", 32, rules)
            add_network(connection, "wide", 256, rules)

    return once("two_layers.duckdb", make)


@pytest.fixture
def small(small_file: Path, tmp_path: Path) -> Path:
    """Copy of the database."""
    return Path(shutil.copy(small_file, tmp_path / "small.duckdb"))


@pytest.fixture
def add_model(rules: Rules) -> Callable[[duckdb.DuckDBPyConnection, str, int], None]:
    """Function that writes a network with a number of channels under a name, as ingest does."""
    return lambda connection, name, channels: add_network(connection, name, channels, rules)
