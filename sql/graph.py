"""The graph of what reads what, walked by networkx.

Every function takes `reads`: of each relation, by name, what it reads. networkx takes as long to import as a small question
takes to answer, so it is imported by the first walk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from charz.schema.errors import CharzError

if TYPE_CHECKING:
    import networkx as nx

Reads = Mapping[str, Iterable[str]]
"""What each relation reads, by name."""


def order(reads: Reads, circle: str = "views read each other in a circle") -> list[str]:
    """The relations, each after those it reads, in the same order on every machine. Raises `CharzError` with the cycle, which
    `circle` says in words, if there is one."""
    import networkx as nx

    known = {name: [read for read in of if read in reads] for name, of in reads.items()}
    graph = _graph(known)
    try:
        return list(nx.topological_sort(graph))
    except nx.NetworkXUnfeasible:
        cycle = [read for read, _ in nx.find_cycle(graph)]
        raise CharzError(circle, " -> ".join([*cycle, cycle[0]])) from None


def ancestors(names: Iterable[str], reads: Reads, through: Collection[str] | None = None) -> set[str]:
    """What some relations read, directly or through others; with `through`, only those of them, reached through them alone."""
    return _reached(names, _graph(reads).reverse(copy=False), through)


def descendants(names: Iterable[str], reads: Reads, through: Collection[str] | None = None) -> set[str]:
    """What reads some relations, directly or through others; with `through`, only those of them, reached through them alone."""
    return _reached(names, _graph(reads), through)


def _graph(reads: Reads) -> nx.DiGraph[str]:
    """An edge from each relation to each that reads it."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(sorted(reads))
    graph.add_edges_from((read, name) for name in sorted(reads) for read in sorted(set(reads[name])))
    return graph


def _reached(names: Iterable[str], graph: nx.DiGraph[str], through: Collection[str] | None) -> set[str]:
    """Nodes that the edges lead to from some nodes; the nodes themselves only where they lie on the way."""
    import networkx as nx

    starts = [name for name in names if name in graph]
    if through is not None:
        graph = graph.subgraph({*through, *starts})
    found = {after for start in starts for after in graph[start]}
    found = found.union(*(nx.descendants(graph, name) for name in found))
    return found if through is None else found.intersection(through)
