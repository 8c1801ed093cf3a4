"""Alternative paths between the cut nodes of a fused graph, from which SQL takes a critical path
without recursion: the sum over segments of the largest sum over their paths.

Node numbers are execution order, so every edge points upwards. A node that no edge jumps over lies
on every path; between two such cut nodes the paths are listed one by one. Where they are more than
`PATH_LIMIT`, the longest edges are left out until new cut nodes appear. The graph without them imposes
more order than the real one, so its path is an upper bound, and the paths that use real edges
from cut to cut are a lower one. Both agree unless the slowest branch waits far from its producer,
and a query sees if they agree. Where that does not help either, each level of
equal depth becomes a segment and each of its nodes a path, which gives only an upper bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .fusion import Partition

PATH_LIMIT = 64
"""Number of paths above which a segment is cut by force."""

DEPTH_TOLERANCE = 1.25
"""Largest growth of the longest path, in nodes, that leaving out edges may cause; above it, levels
are the better bound."""

Edge = tuple[int, int]


@dataclass(slots=True)
class Path:
    """A path through a segment, by its nodes."""

    nodes: list[int]
    is_exact: bool


Segment = list[Path]


def path_segments(partition: Partition) -> list[tuple[int, int, int, bool]]:
    """Return rows (segment, path, kernel, is exact) of a backend's graph of kernels."""
    return [
        (segment_id, path_id, kernel_id, path.is_exact)
        for segment_id, segment in enumerate(segments(partition.count, partition.edges))
        for path_id, path in enumerate(segment)
        for kernel_id in path.nodes
    ]


def segments(count: int, edges: Iterable[Edge]) -> list[Segment]:
    """Return the segments of a graph of `count` nodes, in order; every node lies on at least one path.

    Raise ValueError when an edge does not point upwards.
    """
    if count == 0:
        return []
    source, sink = 0, count + 1
    reduced = _reduce(count, edges)
    linked = [(u + 1, w + 1) for u, w in reduced]
    has_producer = {w for _, w in linked}
    has_consumer = {u for u, _ in linked}
    linked += [(source, v) for v in range(1, sink) if v not in has_producer]
    linked += [(v, sink) for v in range(1, sink) if v not in has_consumer]
    found: list[Segment] = []
    for start, end, inner in _between_cuts(source, sink, linked):
        found += _segment(start, end, inner)
        if end != sink:
            found.append([Path([end], True)])
    return _merge_chains([[Path([v - 1 for v in p.nodes], p.is_exact) for p in s] for s in found])


def _reduce(count: int, edges: Iterable[Edge]) -> list[Edge]:
    """Remove the edges that a longer path makes redundant (transitive reduction)."""
    consumers: list[list[int]] = [[] for _ in range(count)]
    for u, w in set(edges):
        if not 0 <= u < w < count:
            raise ValueError(f"edge {u} -> {w} does not follow the execution order of {count} kernels")
        consumers[u].append(w)
    reach = [0] * count
    kept: list[Edge] = []
    for u in range(count - 1, -1, -1):
        seen = 0
        for w in sorted(consumers[u]):
            if not seen >> w & 1:
                kept.append((u, w))
                seen |= reach[w] | 1 << w
        reach[u] = seen
    return kept


def _between_cuts(start: int, end: int, edges: list[Edge]) -> list[tuple[int, int, list[Edge]]]:
    """Return the intervals between neighbouring cut nodes of `start..end`, each with the edges inside it."""
    jumping = [0] * (end - start + 2)
    for u, w in edges:
        jumping[u + 1 - start] += 1
        jumping[w - start] -= 1
    cuts, open_edges = [start], 0
    for v in range(start + 1, end):
        open_edges += jumping[v - start]
        if open_edges == 0:
            cuts.append(v)
    cuts.append(end)
    interval_of = [0] * (end - start + 1)
    for i, (a, b) in enumerate(pairwise(cuts)):
        for v in range(a, b):
            interval_of[v - start] = i
    inner: list[list[Edge]] = [[] for _ in cuts[1:]]
    for edge in edges:
        inner[interval_of[edge[0] - start]].append(edge)
    return [(a, b, inner[i]) for i, (a, b) in enumerate(pairwise(cuts))]


