"""Groups operators into kernels, by a backend's fusion rules and the data flow.

Operators are visited in execution order; each may join the kernels of its producers where a rule
allows it. A join that would make the graph of kernels cyclic is refused, so that graph is acyclic by
construction: `_Groups.can_join` keeps, for each kernel, the set of all kernels before it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from ..graph import dims
from .dataflow import Flow, nominal_macs
from .rules import FusionTable
from .wide import is_worked_out_again

_CHARACTER = {"create": 0, "copy": 1, "cast": 1, "elementwise": 1, "activation": 1, "batch_norm": 1}
"""Rank of a class in deciding the speed of its kernel; unlisted classes rank 2, matrix products 3."""


@dataclass(slots=True)
class Partition:
    """The graph of kernels under one backend; a kernel's id is its position in execution order."""

    backend: str
    members: list[list[int]]
    """Kernel operators of each kernel, in order."""
    views: list[list[int]]
    """Views dispatched just before each kernel."""
    kernel_of: list[int]
    """Kernel of each operator; -1 for a view or a constant in a graph that has nothing else."""
    folded: set[int]
    """Operators that cost nothing: folded into a neighbour's weights, or constants."""
    edges: list[tuple[int, int]]
    """Producer and consumer kernels, each pair once, always upwards."""
    stage: list[int]
    """Longest distance of each kernel from an input."""
    anchor: list[int]
    """Operator of each kernel that decides its class."""

    @property
    def count(self) -> int:
        """Number of kernels."""
        return len(self.members)


def partition(flow: Flow, backend: str, fusion: FusionTable, folds_norm: bool, is_server: bool = False) -> Partition:
    """Group a graph into kernels under a backend.

    `fusion` maps producer and consumer (class or ATen operator) to conditions; see `rules`. Kernels that a server's authors wrote by
    hand (`is_server`) may contain an edge without a rule, as from a sum to the mean of its squares.
    """
    groups = _Groups(flow)
    folded = _fuse(flow, groups, fusion, folds_norm, is_server) if fusion or folds_norm else set()
    return _ordered(flow, backend, groups, folded | flow.constants)


class _Groups:
    """Disjoint sets of operators, each named after one member, that stay acyclic when joined."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        count = len(flow.graph.operators)
        self.parent = list(range(count))
        self.before = [0] * count
        """Bit set, for each group, of the groups with a path to it."""
        self.producers: list[set[int]] = [set() for _ in range(count)]
        self.product: list[int | None] = [
            o.operator_id if o.operator_class in flow.classes.matrix else None for o in flow.graph.operators
        ]
        """Last matrix operator of each group."""
        self.earliest = list(range(count))
        """Member of each group visited first, before all that follows the group."""
        self.visited = 0
        """Limit of the operator ids visited so far."""
        self.members = {operator: [operator] for operator in range(count)}
        """Operators of each group."""

    def find(self, operator: int) -> int:
        """Return the group of an operator."""
        parent = self.parent
        while parent[operator] != operator:
            parent[operator] = parent[parent[operator]]
            operator = parent[operator]
        return operator

    def visit(self, operator: int) -> None:
        """Add an operator, all of whose producers were visited, as a group of its own."""
        bits = 0
        for producer in self.flow.predecessors[operator]:
            group = self.find(producer)
            self.producers[operator].add(group)
            bits |= self.before[group] | 1 << group
        self.before[operator] = bits
        self.visited = operator + 1

    def can_join(self, first: int, second: int) -> bool:
        """Return False when a third kernel would have to run between the two."""
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
        """Merge two groups that `can_join` into one named `first`."""
        before = self.before
        either = 1 << first | 1 << second
        gained = (before[first] | before[second]) & ~either
        is_stale = gained & ~before[first] or not self._is_last(second)
        self.parent[second] = first
        self.members[first] += self.members.pop(second)
        self.producers[first] |= self.producers[second]
        products = [p for p in (self.product[first], self.product[second]) if p is not None]
        self.product[first] = max(products, default=None)
        self.earliest[first] = min(self.earliest[first], self.earliest[second])
        before[first] = gained
        if is_stale:
            reached = gained | either
            for group in {self.find(operator) for operator in range(self.earliest[first], self.visited)} - {first}:
                if before[group] & either:
                    before[group] |= reached

    def _is_last(self, group: int) -> bool:
        """Return True when no visited operator can follow the group: it is the operator visited last."""
        return group == self.visited - 1 and self.parent[group] == group


def _fuse(flow: Flow, groups: _Groups, fusion: FusionTable, folds_norm: bool, is_server: bool) -> set[int]:
    """Join operators in execution order, and return those folded into their producer's weights."""
    folded: set[int] = set()
    for consumer in flow.kernel_operators:
        groups.visit(consumer)
        if folds_norm and _is_foldable(flow, consumer):
            groups.join(groups.find(flow.reads[consumer][0][1][0]), consumer)
            folded.add(consumer)
            continue
        for producer in _candidates(flow, groups, consumer):
            group, mine = groups.find(producer), groups.find(consumer)
            if group == mine or not _allows(flow, groups, fusion, producer, consumer, folded):
                continue
            if groups.can_join(group, mine) and (is_server or _allows_all(flow, groups, fusion, group, mine, folded)):
                groups.join(group, mine)
                if groups.product[group] is not None:
                    break  # a kernel with a product reads its other operands from memory
    return folded


