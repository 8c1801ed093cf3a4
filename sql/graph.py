"""Graph of relations and the relations that they read, traversed by networkx.

Every function takes `reads`: the names that each relation reads. Importing networkx takes as long as a small question, so the first
walk imports it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from charz.schema.errors import CharzError

if TYPE_CHECKING:
    import networkx as nx

Reads = Mapping[str, Iterable[str]]
"""Names that each relation reads, by the relation's name."""


def order(reads: Reads, circle: str = "views read each other in a circle") -> list[str]:
    """Sort the relations, each after those it reads, in the same order on every machine. Raises `CharzError` with the message `circle` and
    the cycle if there is one.

    >>> order({"report": ["cost"], "cost": ["run", "part"], "part": []})
    ['part', 'cost', 'report']
    """
    import networkx as nx

    known = {name: [read for read in of if read in reads] for name, of in reads.items()}
    graph = _graph(known)
    try:
        return list(nx.topological_sort(graph))
    except nx.NetworkXUnfeasible:
        cycle = [read for read, _ in nx.find_cycle(graph)]
        raise CharzError(circle, " -> ".join([*cycle, cycle[0]])) from None


def ancestors(names: Iterable[str], reads: Reads, through: Collection[str] | None = None) -> set[str]:
    """Find the relations that some relations read, directly or through others; with `through`, only those among them, reached only through
    them."""
    return _reached(names, _graph(reads).reverse(copy=False), through)


def descendants(names: Iterable[str], reads: Reads, through: Collection[str] | None = None) -> set[str]:
    """Find the relations that read some relations, directly or through others; with `through`, only those among them, reached only through
    them."""
    return _reached(names, _graph(reads), through)


def _graph(reads: Reads) -> nx.DiGraph[str]:
    """Build the graph with an edge from each relation to each that reads it."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(sorted(reads))
    graph.add_edges_from((read, name) for name in sorted(reads) for read in sorted(set(reads[name])))
    return graph


def _reached(names: Iterable[str], graph: nx.DiGraph[str], through: Collection[str] | None) -> set[str]:
    """Find the nodes that edges lead to from some nodes; a start is included only if it is on the way."""
    import networkx as nx

    starts = [name for name in names if name in graph]
    if through is not None:
        graph = graph.subgraph({*through, *starts})
    found = {after for start in starts for after in graph[start]}
    found = found.union(*(nx.descendants(graph, name) for name in found))
    return found if through is None else found.intersection(through)
