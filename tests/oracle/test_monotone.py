"""More of a resource never costs time; a larger batch never saves any."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from charz.schema.catalog.part import HardwareMemory, HardwarePeak, HardwarePower
from charz.schema.row import Row
from charz.schema.scenario import Scenario

from .database import Bench, scenario
from .generated import KINDS, graphs, parts

ROUNDING = 1e-9
USUAL: dict[str, Any] = {
    "deadline": None,
    "phases": [Phase.explicit, Phase.generate],
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
"""A failure names its rows; shrinking it would run the views hundreds of times."""
SAME = settings(max_examples=2, derandomize=True, **USUAL)
ANEW = settings(max_examples=10, derandomize=False, **USUAL)
RUNS = [("fp32", "eager"), ("fp16", "inductor"), ("bf16", "xla"), ("int8", "kpu"), ("int8", "onnxruntime")]
WHOLE = """
    SELECT CONCAT(c.model, ' ', c.hardware, ' ', c.precision, ' ', c.backend) AS key, c.batch, c.latency_s AS value
    FROM model_cost AS c JOIN part_support AS t USING (hardware, backend, precision)
    WHERE t.chunk_element IS NULL
"""
"""Query for runs in which no loop switches from few threads to more."""
KERNELS = """
    SELECT
        CONCAT(
            run.model, ' ', hardware, ' ', run.precision, ' ', kernel_id, ' ', kernel_class, ' ', operator_name, ' ',
            CASE WHEN shares_by_chunk THEN team_size >= unit_count ELSE team_size > 1 END
        ) AS key,
        run.batch,
        (kernel_gap_s + unlimited_s - paging_s)
        * CASE WHEN shares_by_chunk AND team_size < unit_count THEN team_size ELSE 1 END AS value
    FROM kernel_cost
    WHERE chunk_element IS NOT NULL
"""
"""Query for kernels of the other runs at full clock (a limit acts on the run), in one thread and in all. For loops with a thread per
chunk, the time summed over threads while there are few: a loop twice as long has twice the threads, which share common reads."""
PAGES = """
    SELECT CONCAT(run.model, ' ', hardware, ' ', run.precision) AS key, run.batch, SUM(paging_s) AS value
    FROM kernel_cost
    WHERE chunk_element IS NOT NULL
    GROUP BY ALL