def _candidates(flow: Flow, groups: _Groups, consumer: int) -> list[int]:
    """Return the producers of an operator, those in a kernel with a product first, then the latest.

    A KV-cache always lies between kernels.
    """
    reads = flow.reads[consumer]
    producers = {s for t, sources in reads if flow.role[t] != "kv_cache" for s in sources}
    if len(producers) < 2:
        return list(producers)
    return sorted(producers, key=lambda p: (groups.product[groups.find(p)] is None, -p))


def _allows(flow: Flow, groups: _Groups, fusion: FusionTable, producer: int, consumer: int, folded: set[int]) -> bool:
    """Return True if the rules let a consumer run in its producer's kernel.

    Where that kernel has a product, they must let it run right after the product too. An operator folded
    into a product counts as that product.
    """
    names = flow.names
    product = groups.product[groups.find(producer)]
    name = names[producer] if product is None or producer not in folded else names[product]
    conditions = _conditions(fusion, name, names[consumer])
    if conditions is None or not _hold(flow, conditions, producer, consumer, producer):
        return False
    if "inlined" in conditions and is_worked_out_again(flow, producer, groups.find):
        return False
    if "chained" in conditions and groups.find(producer) == producer:
        return False  # a group has the name of its first member, so this one follows no other
    if product is None or product == producer or groups.product[consumer] is not None:
        return True
    conditions = _conditions(fusion, names[product], names[consumer])
    return conditions is not None and _hold(flow, conditions, producer, consumer, product)


def _allows_all(flow: Flow, groups: _Groups, fusion: FusionTable, first: int, second: int, folded: set[int]) -> bool:
    """Return True if the rules allow each edge between two groups. A sum may follow a normalization and a pooling of it, but no
    loop contains a pooling and the normalization that it reads: its neighbours are not made yet (`fusable_read_and_write` in
    torch/_inductor/scheduler.py)."""
    return all(
        _allows(flow, groups, fusion, producer, consumer, folded)
        for from_group, to_group in ((first, second), (second, first))
        for consumer in groups.members[to_group]
        for producer in flow.predecessors[consumer]
        if groups.find(producer) == from_group and consumer not in folded
    )


def _conditions(fusion: FusionTable, producer: tuple[str, str], consumer: tuple[str, str]) -> frozenset[str] | None:
    """Return the conditions of the most specific rule: one that names an ATen operator wins over its class."""
    for first in producer:
        for second in consumer:
            found = fusion.get((first, second))
            if found is not None:
                return found
    return None


def _hold(flow: Flow, conditions: frozenset[str], producer: int, consumer: int, sized: int) -> bool:
    """Return True if a consumer of a producer meets the conditions; sizes are compared with those of `sized`."""
    if "single_consumer" in conditions and not _is_sole_reader(flow, producer, consumer):
        return False
    if "innermost" in conditions and not _is_innermost(flow, consumer):
        return False
    return "same_elements" not in conditions or _written(flow, consumer) in _sizes(flow, sized)


def _is_innermost(flow: Flow, consumer: int) -> bool:
    """Return False for a reduction of images over their pixels where these are planned channels-last: the pixels of a
    channel then lie apart, so that a loop over them differs from the producer's loop. Inductor keeps the two as separate
    kernels: timm's results on an RTX 4090 show the third pass (SE-ResNet against ResNet, PyTorch 2.4 and 2.9)."""
    graph = flow.graph
    if graph.planned_format != "nhwc" or not flow.reads[consumer]:
        return True
    image = graph.tensors[flow.reads[consumer][0][0]]
    size = dims(image.shape)
    if len(size) != 4 or size[2] is None or size[3] is None:
        return True
    pixels = size[2] * size[3]
    return pixels == 1 or _written(flow, consumer) * pixels != flow.size[image.tensor_id]


