"""Which operators run as one kernel under a backend: its fusion rules applied to the data flow.

Operators are visited in execution order; each may join the kernels of its producers where a rule
allows it. A join that would make the graph of kernels cyclic is refused, so that graph is acyclic by
construction: `_Groups.can_join` keeps, for each kernel, the set of all kernels before it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from ..graph import Graph
from .dataflow import Flow, aten_name, nominal
from .rules import FusionTable

MATRIX_CLASSES = frozenset({"conv", "depthwise_conv", "conv_transposed", "linear", "matmul", "attention", "rnn"})
"""Classes with a matrix product, of which an operator joins one kernel at most."""

FOLDABLE_CLASSES = frozenset({"conv", "depthwise_conv", "conv_transposed", "linear"})
"""Classes whose weights can take up the scale and shift of a batch normalization."""

_CHARACTER = {"create": 0, "copy": 1, "cast": 1, "elementwise": 1, "activation": 1, "batch_norm": 1}
"""How little a class decides about the speed of its kernel; the others rank 2, matrix products 3."""


@dataclass(slots=True)
class Partition:
    """The graph of kernels under one backend; a subgraph's id is its place in execution order."""

    backend: str
    members: list[list[int]]
    """By subgraph: the kernel operators it executes, in order."""
    views: list[list[int]]
    """By subgraph: the views dispatched just before it."""
    subgraph_of: list[int]
    """By operator: its subgraph; -1 for a view in a graph that has nothing but views."""
    folded: set[int]
    """Operators folded into the weights of a neighbour."""
    edges: list[tuple[int, int]]
    """Producer and consumer subgraph, each pair once, always upwards."""
    stage: list[int]
    """By subgraph: longest distance from an input."""
    anchor: list[int]
    """By subgraph: the operator that gives it its character."""

    @property
    def count(self) -> int:
        """Number of subgraphs."""
        return len(self.members)


def partition(flow: Flow, backend: str, fusion: FusionTable, folds_norm: bool) -> Partition:
    """Kernels of a graph under a backend.

    `fusion` maps producer and consumer (class or ATen operator) to conditions; see `rules`.
    """
    groups = _Groups(flow)
    folded = _fold(flow, groups) if folds_norm else set()
    if fusion:
        _fuse(flow, groups, fusion)
    return _ordered(flow, backend, groups, folded)


class _Groups:
    """Disjoint sets of operators, each named after one member, that stay acyclic when joined."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        count = len(flow.graph.operators)
        self.parent = list(range(count))
        self.before = [0] * count
        """By group: bit set of the groups with a path to it."""
        self.producers: list[set[int]] = [set() for _ in range(count)]
        self.has_matrix = [o.operator_class in MATRIX_CLASSES for o in flow.graph.operators]
        self.visited = 0
        """Operators below this id take part."""

    def find(self, operator: int) -> int:
        """Group of an operator."""
        parent = self.parent
        while parent[operator] != operator:
            parent[operator] = parent[parent[operator]]
            operator = parent[operator]
        return operator

    def visit(self, operator: int) -> None:
        """Let an operator, all of whose producers were visited, take part as a group of its own."""
        bits = 0
        for producer in self.flow.predecessors[operator]:
            group = self.find(producer)
            self.producers[operator].add(group)
            bits |= self.before[group] | 1 << group
        self.before[operator] = bits
        self.visited = operator + 1

    def can_join(self, first: int, second: int) -> bool:
        """False when a third kernel would have to run between the two."""
        return not self._is_between(first, second) and not self._is_between(second, first)

    def _is_between(self, first: int, second: int) -> bool:
        if not self.before[second] >> first & 1:
            return False
        for producer in self.producers[second]:
            group = self.find(producer)
            if group not in (first, second) and self.before[group] >> first & 1:
                return True
        return False

    def join(self, first: int, second: int) -> None:
        """Make one group, named `first`, of two groups that `can_join`."""
        before = self.before
        either = 1 << first | 1 << second
        gained = (before[first] | before[second]) & ~either
        is_stale = gained & ~before[first] or not self._is_last(second)
        self.parent[second] = first
        self.producers[first] |= self.producers[second]
        self.has_matrix[first] |= self.has_matrix[second]
        before[first] = gained
        if is_stale:
            reached = gained | either
            for operator in range(self.visited):
                if self.parent[operator] == operator and before[operator] & either and operator != first:
                    before[operator] |= reached

    def _is_last(self, group: int) -> bool:
        """True when nothing visited can follow the group: it is the operator visited last."""
        return group == self.visited - 1 and self.parent[group] == group


def _fold(flow: Flow, groups: _Groups) -> set[int]:
    """Batch normalizations that a backend folds into the product just before them."""
    operators = flow.graph.operators
    folded: set[int] = set()
    for operator_id in flow.kernels:
        if operators[operator_id].operator_class == "batch_norm" and flow.reads[operator_id]:
            sources = flow.reads[operator_id][0][1]
            if len(sources) == 1 and _folds_into(flow, sources[0], operator_id):
                folded.add(operator_id)
    return folded


def _folds_into(flow: Flow, producer: int, norm: int) -> bool:
    is_foldable = flow.graph.operators[producer].operator_class in FOLDABLE_CLASSES
    return is_foldable and _is_sole_reader(flow, producer, norm)


def _is_sole_reader(flow: Flow, producer: int, consumer: int) -> bool:
    if flow.successors[producer] != {consumer}:
        return False
    return not any(flow.escapes[t] for t in flow.readers[producer])


def _fuse(flow: Flow, groups: _Groups, fusion: FusionTable) -> None:
    raise NotImplementedError