def _segment(start: int, end: int, edges: list[Edge]) -> list[Segment]:
    """Return segments that cover the nodes strictly between two cut nodes."""
    if end == start + 1:
        return []
    if _path_count(start, end, edges) <= PATH_LIMIT:
        return [_enumerate(start, end, edges)]
    levels = _levels(start, end, edges)
    relaxed = _relax(start, end, edges)
    if relaxed is None or _depth(relaxed) > DEPTH_TOLERANCE * len(levels):
        return levels
    if not all(any(path.is_exact for path in segment) for segment in relaxed):
        for segment in relaxed:
            for path in segment:
                path.is_exact = False
    return relaxed


def _relax(start: int, end: int, edges: list[Edge]) -> list[Segment] | None:
    """Return the segments after leaving out the longest edges; None when no cut node appears."""
    longest = max(w - u for u, w in edges)
    while longest > 1:
        longest = min(longest - 1, longest * 3 // 4 + 1)
        kept = [(u, w) for u, w in edges if w - u <= longest]
        intervals = _between_cuts(start, end, kept)
        if len(intervals) > 1:
            break
    else:
        return None
    segments: list[Segment] = []
    for a, b, inner in intervals:
        if b > a + 1:
            if _path_count(a, b, inner) <= PATH_LIMIT:
                segments.append(_enumerate(a, b, inner))
            else:
                deeper = _relax(a, b, inner)
                if deeper is None:
                    return None
                segments += deeper
        elif not inner:
            return None
        if b != end:
            segments.append([Path([b], True)])
    return segments


def _neighbours(start: int, end: int, edges: list[Edge]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    producers: dict[int, list[int]] = {v: [] for v in range(start, end + 1)}
    consumers: dict[int, list[int]] = {v: [] for v in range(start, end + 1)}
    for u, w in edges:
        consumers[u].append(w)
        producers[w].append(u)
    return producers, consumers


def _path_count(start: int, end: int, edges: list[Edge]) -> int:
    """Count the paths through the inner nodes; a node without a producer begins one, without a consumer ends one."""
    producers, consumers = _neighbours(start, end, edges)
    ways = {start: 1}
    total = 0
    for v in range(start + 1, end):
        ways[v] = sum(ways[u] for u in producers[v]) or 1
        ends = [w for w in consumers[v] if w == end]
        if ends or not consumers[v]:
            total += ways[v]
    return total


def _enumerate(start: int, end: int, edges: list[Edge]) -> Segment:
    """List every path through the inner nodes, exact when real edges join it to both cut nodes."""
    producers, consumers = _neighbours(start, end, edges)
    paths: Segment = []
    pending = [
        ([v], start in producers[v]) for v in range(end - 1, start, -1) if start in producers[v] or not producers[v]
    ]
    while pending:
        nodes, is_exact = pending.pop()
        following = consumers[nodes[-1]]
        if not following:
            paths.append(Path(nodes, False))
        elif following == [end]:
            paths.append(Path(nodes, is_exact))
        else:
            pending += [([*nodes, v], is_exact) for v in reversed(following) if v != end]
            if end in following:
                paths.append(Path(nodes, is_exact))
    return paths


def _levels(start: int, end: int, edges: list[Edge]) -> list[Segment]:
    """Return one segment for each depth of the inner nodes, each node a path of its own."""
    producers, _ = _neighbours(start, end, edges)
    depth = {start: -1}
    by_level: list[Segment] = []
    for v in range(start + 1, end):
        depth[v] = 1 + max((depth[u] for u in producers[v]), default=-1)
        if depth[v] == len(by_level):
            by_level.append([])
        by_level[depth[v]].append(Path([v], False))
    return by_level


def _depth(segments: list[Segment]) -> int:
    """Return the number of nodes on the longest path through all segments."""
    return sum(max(len(path.nodes) for path in segment) for segment in segments)


def _merge_chains(segments: list[Segment]) -> list[Segment]:
    """Join neighbouring segments of a single path each."""
    merged: list[Segment] = []
    for segment in segments:
        is_single = len(segment) == 1 and merged and len(merged[-1]) == 1
        if is_single and merged[-1][0].is_exact == segment[0].is_exact:
            merged[-1][0].nodes.extend(segment[0].nodes)
        else:
            merged.append(segment)
    return merged
