"""Whole kernels and runs: the views' answers equal those of a second implementation of the design."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from charz.schema.scenario import Scenario

from .database import Bench, scenario
from .facts import Facts, Record
from .generated import KINDS, graphs, parts
from .network import Run
from .physics import Prediction, predict

RELATIVE = 1e-9
ROUNDING = 1e-15
"""Rounding of a time since the run began, relative to it: a few units in the last place."""

K = ("model", "scenario_id", "hardware")
VIEWS: dict[str, tuple[str, ...]] = {
    "kernel_time": ("kernel_id",),
    "mapped_step": ("kernel_id", "step_id"),
    "operator_cost": ("kernel_id", "operator_id"),
    "model_cost": (),
}
"""Views compared, and the key columns of their rows within one target. Compared columns: all in the prediction."""
Rows = dict[Any, Record]


def rows_of(bench: Bench, view: str, names: dict[str, str]) -> dict[Any, Rows]:
    """Return a view's rows by target and the rest of their key, with the backend's number: one query for all."""
    keys = VIEWS[view]
    where = "WHERE step_id IS NOT NULL" if view == "mapped_step" else ""
    columns = ", ".join(names)
    found: dict[Any, Rows] = defaultdict(dict)
    for row in bench.connection.sql(f"SELECT {', '.join(K)}, {columns} FROM {view} {where}").pl().to_dicts():
        found[tuple(row[k] for k in K)][tuple(row[k] for k in keys)] = row
    return found


def differences(view: str, found: Rows, expected: Rows, run_s: float) -> Iterator[str]:
    """Yield values that differ by more than rounding, in a run of `run_s` seconds."""
    if found.keys() != expected.keys():
        yield f"{view}: rows {sorted(found.keys() ^ expected.keys())} are on one side only"
    for key in found.keys() & expected.keys():
        # A kernel's latency is the difference of two times since the run began, and has their rounding error.
        rounding = ROUNDING * run_s / (expected[key].get("latency_s") or run_s or 1.0)
        for column, plain in expected[key].items():
            sql = found[key][column]
            if isinstance(plain, float) and sql is not None:
                # The difference of large sums keeps their rounding error: of times, or of these times at most a
                # kilowatt.
                left = ROUNDING * run_s * (1.0 if column.endswith("_s") else 1000.0)
                is_same = math.isclose(sql, plain, rel_tol=max(RELATIVE, rounding), abs_tol=max(1e-21, left))
            else:
                is_same = sql == plain
            if not is_same:
                yield f"{view}{key}.{column}: SQL {sql!r}, oracle {plain!r}"


def by_view(made: Prediction | None) -> dict[str, Rows]:
    """Return a prediction's rows by the view they must equal."""
    if made is None or not made.kernels:
        return {view: {} for view in VIEWS}
    lists = {
        "kernel_time": made.kernels, "mapped_step": made.steps, "operator_cost": made.operators, "model_cost": [made.model],
    }  # fmt: skip
    return {view: {tuple(row[k] for k in VIEWS[view]): row for row in rows} for view, rows in lists.items()}


def check(bench: Bench, models: list[str]) -> int:
    """Compare every target of these models, and return their number."""
    bench.evaluate()
    scenarios = bench.connection.sql("SELECT * FROM scenario").pl().to_dicts()
    parts_asked = [name for (name,) in bench.rows("SELECT hardware FROM hardware")]
    predicted: dict[Any, Prediction | None] = {}
    problems: list[str] = []
    for model in models:
        facts, runs = Facts.read(bench.connection, model), dict[int, Run]()
        for s in scenarios:
            for part in parts_asked:
                predicted[model, s["scenario_id"], part] = predict(facts, s, part, runs)
        problems += memory_differences(bench, model, runs)
    for view in VIEWS:
        names = {c: c for made in predicted.values() for row in by_view(made)[view].values() for c in row}
        if not names:
            continue
        found = rows_of(bench, view, names)
        for target, made in predicted.items():
            run_s = made.model["latency_s"] if made and made.kernels else 0.0
            problems += [f"{target} {d}" for d in differences(view, found[target], by_view(made)[view], run_s)]
    assert not problems, f"{len(problems)} differences:\n" + "\n".join(problems[:20])
    return sum(made is not None for made in predicted.values())


