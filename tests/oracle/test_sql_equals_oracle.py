"""The SQL views and the plain reading of the same formulas give the same numbers."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from charz.schema.scenario import Scenario

from .cost_oracle import Prediction, Record, Tables, predict
from .database import add_graph, add_model, new_database, replace_part, replace_rows, scenario
from .generated import KINDS, graphs, parts

RELATIVE = 1e-9
ROUNDING = 1e-15
"""Of a time since the run began, as its share: a few units in the last place."""

TARGET = ("model_id", "scenario_id", "hardware_id")
Target = tuple[int, int, str]

COMPARED = {
    "kernel_cost": (
        "macs",
        "flops",
        "threads",
        "traffic_byte",
        "resident_byte",
        "dram_byte",
        "reload_byte",
        "matrix_s",
        "vector_s",
        "compute_s",
        "dram_s",
        "cache_s",
        "reload_s",
        "latency_bound_s",
        "team_size",
        "thread_s",
        "team_s",
        "memory_s",
        "serial_s",
        "reorder_byte",
        "reorder_s",
        "paged_byte",
        "paging_s",
        "power_s",
        "busy_s",
        "device_s",
        "naive_s",
        "roofline_s",
        "compute_energy_j",
        "static_w",
        "utilization_fraction",
    ),
    "kernel_latency": (
        "host_issue_s",
        "end_s",
        "latency_s",
        "memory_energy_j",
        "dynamic_energy_j",
        "static_energy_j",
        "energy_j",
    ),
    "kernel_edp": ("local_edp_js", "edp_js"),
    "operator_cost": ("share_fraction", "latency_s", "energy_j", "edp_js"),
    "model_cost": ("latency_s", "energy_j", "macs", "flops", "traffic_byte", "device_s", "host_issue_s"),
}
KEYS = {"operator_cost": ("subgraph_id", "operator_id"), "model_cost": ()}


def rows_of(connection: duckdb.DuckDBPyConnection, view: str, where: str = "TRUE") -> dict[Target, dict[Any, Record]]:
    """A view's rows by target (model, scenario, part) and the rest of their key: one query for all."""
    keys = KEYS.get(view, ("subgraph_id",))
    columns = ", ".join((*TARGET, *keys, *COMPARED[view]))
    cursor = connection.execute(f"SELECT {columns} FROM {view} WHERE {where}")
    names = [d[0] for d in cursor.description]
    found: dict[Target, dict[Any, Record]] = defaultdict(dict)
    for row in cursor.fetchall():
        found[row[:3]][tuple(row[3 : 3 + len(keys)])] = dict(zip(names, row, strict=True))
    return found


def differences(view: str, found: dict[Any, Record], expected: dict[Any, Record], run_s: float) -> Iterator[str]:
    """What differs by more than rounding, in a run of `run_s`."""
    if found.keys() != expected.keys():
        yield f"{view}: rows {sorted(found.keys() ^ expected.keys())} are on one side only"
    for key in found.keys() & expected.keys():
        # A kernel's latency is the difference of two times since the run began, and has their rounding error.
        rounding = ROUNDING * run_s / (expected[key].get("latency_s") or run_s or 1.0)
        for column in COMPARED[view]:
            sql, plain = found[key][column], expected[key][column]
            # What is left of a long sum of larger numbers keeps their rounding error.
            if (sql is None) != (plain is None) or (
                sql is not None and not math.isclose(sql, plain, rel_tol=max(RELATIVE, rounding), abs_tol=1e-21)
            ):
                yield f"{view}{key}.{column}: SQL {sql!r}, oracle {plain!r}"