"""
"""Query for fresh pages of those runs: they belong to the run, not to one kernel."""
BATCHES = (1, 2, 3, 4, 7, 8, 16, 17, 33, 64, 100, 256)


@pytest.fixture(scope="module")
def generated() -> Iterator[Bench]:
    """A database without parts."""
    with Bench(["model_cost", "kernel_cost"]) as bench:
        yield bench


def latencies(bench: Bench) -> dict[tuple[int, str], float]:
    """Return the time of every target by scenario and part; infinite if no tile fits."""
    query = "SELECT scenario_id, hardware, latency_s FROM model_cost"
    return {(s, h): math.inf if t is None else t for s, h, t in bench.rows(query)}


def with_clock(row: Row, factor: float) -> Row:
    """Return a faster power mode."""
    return (
        row.model_copy(update={"clock_fraction": row.clock_fraction * factor})
        if isinstance(row, HardwarePower)
        else row
    )


def with_peak(row: Row, factor: float) -> Row:
    """Return a faster peak."""
    return (
        row.model_copy(update={"peak_ops_per_s": row.peak_ops_per_s * factor}) if isinstance(row, HardwarePeak) else row
    )


def with_bandwidth(row: Row, factor: float) -> Row:
    """Return a faster main memory or last-level cache."""
    if not isinstance(row, HardwareMemory) or row.bandwidth_byte_per_s is None or row.scope == "unit":
        return row
    return row.model_copy(update={"bandwidth_byte_per_s": row.bandwidth_byte_per_s * factor})


def improved(bench: Bench, improve: Callable[[Row, float], Row], data: st.DataObject) -> None:
    """Compare a part of each family with the same part with more of a resource."""
    rows = [row for family in KINDS for row in data.draw(parts(family))]
    factor = data.draw(st.sampled_from([1.01, 1.5, 10.0]))
    bench.replace_rows(Scenario, [scenario(i, batch=8, precision=p, backend=b) for i, (p, b) in enumerate(RUNS)])
    bench.add_graph(data.draw(graphs()))
    bench.replace_part(rows)
    before = latencies(bench)
    bench.replace_part([improve(row, factor) for row in rows])
    after = latencies(bench)
    assert before.keys() == after.keys()
    assert any(map(math.isfinite, before.values()))
    slower = {k: (before[k], after[k]) for k in before if after[k] > before[k] * (1 + ROUNDING)}
    assert not slower


IMPROVEMENTS = (with_bandwidth, with_peak, with_clock)


@pytest.mark.parametrize("improve", IMPROVEMENTS)
@SAME
@given(data=st.data())
def test_more_of_a_resource(generated: Bench, improve: Callable[[Row, float], Row], data: st.DataObject) -> None:
    """The resource is bandwidth, peak or clock of any part."""
    improved(generated, improve, data)


@pytest.mark.anew
@pytest.mark.parametrize("improve", IMPROVEMENTS)
@ANEW
@given(data=st.data())
def test_more_of_a_resource_anew(generated: Bench, improve: Callable[[Row, float], Row], data: st.DataObject) -> None:
    """New examples each time."""
    improved(generated, improve, data)


def falls(bench: Bench, query: str) -> list[tuple[object, ...]]:
    """Return rows of (key, batch, value) whose value is smaller than at the batch before."""
    statement = f"""
        WITH values_by_batch AS ({query}),
        steps AS (SELECT *, LAG(value) OVER (PARTITION BY key ORDER BY batch) AS before FROM values_by_batch)
        SELECT key, batch, before, value FROM steps WHERE value < before * (1 - {ROUNDING}) LIMIT 20
    """
    return bench.rows(statement)


def batches(precision: str, backend: str, first: int) -> list[Scenario]:
    """Make one scenario per batch."""
    return [scenario(first + i, batch=b, precision=precision, backend=backend) for i, b in enumerate(BATCHES)]


def enlarged(bench: Bench, data: st.DataObject) -> None:
    """Compare many batches of a network on a part of each family."""
    bench.replace_part([row for family in KINDS for row in data.draw(parts(family))])
    bench.replace_rows(Scenario, [s for i, (p, b) in enumerate(RUNS) for s in batches(p, b, 100 * i)])
    bench.add_graph(data.draw(graphs(4)))
    assert not falls(bench, WHOLE)
    assert not falls(bench, KERNELS)
    assert not falls(bench, PAGES)


@SAME
@given(data=st.data())
def test_larger_batches(generated: Bench, data: st.DataObject) -> None:
    """Generated networks on generated parts of every family."""
    enlarged(generated, data)


@pytest.mark.anew
@ANEW
@given(data=st.data())
def test_larger_batches_anew(generated: Bench, data: st.DataObject) -> None:
    """New examples each time."""
    enlarged(generated, data)


@pytest.mark.slow
def test_real_models_at_larger_batches() -> None:
    """Whole models on every part of the catalog."""
    with Bench(["model_cost", "kernel_cost"], with_parts=True) as bench:
        for name in ("resnet18", "mobilenet_v2", "vit_b_16"):
            bench.add_model(name)
        runs = [("fp32", "eager"), ("amp-fp16", "eager"), ("fp16", "inductor"), ("bf16", "xla"), ("int8", "kpu")]
        bench.replace_rows(Scenario, [s for i, (p, b) in enumerate(runs) for s in batches(p, b, 100 * i)])
        assert not falls(bench, WHOLE)
        assert not falls(bench, KERNELS)
        assert not falls(bench, PAGES)
        ((kernels,),) = bench.rows(f"SELECT COUNT(DISTINCT key) FROM ({KERNELS}) WHERE key LIKE '%false'")
        assert kernels > 100