def memory_differences(bench: Bench, model: str, runs: dict[int, Run]) -> Iterator[str]:
    """Yield differences in the peak memory of every run, which is the same on all parts."""
    found = bench.connection.sql(f"SELECT run.scenario_id, * FROM run_memory WHERE run.model = '{model}'").pl().to_dicts()
    rows = {(row["scenario_id"],): row for row in found}
    expected = {(number,): run.memory for number, run in runs.items() if run.is_valid}
    yield from (f"{model} {d}" for d in differences("run_memory", rows, expected, 0.0))


@pytest.fixture(scope="module")
def generated() -> Iterator[Bench]:
    """A database without parts."""
    with Bench([*VIEWS, "run_memory"]) as bench:
        yield bench


@st.composite
def scenarios(draw: st.DrawFn, scenario_id: int) -> Scenario:
    """Draw the conditions of a run; many parts cannot run it."""
    backends = ["eager", "eager", "inductor", "tensorrt", "onnxruntime", "openvino", "xla", "kpu"]
    return scenario(
        scenario_id,
        batch=draw(st.sampled_from([1, 2, 5, 33])),
        sequence=draw(st.sampled_from([None, 1, 17])),
        precision=draw(st.sampled_from(["fp32", "fp16", "bf16", "int8", "amp-fp16", "w8a16"])),
        backend=draw(st.sampled_from(backends)),
        memory_format=draw(st.sampled_from(["nchw", "nhwc"])),
        host_factor=draw(st.sampled_from([1.0, 0.4])),
        cache_state=draw(st.sampled_from(["warm", "cold", "hot", "weights_resident", "weights_streamed"])),
        power=draw(st.sampled_from([None, None, "low", "150w"])),
    )


def compare(bench: Bench, data: st.DataObject) -> None:
    """Compare two graphs on a part of each family under five scenarios."""
    bench.replace_part([row for family in KINDS for row in data.draw(parts(family))])
    bench.replace_rows(Scenario, [data.draw(scenarios(i)) for i in range(1, 6)])
    check(bench, [bench.add_graph(data.draw(graphs()), f"generated{i}") for i in range(2)])


# A failure names target, view, row and column; shrinking it would run the views hundreds of times.
USUAL: dict[str, Any] = {
    "deadline": None,
    "phases": [Phase.explicit, Phase.generate],
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}


@settings(max_examples=4, derandomize=True, **USUAL)
@given(data=st.data())
def test_generated(generated: Bench, data: st.DataObject) -> None:
    """The same examples each time."""
    compare(generated, data)


@pytest.mark.anew
@settings(max_examples=30, derandomize=False, **USUAL)
@given(data=st.data())
def test_generated_anew(generated: Bench, data: st.DataObject) -> None:
    """New examples each time."""
    compare(generated, data)


REAL_PARTS = ("rtx4090", "t4", "i7_13700k", "tpu_v4", "kpu_t256")
REAL_RUNS = [
    ("amp-fp16", "eager"),
    ("fp32", "inductor"),
    ("int8", "tensorrt"),
    ("bf16", "xla"),
    ("int8", "kpu"),
    ("fp32", "openvino"),
]


def compare_real(names: tuple[str, ...], batch: int) -> None:
    """Compare models of torchvision on a part of each kind."""
    with Bench([*VIEWS, "run_memory"], with_parts=True) as bench:
        bench.execute(f"DELETE FROM hardware WHERE hardware NOT IN {REAL_PARTS}")
        runs = [scenario(i, batch=batch, precision=p, backend=b) for i, (p, b) in enumerate(REAL_RUNS)]
        bench.replace_rows(Scenario, runs)
        assert check(bench, [bench.add_model(name) for name in names]) >= 8 * len(names)


def test_real_models() -> None:
    """Convolutions and attention."""
    compare_real(("resnet18", "vit_b_16"), 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "mobilenet_v3_large", "swin_t",
        *(
            pytest.param(name, marks=pytest.mark.broad)
            for name in (
                "resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "vgg16", "vit_b_16", "densenet121", "convnext_tiny",
            )
        ),
    ],
)  # fmt: skip
def test_more_real_models(name: str) -> None:
    """Several samples per run."""
    compare_real((name,), 3)
