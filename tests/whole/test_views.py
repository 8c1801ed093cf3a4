"""Views of the whole model against plain computations over the same rows: critical path and stages
against networkx, peak memory against a simulation, batches against brute force, many devices by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from oracle.database import add_graph, new_database, scenario

from charz.schema import database
from charz.schema.catalog import Hardware, HardwareInterconnect, HardwareMemory

from .generated import graph
from .plain import check_critical_paths, check_peak_memory, check_stages

GRAPHS = 50
PART = "h100_sxm5_80"
VIEWS = (
    "critical_path", "kernel_latency", "run_memory", "memory_step", "largest_batch", "batch_sweep", "parallel_plan",
    "model_cost", "model_concurrency", "candidate", "target_cost",
)  # fmt: skip
SCENARIOS = [
    scenario(1, batch=3, backend="inductor"),
    scenario(2, batch=3, backend="tensorrt", policy="fp16"),
    scenario(3, batch=64, backend="eager", policy="amp-fp16"),
]


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """Fifty generated models on one part under three scenarios."""
    with new_database(VIEWS, with_parts=True) as made:
        database.insert_rows(made, SCENARIOS)
        made.execute(f"DELETE FROM {Hardware.TABLE} WHERE hardware_id <> ?", [PART])
        for seed in range(GRAPHS):
            add_graph(made, graph(seed), f"generated{seed}")
        yield made


def test_critical_path_equals_networkx(connection: duckdb.DuckDBPyConnection) -> None:
    count, exact = check_critical_paths(connection)
    assert count == GRAPHS * len(SCENARIOS)
    assert exact > 0.5 * count, f"only {exact} of {count} are exact"


def test_stages_equal_networkx(connection: duckdb.DuckDBPyConnection) -> None:
    assert check_stages(connection) >= GRAPHS


def test_peak_memory_equals_a_simulation(connection: duckdb.DuckDBPyConnection) -> None:
    assert check_peak_memory(connection) == GRAPHS * len(SCENARIOS)


def _scenarios(connection: duckdb.DuckDBPyConnection, rows: list[Any]) -> None:
    connection.execute("DELETE FROM scenario")
    database.insert_rows(connection, rows)


@pytest.mark.slow
def test_largest_batch_equals_brute_force(connection: duckdb.DuckDBPyConnection) -> None:
    batches = range(1, 4097)
    try:
        connection.execute(f"UPDATE {HardwareMemory.TABLE} SET capacity_byte = 30e6 WHERE level = 'dram'")
        _scenarios(connection, [scenario(1, batch=1, backend="eager")])
        claimed = dict(connection.sql("SELECT model_id, largest_batch FROM largest_batch WHERE is_exact").fetchall())
        _scenarios(connection, [scenario(b, batch=b, backend="eager") for b in batches])
        chosen = sorted(claimed)[:4]
        truth = dict(
            connection.sql(
                "SELECT model_id, max(scenario_id) FROM run_memory"
                f" WHERE peak_memory_byte <= 30e6 AND model_id IN ({', '.join(map(str, chosen))}) GROUP BY model_id"
            ).fetchall()
        )
        assert {m: min(claimed[m], batches[-1]) for m in chosen} == {m: truth.get(m, 0) for m in chosen}
        assert any(0 < claimed[m] < batches[-1] for m in chosen)
    finally:
        _scenarios(connection, SCENARIOS)


@pytest.mark.slow
def test_saturating_batch_equals_brute_force(connection: duckdb.DuckDBPyConnection) -> None:
    models = "model_id <= 2"
    batches = range(1, 4097)
    capacity = 30e6
    try:
        connection.execute(f"UPDATE {HardwareMemory.TABLE} SET capacity_byte = {capacity} WHERE level = 'dram'")
        _scenarios(connection, [scenario(b, batch=b, backend="inductor") for b in batches])
        latency = connection.sql(f"SELECT model_id, scenario_id, latency_s FROM model_cost WHERE {models}").fetchall()
        peak = connection.sql(
            f"SELECT model_id, scenario_id, peak_memory_byte FROM run_memory WHERE {models}"
        ).fetchall()
        fits = {(m, b) for m, b, byte in peak if byte <= capacity}
        rates: dict[int, dict[int, float]] = defaultdict(dict)
        for model_id, batch, seconds in latency:
            if (model_id, batch) in fits:
                rates[model_id][batch] = batch / seconds
        claimed = connection.sql(
            f"SELECT DISTINCT model_id, saturating_batch, largest_fitting_batch FROM batch_sweep WHERE {models}"
        ).fetchall()
        assert len(latency) == len(peak) == 2 * len(batches)
        assert sorted(claimed) == [
            (m, min(b for b, rate in of.items() if rate >= 0.9 * max(of.values())), max(of))
            for m, of in sorted(rates.items())
        ]
        assert any(largest < batches[-1] for _, _, largest in claimed)
    finally:
        _scenarios(connection, SCENARIOS)


def test_one_device_equals_the_single_part(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.sql(
        """
        SELECT p.strategy, p.latency_s, p.communication_s, c.latency_s, p.speedup
        FROM parallel_plan AS p
        JOIN model_cost AS c USING (model_id, scenario_id, hardware_id)
        WHERE p.device_count = 1
        """
    ).fetchall()
    assert {strategy for strategy, *_ in rows} == {"data", "tensor", "pipeline"}
    for _strategy, latency, communication, single, speedup in rows:
        assert latency == pytest.approx(single, rel=1e-12)
        assert (communication, speedup) == (0.0, pytest.approx(1.0, rel=1e-12))


def test_tensor_parallel_communication_equals_the_ring_formula(connection: duckdb.DuckDBPyConnection) -> None:
    """Nine tenths of the link's latency a call, one a step, at six tenths of its bandwidth."""
    links = {
        name: (bandwidth, delay)
        for name, bandwidth, delay in connection.execute(
            f"SELECT interconnect, bandwidth_byte_per_s, latency_s FROM {HardwareInterconnect.TABLE}"
            " WHERE hardware_id = ?",
            [PART],
        ).fetchall()
    }
    messages: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for model_id, scenario_id, reduced, gathered in connection.sql(
        "SELECT model_id, scenario_id, all_reduce_byte, all_gather_byte FROM parallel_kernel"
    ).fetchall():
        messages[model_id, scenario_id].append((reduced, gathered))
    rows = connection.sql(
        "SELECT model_id, scenario_id, interconnect, device_count, communication_s FROM parallel_plan"
        " WHERE strategy = 'tensor' AND device_count > 1"
    ).fetchall()
    assert any(communication > 0 for *_, communication in rows)
    for model_id, scenario_id, link, n, communication in rows:
        bandwidth, delay = links[link]
        expected = 0.0
        for reduced, gathered in messages[model_id, scenario_id]:
            if reduced:
                expected += 0.9 * delay + 2 * (n - 1) * (reduced / n / (0.6 * bandwidth) + 0.1 * delay)
            if gathered:
                expected += 0.9 * delay + (n - 1) * (gathered / n / (0.6 * bandwidth) + 0.1 * delay)
        assert communication == pytest.approx(expected, rel=1e-9)


def test_pareto_front_equals_brute_force(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.sql(
        """
        SELECT
            (model_id, sequence, context, phase), dominated_by_count, fits_device, is_simulated, energy_scope,
            [latency_s, coalesce(sample_j, 1e300), peak_memory_byte, coalesce(million_inference_usd, 1e300)],
            coalesce(price_usd_per_hour, 1e300)
        FROM candidate
        """
    ).fetchall()
    groups: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for group, *rest in rows:
        groups[group].append(tuple(rest))
    assert any(count for _, count, *_ in rows)
    assert any(not count for _, count, *_ in rows)
    for choices in groups.values():
        for mine in choices:
            assert mine[0] == sum(_beats(other, mine) for other in choices)


def _beats(other: tuple[Any, ...], mine: tuple[Any, ...]) -> bool:
    """Whether a choice fits, compares, and is no worse than `mine` in any respect and better in one."""
    _, fits, is_simulated, scope, figures, price = other
    return (
        fits
        and (mine[2] or not is_simulated)
        and scope == mine[3]
        and price <= mine[5]
        and all(o <= m for o, m in zip(figures, mine[4], strict=True))
        and any(o < m for o, m in zip(figures, mine[4], strict=True))
    )
