"""Path segments bracket the longest path of any graph, and equal it where they are marked exact."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from charz.ingest.compile.paths import segments

KINDS = ("narrow", "chain with jumps", "tree with jumps")


def _edges(kind: str, count: int, dice: random.Random) -> set[tuple[int, int]]:
    edges = set()
    for v in range(1, count):
        if kind == "narrow":
            edges |= {(u, v) for u in dice.sample(range(max(0, v - 4), v), min(v, dice.randint(0, 2)))}
        else:
            edges.add((v - 1 if kind == "chain with jumps" else dice.randrange(max(0, v - 3), v), v))
            if dice.random() < 0.2:
                edges.add((dice.randrange(v), v))
    return edges


def _longest(count: int, edges: set[tuple[int, int]], weight: list[float]) -> float:
    """The longest path by node weights, with a weight on every edge into a node."""
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((u, v, weight[v]) for u, v in edges)
    graph.add_weighted_edges_from(("start", v, weight[v]) for v in range(count))
    return float(nx.dag_longest_path_length(graph))


@pytest.mark.parametrize("seed", range(50))
@pytest.mark.parametrize("kind", KINDS)
def test_segments_bracket_the_longest_path(kind: str, seed: int) -> None:
    dice = random.Random(seed)
    count = dice.randint(1, 100)
    edges = _edges(kind, count, dice)
    weight = [dice.random() for _ in range(count)]
    found = segments(count, edges)
    assert {v for s in found for p in s for v in p.nodes} == set(range(count))
    sums = [[(sum(weight[v] for v in p.nodes), p.is_exact) for p in s] for s in found]
    upper = sum(max(total for total, _ in s) for s in sums)
    lower = sum(max((total for total, is_exact in s if is_exact), default=0.0) for s in sums)
    truth = _longest(count, edges, weight)
    assert lower <= truth * (1 + 1e-9)
    assert upper >= truth * (1 - 1e-9)
    if all(is_exact for s in sums for _, is_exact in s):
        assert upper == pytest.approx(truth)


def test_edges_must_follow_the_order_of_execution() -> None:
    with pytest.raises(ValueError, match="execution order"):
        segments(3, [(2, 1)])


def test_parallel_branches_between_cut_nodes() -> None:
    found = segments(6, [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (1, 5)])
    assert [[p.nodes for p in s] for s in found] == [[[0, 1]], [[2], [3]], [[4, 5]]]
    assert all(p.is_exact for s in found for p in s)
