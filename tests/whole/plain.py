"""Critical path, stages and peak memory computed plainly from the compiled tables: by networkx and by
stepping through the kernels. What the views say is held against these."""

from __future__ import annotations

import math
from collections import defaultdict

import duckdb
import networkx as nx
import pytest


def check_critical_paths(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """Every upper bound is at least, every lower bound at most the longest path of networkx, and where the
    two agree they are that path. Returns how many there are and how many agree."""
    weights: dict[tuple[int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    rows = connection.sql(
        """
        SELECT k.model_id, k.scenario_id, r.backend, coalesce(so.subgraph_id, k.subgraph_id), k.device_s
        FROM kernel_latency AS k
        JOIN run AS r USING (model_id, scenario_id)
        LEFT JOIN subgraph_operator AS so
            ON so.model_id = k.model_id AND so.backend = r.backend
            AND so.operator_id = k.anchor_operator_id AND k.subgraph_id >= 1000000
        """
    ).fetchall()
    backend_of = {}
    for model_id, scenario_id, backend, subgraph, device_s in rows:
        weights[model_id, scenario_id][subgraph] += device_s
        backend_of[model_id, scenario_id] = backend
    edges = _edges(connection)
    found = connection.sql(
        "SELECT model_id, scenario_id, critical_path_s, critical_path_lower_s FROM critical_path"
    ).fetchall()
    exact = 0
    for model_id, scenario_id, upper, lower in found:
        key = model_id, scenario_id
        longest = _longest(edges[model_id, backend_of[key]], weights[key])
        assert lower <= longest * (1 + 1e-9), key
        assert upper >= longest * (1 - 1e-9), key
        if math.isclose(lower, upper, rel_tol=1e-9):
            assert upper == pytest.approx(longest), key
            exact += 1
    return len(found), exact


def check_stages(connection: duckdb.DuckDBPyConnection) -> int:
    """Every kernel is at the depth networkx finds. Returns how many graphs there are."""
    rows = connection.sql("SELECT model_id, backend, subgraph_id, stage FROM subgraph").fetchall()
    stages: dict[tuple[int, str], dict[int, int]] = defaultdict(dict)
    for model_id, backend, subgraph, stage in rows:
        stages[model_id, backend][subgraph] = stage
    edges = _edges(connection)
    for key, given in stages.items():
        dag = nx.DiGraph(edges[key])
        dag.add_nodes_from(given)
        for depth, generation in enumerate(nx.topological_generations(dag)):
            assert all(given[v] == depth for v in generation), key
    return len(stages)


def check_peak_memory(connection: duckdb.DuckDBPyConnection) -> int:
    """Peak, its unrounded part and its place are those of a walk over the kernels. Returns how many runs there are."""
    storages = connection.sql(
        "SELECT model_id, scenario_id, first_subgraph_id, last_subgraph_id, held_byte FROM storage_byte"
    ).fetchall()
    held: dict[tuple[int, int], list[tuple[int, int, float]]] = defaultdict(list)
    for model_id, scenario_id, first, last, size in storages:
        held[model_id, scenario_id].append((first, last, size))
    kernels = {
        (m, s): n
        for m, s, n in connection.sql(
            "SELECT r.model_id, r.scenario_id, count(*) FROM run AS r JOIN subgraph AS k USING (model_id, backend)"
            " GROUP BY ALL"
        ).fetchall()
    }
    runs = connection.sql(
        "SELECT model_id, scenario_id, activation_byte, rounding_byte, peak_subgraph_id FROM run_memory"
    ).fetchall()
    for model_id, scenario_id, activation, rounding, peak_at in runs:
        key = model_id, scenario_id
        best = (-1.0, -1.0, -1)
        for k in range(kernels[key]):
            live = [size for first, last, size in held[key] if first <= k <= last]
            blocks = sum(math.ceil(size / 512) * 512 for size in live)
            if blocks > best[0]:
                best = (blocks, sum(live), k)
        assert (activation + rounding, activation, peak_at) == pytest.approx(best), key
    return len(runs)


def _edges(connection: duckdb.DuckDBPyConnection) -> dict[tuple[int, str], list[tuple[int, int]]]:
    edges: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    query = "SELECT model_id, backend, producer_subgraph_id, consumer_subgraph_id FROM subgraph_edge"
    for model_id, backend, producer, consumer in connection.sql(query).fetchall():
        edges[model_id, backend].append((producer, consumer))
    return edges


def _longest(edges: list[tuple[int, int]], weight: dict[int, float]) -> float:
    dag = nx.DiGraph()
    dag.add_weighted_edges_from((u, v, weight[v]) for u, v in edges)
    dag.add_weighted_edges_from((-1, v, w) for v, w in weight.items())
    return float(nx.dag_longest_path_length(dag))
