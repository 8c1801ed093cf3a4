"""More of a resource never costs time; more samples never save any."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from charz.schema.catalog import HardwareMemory, HardwarePeak, HardwarePower
from charz.schema.row import Row
from charz.schema.scenario import Scenario

from .database import add_graph, add_model, new_database, replace_part, replace_rows, scenario
from .generated import KINDS, graphs, parts

ROUNDING = 1e-9
FEW = settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
RUNS = [("fp32", "eager"), ("fp16", "inductor"), ("bf16", "xla"), ("int8", "kpu"), ("int8", "onnxruntime")]
WHOLE = """
    SELECT
        CONCAT(c.model_id, ' ', c.hardware_id, ' ', t.policy, ' ', t.backend) AS key, t.batch,
        c.latency_s AS value
    FROM model_cost AS c JOIN target AS t USING (model_id, scenario_id, hardware_id)
    WHERE t.chunk_element IS NULL OR t.shares_by_chunk
"""
"""Runs in which no loop passes from one thread to all."""
KERNELS = """
    SELECT
        CONCAT(c.model_id, ' ', c.hardware_id, ' ', t.policy, ' ', c.subgraph_id, ' ', c.team_size > 1) AS key, t.batch,
        c.device_s - c.paging_s AS value
    FROM kernel_cost AS c JOIN target AS t USING (model_id, scenario_id, hardware_id)
    WHERE t.chunk_element IS NOT NULL AND NOT t.shares_by_chunk
"""
"""Kernels of the other runs, in one thread and in all."""
PAGES = """
    SELECT CONCAT(c.model_id, ' ', c.hardware_id, ' ', t.policy) AS key, t.batch, SUM(c.paging_s) AS value
    FROM kernel_cost AS c JOIN target AS t USING (model_id, scenario_id, hardware_id)
    WHERE t.chunk_element IS NOT NULL AND NOT t.shares_by_chunk
    GROUP BY ALL
"""
"""Fresh pages of those runs: they belong to the run, not to one kernel."""
BATCHES = (1, 2, 3, 4, 7, 8, 16, 17, 33, 64, 100, 256)


@pytest.fixture(scope="module")
def generated() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database without parts."""
    with contextlib.closing(new_database(["model_cost"])) as connection:
        yield connection


def latencies(connection: duckdb.DuckDBPyConnection) -> dict[tuple[int, str], float]:
    """Time of every target by scenario and part."""
    query = "SELECT scenario_id, hardware_id, latency_s FROM model_cost"
    return {(s, h): t for s, h, t in connection.sql(query).fetchall()}


def with_clock(row: Row, factor: float) -> Row:
    """A power mode that runs faster."""
    return (
        row.model_copy(update={"clock_fraction": row.clock_fraction * factor})
        if isinstance(row, HardwarePower)
        else row
    )


def with_peak(row: Row, factor: float) -> Row:
    """A faster peak."""
    return (
        row.model_copy(update={"peak_ops_per_s": row.peak_ops_per_s * factor}) if isinstance(row, HardwarePeak) else row
    )


def with_bandwidth(row: Row, factor: float) -> Row:
    """A faster main memory or last-level cache."""
    if not isinstance(row, HardwareMemory) or row.bandwidth_byte_per_s is None or row.scope == "unit":
        return row
    return row.model_copy(update={"bandwidth_byte_per_s": row.bandwidth_byte_per_s * factor})


@pytest.mark.slow
@pytest.mark.parametrize("improve", [with_bandwidth, with_peak, with_clock])
@FEW
@given(data=st.data())
def test_more_of_a_resource(
    generated: duckdb.DuckDBPyConnection, improve: Callable[[Row, float], Row], data: st.DataObject
) -> None:
    """Bandwidth, peak and clock of any part."""
    rows = [row for family in KINDS for row in data.draw(parts(family))]
    factor = data.draw(st.sampled_from([1.01, 1.5, 10.0]))
    replace_rows(generated, Scenario, [scenario(i, batch=8, policy=p, backend=b) for i, (p, b) in enumerate(RUNS)])
    add_graph(generated, data.draw(graphs()))
    replace_part(generated, rows)
    before = latencies(generated)
    replace_part(generated, [improve(row, factor) for row in rows])
    after = latencies(generated)
    assert before.keys() == after.keys()
    slower = {k: (before[k], after[k]) for k in before if after[k] > before[k] * (1 + ROUNDING)}
    assert not slower


def falls(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[object, ...]]:
    """Rows of (key, batch, value) whose value is smaller than at the batch before."""
    statement = f"""
        WITH values_by_batch AS ({query}),
        steps AS (SELECT *, LAG(value) OVER (PARTITION BY key ORDER BY batch) AS before FROM values_by_batch)
        SELECT key, batch, before, value FROM steps WHERE value < before * (1 - {ROUNDING}) LIMIT 20
    """
    return connection.sql(statement).fetchall()


def batches(policy: str, backend: str, first: int) -> list[Scenario]:
    """One scenario a batch."""
    return [scenario(first + i, batch=b, policy=policy, backend=backend) for i, b in enumerate(BATCHES)]


@pytest.mark.slow
@FEW
@given(data=st.data())
def test_larger_batches(generated: duckdb.DuckDBPyConnection, data: st.DataObject) -> None:
    """Generated networks on generated parts of every family."""
    replace_part(generated, [row for family in KINDS for row in data.draw(parts(family))])
    replace_rows(generated, Scenario, [s for i, (p, b) in enumerate(RUNS) for s in batches(p, b, 100 * i)])
    add_graph(generated, data.draw(graphs(4)))
    assert not falls(generated, WHOLE)
    assert not falls(generated, KERNELS)
    assert not falls(generated, PAGES)


@pytest.mark.slow
def test_real_models_at_larger_batches() -> None:
    """Whole models on every part of the catalog."""
    with contextlib.closing(new_database(["model_cost"], with_parts=True)) as connection:
        for name in ("resnet18", "mobilenet_v2", "vit_b_16"):
            add_model(connection, name)
        runs = [("fp32", "eager"), ("amp-fp16", "eager"), ("fp16", "inductor"), ("bf16", "xla"), ("int8", "kpu")]
        replace_rows(connection, Scenario, [s for i, (p, b) in enumerate(runs) for s in batches(p, b, 100 * i)])
        assert not falls(connection, WHOLE)
        assert not falls(connection, KERNELS)
        assert not falls(connection, PAGES)
        ((kernels,),) = connection.sql(
            f"SELECT COUNT(DISTINCT key) FROM ({KERNELS}) WHERE key LIKE '%false'"
        ).fetchall()
        assert kernels > 100