def _is_sole_reader(flow: Flow, producer: int, consumer: int) -> bool:
    """Return True when only the consumer needs the producer's results."""
    if flow.successors[producer] != {consumer}:
        return False
    return not any(flow.escapes[t] for t in flow.readers[producer])


def _is_foldable(flow: Flow, operator_id: int) -> bool:
    """Return True for a batch normalization whose only producer is a product that only it reads."""
    operators = flow.graph.operators
    if operators[operator_id].operator_class != "batch_norm" or not flow.reads[operator_id]:
        return False
    sources = flow.reads[operator_id][0][1]
    if len(sources) != 1 or operators[sources[0]].operator_class not in flow.classes.foldable:
        return False
    return _is_sole_reader(flow, sources[0], operator_id)


def _written(flow: Flow, operator_id: int) -> float:
    """Return the elements of the largest result."""
    return max((flow.size[t] for t in flow.graph.operators[operator_id].writes), default=0.0)


def _sizes(flow: Flow, operator_id: int) -> set[float]:
    """Return the element counts of an operator's loops: those it writes and, for a contiguous reduction, those it reads."""
    sizes = {_written(flow, operator_id)}
    if flow.graph.operators[operator_id].operator_class == "reduction" and _is_innermost(flow, operator_id):
        sizes.update(flow.size[t] for t, _ in flow.reads[operator_id])
    return sizes


def _ordered(flow: Flow, backend: str, groups: _Groups, folded: set[int]) -> Partition:
    """Number the groups in execution order: any order that their edges allow, the earliest member first."""
    members: dict[int, list[int]] = {}
    for operator_id in flow.kernel_operators:
        members.setdefault(groups.find(operator_id), []).append(operator_id)
    consumers: dict[int, set[int]] = {g: set() for g in members}
    waiting = dict.fromkeys(members, 0)
    for group, inside in members.items():
        before = {groups.find(p) for o in inside for p in flow.predecessors[o]} - {group}
        waiting[group] = len(before)
        for producer in before:
            consumers[producer].add(group)
    ready = [(inside[0], group) for group, inside in members.items() if not waiting[group]]
    heapq.heapify(ready)
    number: dict[int, int] = {}
    while ready:
        _, group = heapq.heappop(ready)
        number[group] = len(number)
        for consumer in consumers[group]:
            waiting[consumer] -= 1
            if not waiting[consumer]:
                heapq.heappush(ready, (members[consumer][0], consumer))
    order = list(number)
    edges = sorted((number[p], number[c]) for p, found in consumers.items() for c in found)
    in_order = [members[group] for group in order]
    kernel_of, views = _placed(flow, in_order)
    return Partition(
        backend=backend,
        members=in_order,
        views=views,
        kernel_of=kernel_of,
        folded=folded,
        edges=edges,
        stage=_stages(len(order), edges),
        anchor=[_anchor(flow, inside) for inside in in_order],
    )


def _placed(flow: Flow, members: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Return the kernel of every operator, and the views of every kernel. A view or a constant goes to the
    kernel of the next kernel operator, or of the last one at the end."""
    kernel_of = [-1] * len(flow.graph.operators)
    for kernel, inside in enumerate(members):
        for operator_id in inside:
            kernel_of[operator_id] = kernel
    views: list[list[int]] = [[] for _ in members]
    following = kernel_of[flow.kernel_operators[-1]] if flow.kernel_operators else -1
    for operator in reversed(flow.graph.operators):
        if kernel_of[operator.operator_id] >= 0:
            following = kernel_of[operator.operator_id]
        elif following >= 0:
            kernel_of[operator.operator_id] = following
            # An alias records `contiguous`, which returns a contiguous image without dispatching.
            if operator.is_view and operator.aten_operator != "aten.alias.default":
                views[following].append(operator.operator_id)
    for inside in views:
        inside.reverse()
    return kernel_of, views


def _stages(count: int, edges: list[tuple[int, int]]) -> list[int]:
    """Return the longest distance of each kernel from an input; `edges` are sorted and point upwards."""
    stage = [0] * count
    for producer, consumer in edges:
        if stage[consumer] <= stage[producer]:
            stage[consumer] = stage[producer] + 1
    return stage


def _anchor(flow: Flow, members: list[int]) -> int:
    """Return the operator with most multiply-accumulates among products, else the one with the highest rank."""
    if len(members) == 1:
        return members[0]
    operators = flow.graph.operators
    products = [o for o in members if operators[o].operator_class in flow.classes.matrix]
    if products:
        return max(products, key=lambda o: (nominal_macs(operators[o]), -o))
    return max(members, key=lambda o: (_CHARACTER.get(operators[o].operator_class, 2), -o))