def check(connection: duckdb.DuckDBPyConnection, tables: dict[int, Tables], where: str = "TRUE") -> int:
    """Compare every target of these models, and return how many there are."""
    found = {view: rows_of(connection, view, where) for view in COMPARED}
    scenario_ids = [s for (s,) in connection.execute("SELECT scenario_id FROM scenario").fetchall()]
    parts_asked = [h for (h,) in connection.execute(f"SELECT hardware_id FROM hardware WHERE {where}").fetchall()]
    problems, targets = [], 0
    for target in itertools.product(tables, scenario_ids, parts_asked):
        prediction = predict(tables[target[0]], target[1], target[2])
        targets += prediction is not None
        expected: dict[str, dict[Any, Record]] = by_view(prediction) if prediction else {v: {} for v in COMPARED}
        for view in COMPARED:
            run_s = prediction.model["latency_s"] if prediction and prediction.kernels else 0.0
            problems += [f"{target} {d}" for d in differences(view, found[view][target], expected[view], run_s)]
    assert not problems, "\n".join(problems[:20])
    return targets


def by_view(prediction: Prediction) -> dict[str, dict[Any, Record]]:
    """A prediction's rows under the views they must equal."""
    kernels = {(k["subgraph_id"],): k for k in prediction.kernels}
    operators = {(o["subgraph_id"], o["operator_id"]): o for o in prediction.operators}
    return dict.fromkeys(("kernel_cost", "kernel_latency", "kernel_edp"), kernels) | {
        "operator_cost": operators,
        "model_cost": {(): prediction.model} if kernels else {},
    }


@pytest.fixture(scope="module")
def generated() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database without parts."""
    connection = new_database(COMPARED)
    yield connection
    connection.close()


@st.composite
def scenarios(draw: st.DrawFn, scenario_id: int) -> Scenario:
    """Conditions of a run; many parts will not be able to run it."""
    return scenario(
        scenario_id,
        batch=draw(st.sampled_from([1, 2, 5, 33])),
        sequence=draw(st.sampled_from([None, 1, 17])),
        policy=draw(st.sampled_from(["fp32", "fp16", "bf16", "int8", "amp-fp16", "w8a16"])),
        backend=draw(
            st.sampled_from(["eager", "eager", "inductor", "tensorrt", "onnxruntime", "openvino", "xla", "kpu"])
        ),
        memory_format=draw(st.sampled_from(["nchw", "nhwc"])),
        host_factor=draw(st.sampled_from([1.0, 0.4])),
        cache_state=draw(st.sampled_from(["warm", "cold", "hot"])),
    )


# A failure names target, view, row and column; shrinking it would run the views hundreds of times.
@pytest.mark.slow
@settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_generated(generated: duckdb.DuckDBPyConnection, data: st.DataObject) -> None:
    """Any graphs on any parts under any scenarios: one of each family, three scenarios a time."""
    replace_part(generated, [row for family in KINDS for row in data.draw(parts(family))])
    replace_rows(generated, Scenario, [data.draw(scenarios(i)) for i in range(1, 6)])
    models = [add_graph(generated, data.draw(graphs()), f"generated{i}") for i in range(2)]
    check(generated, {m: Tables.read(generated, m) for m in models})


REAL_MODELS = (
    "resnet18",
    "resnet50",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "efficientnet_b0",
    "vgg16",
    "vit_b_16",
    "swin_t",
    "densenet121",
    "convnext_tiny",
)
REAL_PARTS = ("rtx4090", "t4", "i7_13700k", "tpu_v4", "kpu_t256")
REAL_RUNS = [
    ("amp-fp16", "eager"),
    ("fp32", "inductor"),
    ("int8", "tensorrt"),
    ("bf16", "xla"),
    ("int8", "kpu"),
    ("fp32", "openvino"),
]


@pytest.mark.slow
def test_real_models() -> None:
    """Ten models of torchvision on a part of each kind."""
    connection = new_database(COMPARED, with_parts=True)
    names = ", ".join(f"'{p}'" for p in REAL_PARTS)
    connection.execute(f"DELETE FROM hardware WHERE hardware_id NOT IN ({names})")
    runs = [scenario(i, batch=3, policy=p, backend=b) for i, (p, b) in enumerate(REAL_RUNS)]
    replace_rows(connection, Scenario, runs)
    models = {m: Tables.read(connection, m) for m in [add_model(connection, name) for name in REAL_MODELS]}
    assert check(connection, models) >= 8 * len(models)
