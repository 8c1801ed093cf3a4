"""How tensor and expert parallel split a graph, whatever operators its products come from.

Values are followed from the inputs. A product of a whole value with weights is split by columns, so that each device has some of
its features; what reads those is split with them, till a product of them with weights, split by rows, whose partial results an
all-reduce adds up (Shoeybi et al. 2019, Megatron-LM). What needs all features of a token (a normalization over them, the model's
result) has them collected by an all-gather behind the product; a product that a choice among its features follows, as a router's,
is done by every device. A look-up in a table by the model's input is split by rows of the table, its results added up; in
training the loss is worked out of split logits.

The backward of each operator is split as it is. A product split by columns leaves partial gradients of its input: after the last
of those that share the input an all-reduce adds them up.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from ..graph import Graph, GraphOperator, dims
from .rules import Classes

CHOICES = frozenset({"softmax", "sort"})
"""Classes of operators that choose among features."""

WHOLE_FEATURES = CHOICES | {"norm"}
"""Classes of operators that need all features of a token."""


class Split(NamedTuple):
    """What several devices make of an operator; see `schema.compiled.OperatorSplit`."""

    operator_id: int
    split: str
    collective: str | None
    collective_tensor_id: int | None
    is_expert: bool
    exchanged_tensor_id: int | None


@dataclass(frozen=True, slots=True)
class _Shard:
    """A value of which each device has some features."""

    sources: frozenset[int]
    """Products by columns that it comes from."""
    is_by_head: bool = False
    """Whether features are split as groups that no operator mixes, as the heads of an attention."""


@dataclass(slots=True)
class _Found:
    """What is known of operators so far."""

    split: dict[int, str] = field(default_factory=dict)
    collective: dict[int, tuple[str, int]] = field(default_factory=dict)
    exchanged: dict[int, int] = field(default_factory=dict)


def splits(graph: Graph, classes: Classes) -> list[Split]:
    """Those operators that are split, or that experts do, in order."""
    return _Splitter(graph, classes).run()


class _Splitter:
    def __init__(self, graph: Graph, classes: Classes) -> None:
        self.graph = graph
        self.matrix = classes.matrix - {"depthwise_conv"}
        self.shards: dict[int, _Shard] = {}
        self.found = _Found()
        self.is_weight = [t.role == "weight" for t in graph.tensors]
        self.is_given = [t.role == "input" for t in graph.tensors]
        self.is_training = any(o.forward is not None for o in graph.operators)
        self.columns: defaultdict[int, list[int]] = defaultdict(list)
        """Products by columns, by the tensor that they share as input."""
        paths = [m.path for m in graph.modules]
        self.is_expert = ["expert" in path and "shared_expert" not in path for path in paths]
        self.is_norm = ["Norm" in m.class_name for m in graph.modules]
        self.split_weights: set[int] = set()
        self.whole: frozenset[int] = frozenset()
        """Products that every device does after all."""
        self.sources: dict[int, frozenset[int]] = {}
        """Products by columns that what is split comes from."""

    def run(self) -> list[Split]:
        forward = [o for o in self.graph.operators if not o.is_backward]
        for operator in forward:
            self._follow(operator)
        self._collect_results(forward)
        self._keep_whole()
        self._exchange(forward)
        kinds = {o: kind for o, kind in self.found.split.items() if kind != "between"}
        self.split_weights = {t for o in kinds for t in self.graph.operators[o].reads if self.is_weight[t]}
        for operator in self.graph.operators:
            if operator.is_backward:
                self._reverse(operator)
        self._reduce_gradients()
        return [self._made(o) for o in self.graph.operators if o.operator_id in self.found.split or self._of_expert(o)]

    def _made(self, operator: GraphOperator) -> Split:
        number = operator.operator_id
        collective, tensor_id = self.found.collective.get(number, (None, None))
        split, exchanged = self.found.split.get(number, "whole"), self.found.exchanged.get(number)
        return Split(number, split, collective, tensor_id, self._of_expert(operator), exchanged)

    def _of_expert(self, operator: GraphOperator) -> bool:
        return self.is_expert[operator.module_id] if operator.module_id < len(self.is_expert) else False

    def _follow(self, operator: GraphOperator) -> None:
        """Split a forward operator as what it reads is."""
        number, reads = operator.operator_id, operator.reads
        if operator.is_view and reads and self.is_weight[reads[0]]:
            for t in operator.writes:
                self.is_weight[t] = True
            return
        if operator.is_view and reads and self.is_given[reads[0]]:
            for t in operator.writes:
                self.is_given[t] = True
        values = [t for t in dict.fromkeys(reads) if not self.is_weight[t]]
        arriving = [self.shards[t] for t in values if t in self.shards]
        is_weighted = len(values) < len(set(reads))
        if is_weighted and operator.operator_class in self.matrix:
            if arriving:
                self.found.split[number] = "row"
                self._reduce(operator)
                return
            self.found.split[number] = "column"
            self.columns[values[0] if values else reads[0]].append(number)
            self.sources[number] = frozenset({number})
            shard = _Shard(self.sources[number])
        elif is_weighted and operator.operator_class == "embedding" and any(self.is_given[t] for t in values):
            self.found.split[number] = "row"
            self._reduce(operator)
            return
        elif not arriving:
            return
        elif self._needs_whole(operator, arriving):
            if operator.operator_class in CHOICES:
                self.whole |= frozenset().union(*(a.sources for a in arriving))
            else:
                self._gather(arriving)
            return
        else:
            self.sources[number] = frozenset().union(*(a.sources for a in arriving))
            if not operator.is_view:
                self.found.split[number] = "between"
            by_head = operator.operator_class in self.matrix or any(a.is_by_head for a in arriving)
            shard = _Shard(self.sources[number], by_head)
        for t in operator.writes:
            self.shards[t] = shard

    def _needs_whole(self, operator: GraphOperator, arriving: list[_Shard]) -> bool:
        is_mean = operator.operator_class == "reduction" and self.is_norm[operator.module_id]
        if operator.operator_class not in WHOLE_FEATURES and not is_mean:
            return False
        if all(a.is_by_head for a in arriving):
            return False
        rank = max(len(dims(self.graph.tensors[t].shape)) for t in operator.reads if t in self.shards)
        made = (self.graph.operators[s].writes[0] for a in arriving for s in a.sources)
        # Of heads by themselves: what has a dimension more than the product is no sum over all features.
        return rank <= max(len(dims(self.graph.tensors[t].shape)) for t in made)

    def _reduce(self, operator: GraphOperator) -> None:
        self.found.collective[operator.operator_id] = ("all_reduce", operator.writes[0])

    def _gather(self, arriving: list[_Shard]) -> None:
        for shard in arriving:
            for source in shard.sources:
                result = self.graph.operators[source].writes[0]
                self.found.collective[source] = ("all_gather", result)

    def _collect_results(self, forward: list[GraphOperator]) -> None:
        """Results of the model are collected, but for those that a loss is worked out of."""
        for operator in forward:
            for t in operator.writes:
                if t in self.shards and self.graph.tensors[t].is_output and not self.is_training:
                    self._gather([self.shards[t]])

    def _keep_whole(self) -> None:
        """Products that every device does, and what comes of them alone."""
        for number, sources in self.sources.items():
            if sources <= self.whole:
                self.found.split.pop(number, None)
                for t in self.graph.operators[number].writes:
                    self.shards.pop(t, None)
        for products in self.columns.values():
            products[:] = [p for p in products if p not in self.whole]

    def _exchange(self, forward: list[GraphOperator]) -> None:
        """What experts are sent, once for all products that share it, and what they send back."""
        sent: set[int] = set()
        for operator in forward:
            kind = self.found.split.get(operator.operator_id)
            if not self._of_expert(operator) or kind not in ("column", "row"):
                continue
            values = [t for t in operator.reads if not self.is_weight[t]]
            moved = operator.writes[0] if kind == "row" else values[0]
            if moved not in sent:
                self.found.exchanged[operator.operator_id] = moved
                sent.add(moved)

    def _reverse(self, operator: GraphOperator) -> None:
        """Split a backward operator as its forward is; gradients that are added up as what they are of."""
        number = operator.operator_id
        if operator.forward is not None:
            forward = self.graph.operators[operator.forward]
            split = "between" if forward.is_view else self.found.split.get(operator.forward)
            if split and not operator.is_view and (not forward.is_view or forward.writes[0] in self.shards):
                self.found.split[number] = split
            if operator.forward in self.found.exchanged:
                self.found.exchanged[number] = self.found.exchanged[operator.forward]
        elif any(t in self.shards or t in self.split_weights for t in operator.targets):
            self.found.split[number] = "between"

    def _reduce_gradients(self) -> None:
        """Behind the last backward of those products by columns that share an input."""
        backward = {o.forward: o for o in self.graph.operators if o.forward is not None}
        for tensor_id, products in self.columns.items():
            last = [backward[p] for p in products if p in backward and tensor_id in backward[p].targets]
            if last:
                operator = max(last, key=lambda o: o.operator_id)
                made = operator.writes[operator.targets.index(tensor_id)]
                self.found.collective[operator.operator_id] = ("all_reduce", made)
