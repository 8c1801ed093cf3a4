"""Reference implementations for the views: critical path, stages and peak memory from the compiled tables, by networkx and by a
loop over the kernels."""

from __future__ import annotations

import math
from collections import defaultdict

import duckdb
import networkx as nx
import pytest


def check_critical_paths(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """Check that the bounds enclose the longest path of networkx, and equal it where they agree. Return the
    number of runs and of runs whose bounds agree."""
    weights: dict[tuple[str, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    query = "SELECT model, scenario_id, backend, fused_kernel_id, device_s FROM kernel_time"
    rows = connection.sql(query).fetchall()
    backend_of = {}
    for model, scenario_id, backend, kernel, device_s in rows:
        weights[model, scenario_id][kernel] += device_s
        backend_of[model, scenario_id] = backend
    edges = _edges(connection)
    found = connection.sql(
        "SELECT model, scenario_id, critical_path_s, critical_path_lower_s FROM critical_path"
    ).fetchall()
    exact = 0
    for model, scenario_id, upper, lower in found:
        key = model, scenario_id
        longest = _longest(edges[model, backend_of[key]], weights[key])
        assert lower <= longest * (1 + 1e-9), key
        assert upper >= longest * (1 - 1e-9), key
        if math.isclose(lower, upper, rel_tol=1e-9):
            assert upper == pytest.approx(longest), key
            exact += 1
    return len(found), exact


def check_stages(connection: duckdb.DuckDBPyConnection) -> int:
    """Check that every kernel has the depth that networkx finds. Return the number of graphs."""
    rows = connection.sql("SELECT model, backend, kernel_id, stage FROM kernel").fetchall()
    stages: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for model, backend, kernel, stage in rows:
        stages[model, backend][kernel] = stage
    edges = _edges(connection)
    for key, given in stages.items():
        dag = nx.DiGraph(edges[key])
        dag.add_nodes_from(given)
        for depth, generation in enumerate(nx.topological_generations(dag)):
            assert all(given[v] == depth for v in generation), key
    return len(stages)


def check_peak_memory(connection: duckdb.DuckDBPyConnection) -> int:
    """Check the peak, its unrounded part and its kernel by a walk over the kernels. Return the number of runs."""
    storages = connection.sql(
        "SELECT run.model, run.scenario_id, first_kernel_id, last_kernel_id, held_byte FROM storage_byte"
    ).fetchall()
    held: dict[tuple[str, int], list[tuple[int, int, float]]] = defaultdict(list)
    for model, scenario_id, first, last, size in storages:
        held[model, scenario_id].append((first, last, size))
    kernels = {
        (m, s): n
        for m, s, n in connection.sql(
            "SELECT r.run.model, r.run.scenario_id, count(*) FROM run AS r JOIN kernel AS k"
            " ON k.model = r.run.model AND k.backend = r.run.backend GROUP BY ALL"
        ).fetchall()
    }
    runs = connection.sql(
        "SELECT run.model, run.scenario_id, activation_byte, rounding_byte, peak_kernel_id FROM run_memory"
    ).fetchall()
    for model, scenario_id, activation, rounding, peak_at in runs:
        key = model, scenario_id
        best = (-1.0, -1.0, -1)
        for k in range(kernels[key]):
            live = [size for first, last, size in held[key] if first <= k <= last]
            blocks = sum(math.ceil(size / 512) * 512 for size in live)
            if blocks > best[0]:
                best = (blocks, sum(live), k)
        assert (activation + rounding, activation, peak_at) == pytest.approx(best), key
    return len(runs)


def _edges(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], list[tuple[str, int]]]:
    edges: dict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
    query = "SELECT model, backend, producer_kernel_id, consumer_kernel_id FROM kernel_edge"
    for model, backend, producer, consumer in connection.sql(query).fetchall():
        edges[model, backend].append((producer, consumer))
    return edges


def _longest(edges: list[tuple[str, int]], weight: dict[int, float]) -> float:
    dag = nx.DiGraph()
    dag.add_weighted_edges_from((u, v, weight[v]) for u, v in edges)
    dag.add_weighted_edges_from((-1, v, w) for v, w in weight.items())
    return float(nx.dag_longest_path_length(dag))
