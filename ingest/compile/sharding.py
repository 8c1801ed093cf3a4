"""Split of a graph by tensor and expert parallelism, for any operators that its products come from.

Values are followed from the inputs. A product of a whole value with weights is split by columns, so that each device has some of
its features. Operators that read those are split with them, up to a product with weights that is split by rows, whose partial
results an all-reduce adds (Shoeybi et al. 2019, Megatron-LM). Partial results pass through linear operators (a scale, a choice of
rows, a sum), so that those of all experts of a token are added once. Where all features of a token are needed (a normalization over
them, the model's result), an all-gather after the product collects them. A look-up in a table by the model's input is split by rows of
the table, and its results are added; in training the loss is computed from split logits.

Every device computes a product before a choice among its features, as a router's, and one to fewer features that are normalized and
multiplied again, which compresses queries, keys and values of latent attention (vLLM's `ReplicatedLinear`). A product of each head
with weights of its own sends nothing.

Heads are whole: an operator that reads features as heads determines their number, and the products that make them cannot be split
further. If there are fewer key heads than devices, several devices have the same head (vLLM's `QKVParallelLinear`), and every device
has a cache without heads.

The backward of each operator is split like the operator. A product split by columns leaves partial gradients of its input: after the
last of those that share the input an all-reduce adds them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from ..graph import Graph, GraphOperator, GraphTensor, dims
from .rules import Classes

CHOICES = frozenset({"softmax", "sort"})
"""Classes of operators that choose among features."""

WHOLE_FEATURES = CHOICES | {"norm"}
"""Classes of operators that need all features of a token."""

COPIES = frozenset({"cast", "copy"})
"""Classes of operators that pass their operand on."""

PASSED = frozenset({"neg", "sum", "index", "index_select", "gather"})
"""Operators whose result is linear in their first operand, whatever the others are."""

ADDED = frozenset({"add", "sub", "index_add"})
"""Operators whose result is partial where both summands are."""

MIXED = frozenset({"einsum"})
"""Products whose operands have dimensions in any order."""

ZEROS = frozenset({"zeros", "zeros_like", "new_zeros"})
"""Operators whose results are zeros, which change no sum."""


class Split(NamedTuple):
    """Split of an operator over several devices; see `schema.compiled.OperatorSplit`."""

    operator_id: int
    split: str
    collective: str | None
    collective_tensor_id: int | None
    is_expert: bool
    exchanged_tensor_id: int | None
    pieces: int | None
    fewer_pieces: int | None
    fewer_fraction: float
    expert_count: int | None


class Kept(NamedTuple):
    """Split of a cache over several devices; see `schema.compiled.CacheSplit`."""

    tensor_id: int
    pieces: int


class Splits(NamedTuple):
    """Split of a graph over several devices."""

    operators: list[Split]
    """Operators that are split or belong to experts, in order."""
    caches: list[Kept]
    """Caches of which a device keeps a part."""


@dataclass(frozen=True, slots=True)
class _Shard:
    """A value of which each device has some features."""

    sources: frozenset[int]
    """Products by columns from which the value comes."""
    is_by_head: bool = False
    """True if features are split as groups that no operator mixes, as the heads of an attention."""
    pieces: int | None = None
    """Number of those groups, None while unknown."""


@dataclass(slots=True, eq=False)
class _Partial:
    """A value of which each device has a summand."""

    operator_id: int
    tensor_id: int
    is_of_heads: bool = False
    """True if it comes from an attention, whose results engines add before those of parallel branches."""
    parents: tuple[_Partial, ...] = ()
    """Partial values from which it is computed."""
    is_added_up: bool = False


class _Pieces(NamedTuple):
    """Numbers of groups in which features are split: the largest, and a smaller one with the fraction of features that have it."""

    most: int | None = None
    fewer: int | None = None
    fraction: float = 0.0


@dataclass(slots=True)
class _Found:
    """Facts found about operators so far."""

    split: dict[int, str] = field(default_factory=dict)
    collective: dict[int, tuple[str, int]] = field(default_factory=dict)
    exchanged: dict[int, int] = field(default_factory=dict)
    pieces: dict[int, _Pieces] = field(default_factory=dict)
    """Groups of operators that determine their own number; `_Splitter.heads` has those of products by columns."""


def splits(graph: Graph, classes: Classes) -> Splits:
    """Find what several devices make of a graph's operators and caches."""
    return _Splitter(graph, classes).run()


class _Splitter:
    def __init__(self, graph: Graph, classes: Classes) -> None:
        self.graph = graph
        self.matrix = classes.matrix - {"depthwise_conv"}
        self.shards: dict[int, _Shard] = {}
        self.partial: dict[int, _Partial] = {}
        self.found = _Found()
        self.is_weight = [t.role == "weight" for t in graph.tensors]
        self.is_given = [t.role == "input" for t in graph.tensors]
        self.is_neutral = [False] * len(graph.tensors)
        """True for each tensor that only one device may add: zeros, and copies of weights."""
        self.is_training = any(o.forward is not None for o in graph.operators)
        self.columns: defaultdict[int, list[int]] = defaultdict(list)
        """Products by columns, by the tensor that they share as input."""
        paths = [m.path for m in graph.modules]
        self.is_expert = ["expert" in path and "shared_expert" not in path for path in paths]
        self.is_norm = ["Norm" in m.class_name for m in graph.modules]
        self.split_weights: set[int] = set()
        self.whole: frozenset[int] = frozenset()
        """Products that every device computes after all."""
        self.sources: dict[int, frozenset[int]] = {}
        """Products by columns from which each split operator comes."""
        self.normed: frozenset[int] = frozenset()
        """Products by columns whose features are normalized together."""
        self.collected: dict[int, frozenset[int]] = {}
        """Products that made the collected features from which each value is computed."""
        self.heads: defaultdict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
        """Number of heads and of features, by product by columns and by the tensor that is read as heads."""
        self.kept = {t.tensor_id: _kept_pieces(t) for t in graph.tensors if t.role == "kv_cache"}
        """Heads of caches and their views; 1 for one that every device keeps whole."""

    def run(self) -> Splits:
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
        told = self.found.split.keys() | self.found.collective.keys()
        operators = [self._made(o) for o in self.graph.operators if o.operator_id in told or self._of_expert(o)]
        caches = [Kept(t, n) for t, n in self.kept.items() if n > 1 and self.graph.tensors[t].role == "kv_cache"]
        return Splits(operators, caches)

    def _made(self, operator: GraphOperator) -> Split:
        number = operator.operator_id
        collective, tensor_id = self.found.collective.get(number, (None, None))
        split, exchanged = self.found.split.get(number, "whole"), self.found.exchanged.get(number)
        first = number if operator.forward is None else operator.forward
        pieces = self._pieces(first) if split != "whole" else _Pieces()
        experts = self._experts(self.graph.operators[first]) if self._of_expert(operator) else None
        return Split(number, split, collective, tensor_id, self._of_expert(operator), exchanged, *pieces, experts)

    def _of_expert(self, operator: GraphOperator) -> bool:
        return self.is_expert[operator.module_id] if operator.module_id < len(self.is_expert) else False

    def _experts(self, operator: GraphOperator) -> int | None:
        """Count the experts whose weights a product reads: stacked, or one tensor each."""
        if operator.operator_class not in self.matrix:
            return None
        shapes = [dims(self.graph.tensors[t].shape) for t in operator.reads if self.is_weight[t]]
        stacked = [shape[0] for shape in shapes if len(shape) > 2]
        return stacked[0] if stacked else sum(len(shape) > 1 for shape in shapes) or None

    def _pieces(self, number: int) -> _Pieces:
        """Return the groups of an operator's features: its own, else those of the products from which they come."""
        if number in self.found.pieces:
            return self.found.pieces[number]
        features: defaultdict[int, int] = defaultdict(int)
        for source in self.sources.get(number, ()):
            for pieces, width in self.heads[source].values():
                features[pieces] += width
        if not features:
            return _Pieces()
        least = min(features)
        return _Pieces(
            max(features), *((least, features[least] / sum(features.values())) if len(features) > 1 else (None, 0.0))
        )

    def _follow(self, operator: GraphOperator) -> None:
        """Split a forward operator like its operands."""
        number, reads = operator.operator_id, operator.reads
        if operator.is_view and reads and self.is_weight[reads[0]]:
            for t in operator.writes:
                self.is_weight[t] = True
            return
        if operator.is_view and reads and self.is_given[reads[0]]:
            for t in operator.writes:
                self.is_given[t] = True
        self._follow_neutral(operator)
        values = [t for t in dict.fromkeys(reads) if not self.is_weight[t]]
        if self._pass_partial(operator, values):
            return
        arriving = self._arriving(values)
        is_weighted = len(values) < len(set(reads)) and operator.operator_class != "attention"
        if is_weighted and operator.operator_class in self.matrix:
            self._split_product(operator, values)
        elif is_weighted and operator.operator_class == "embedding" and any(self.is_given[t] for t in values):
            self.found.split[number] = "row"
            self.found.collective[number] = ("all_reduce", operator.writes[0])
        elif not arriving:
            self._follow_whole(operator, values)
        elif self._needs_whole(operator, list(arriving.values())):
            sources = frozenset().union(*(a.sources for a in arriving.values()))
            if operator.operator_class in CHOICES:
                self.whole |= sources
            else:
                self._gather(sources)
                self.normed |= sources
                self.collected.update(dict.fromkeys(operator.writes, sources))
        else:
            self._split_between(operator, values, arriving)

    def _arriving(self, values: list[int]) -> dict[int, _Shard]:
        """Return the values of which each device has some features."""
        return {t: self.shards[t] for t in values if t in self.shards and not self.shards[t].sources <= self.whole}

    def _follow_neutral(self, operator: GraphOperator) -> None:
        """Mark zeros, and values read from weights by views, copies and choices of rows."""
        name, known = _name(operator), [self.is_weight[t] or self.is_neutral[t] for t in operator.reads]
        is_handed_on = operator.is_view or operator.operator_class in COPIES
        if name in ZEROS or (known and (all(known) if is_handed_on else known[0] and name in PASSED)):
            for t in operator.writes:
                self.is_neutral[t] = True

    def _pass_partial(self, operator: GraphOperator, values: list[int]) -> bool:
        """Return True if the result is partial like an operand; otherwise add partial operands first."""
        pending = [t for t in values if self._is_pending(t)]
        if not pending:
            return False
        if operator.is_view:
            self.partial.update(dict.fromkeys(operator.writes, self.partial[pending[0]]))
            return True
        if not self._arriving(values) and self._is_linear(operator, values, set(pending)):
            made = tuple(self.partial[t] for t in pending)
            for t in operator.writes:
                self.partial[t] = _Partial(operator.operator_id, t, made[0].is_of_heads, made)
            return True
        for t in pending:
            self._add_up(self.partial[t])
        return False

    def _is_linear(self, operator: GraphOperator, values: list[int], pending: set[int]) -> bool:
        name, reads = _name(operator), operator.reads
        if operator.operator_class in COPIES:
            return len(pending) == len(values)
        if name in PASSED or name == "div":
            return pending == {reads[0]} and reads.count(reads[0]) == 1
        if name == "mul":
            return sum(t in pending for t in reads) == 1
        if name not in ADDED or len(reads) == 1:
            return False
        are_alike = len({self.partial[t].is_of_heads for t in pending}) == 1
        return are_alike and all(t in pending or self.is_weight[t] or self.is_neutral[t] for t in (reads[0], reads[-1]))

    def _is_pending(self, tensor_id: int) -> bool:
        return tensor_id in self.partial and self._settled(self.partial[tensor_id])

    def _settled(self, partial: _Partial) -> bool:
        """Return True if it is still partial; if one parent was added, add the others too."""
        if partial.is_added_up or not partial.parents:
            return not partial.is_added_up
        still = [p for p in partial.parents if self._settled(p)]
        if len(still) == len(partial.parents):
            return True
        for parent in still:
            self._add_up(parent)
        return False

    def _add_up(self, partial: _Partial) -> None:
        partial.is_added_up = True
        self.found.collective[partial.operator_id] = ("all_reduce", partial.tensor_id)

    def _split_product(self, operator: GraphOperator, values: list[int]) -> None:
        """Split a product with weights: by columns if its operand is whole, by rows or heads if that is split."""
        number = operator.operator_id
        arriving = self._arriving(values)
        sources = frozenset().union(
            *(a.sources & self.normed for a in arriving.values() if not a.is_by_head),
            *(self.collected.get(t, frozenset()) for t in values),
        )
        self.whole |= frozenset(s for s in sources if self._narrows(s))
        arriving = self._arriving(values)
        groups = self._groups(operator)
        if groups:
            for t in [t for t, shard in arriving.items() if shard.pieces is None]:
                self._tell(arriving[t], t, groups)
            self.found.pieces[number] = _Pieces(groups)
        elif arriving:
            self.found.split[number] = "row"
            self.found.pieces[number] = _Pieces(max((a.pieces for a in arriving.values() if a.pieces), default=None))
            of_heads = any(a.is_by_head for a in arriving.values())
            self.partial[operator.writes[0]] = _Partial(number, operator.writes[0], of_heads)
            return
        self.found.split[number] = "column"
        if not arriving:
            self.columns[values[0] if values else operator.reads[0]].append(number)
        self.sources[number] = frozenset({number})
        for t in operator.writes:
            self.shards[t] = _Shard(self.sources[number], groups is not None, groups)

    def _narrows(self, number: int) -> bool:
        """Return True if a product has fewer output features than input features."""
        operator = self.graph.operators[number]
        read = next((t for t in operator.reads if not self.is_weight[t]), None)
        if read is None or operator.operator_class not in ("linear", "matmul"):
            return False
        before, behind = (dims(self.graph.tensors[t].shape)[-1] for t in (read, operator.writes[0]))
        return before is not None and behind is not None and behind < before

    def _groups(self, operator: GraphOperator) -> int | None:
        """Return the number of heads of a product that has separate weights for each; None for any other."""
        if self._of_expert(operator) or operator.operator_class != "matmul":
            return None
        shapes = [dims(self.graph.tensors[t].shape) for t in operator.reads]
        weights = [shape for t, shape in zip(operator.reads, shapes, strict=True) if self.is_weight[t]]
        stacked = [shape[0] for shape in weights if len(shape) > 2]
        return stacked[0] if stacked and shapes[0][0] == stacked[0] else None

    def _follow_whole(self, operator: GraphOperator, values: list[int]) -> None:
        """Mark an operator that every device computes: a cache that it writes is whole, and its results stay collected features."""
        collected = frozenset().union(*(self.collected.get(t, frozenset()) for t in values))
        for t in operator.writes:
            if collected and operator.operator_class not in self.matrix:
                self.collected[t] = collected
            if t in self.kept:
                self.kept[t] = 1
                self.whole |= frozenset(s for s in collected if self._narrows(s))
            elif operator.is_view and values and values[0] in self.kept:
                self.kept[t] = self.kept[values[0]]

    def _split_between(self, operator: GraphOperator, values: list[int], arriving: dict[int, _Shard]) -> None:
        """Split an operator without weights like its operands."""
        number = operator.operator_id
        sources = frozenset().union(*(a.sources for a in arriving.values()))
        is_product = operator.operator_class in self.matrix
        kept = next((self.kept[t] for t in operator.writes if t in self.kept), None)
        heads = {t: shard.pieces for t, shard in arriving.items()}
        if kept is not None or is_product:
            for t in [t for t, known in heads.items() if known is None]:
                heads[t] = kept or (_heads(self.graph.tensors[t]) if _name(operator) not in MIXED else None)
                self._tell(arriving[t], t, heads[t])
        if is_product and set(heads.values()) == {1}:
            self.whole |= sources
            return
        pieces = max((n for n in heads.values() if n), default=None)
        read = [self.kept[t] for t in values if t in self.kept]
        fewer = min(read) if read and min(read) != pieces else None
        if pieces or fewer:
            self.found.pieces[number] = _Pieces(pieces, fewer)
        self.sources[number] = sources
        if not operator.is_view:
            self.found.split[number] = "between"
        by_head = is_product or any(a.is_by_head for a in arriving.values())
        for t in operator.writes:
            self.shards[t] = _Shard(sources, by_head, pieces)
            if operator.is_view and t not in self.kept and values[0] in self.kept:
                self.kept[t] = self.kept[values[0]]

    def _tell(self, shard: _Shard, tensor_id: int, heads: int | None) -> None:
        """Record for the products from which a value comes that it is read as so many heads."""
        if heads is None:
            return
        width = dims(self.graph.tensors[tensor_id].shape)[-1]
        for source in shard.sources:
            self.heads[source][tensor_id] = (heads, heads * (width or 1))

    def _needs_whole(self, operator: GraphOperator, arriving: list[_Shard]) -> bool:
        is_mean = operator.operator_class == "reduction" and self.is_norm[operator.module_id]
        if operator.operator_class not in WHOLE_FEATURES and not is_mean:
            return False
        if all(a.is_by_head for a in arriving):
            return False
        rank = max(len(dims(self.graph.tensors[t].shape)) for t in operator.reads if t in self.shards)
        made = (self.graph.operators[s].writes[0] for a in arriving for s in a.sources)
        # An operand with a dimension more than the product is normalized by head, not over all features.
        return rank <= max(len(dims(self.graph.tensors[t].shape)) for t in made)

    def _gather(self, sources: frozenset[int]) -> None:
        for source in sources - self.whole:
            self.found.collective[source] = ("all_gather", self.graph.operators[source].writes[0])

    def _collect_results(self, forward: list[GraphOperator]) -> None:
        """Add partial results of the model, and collect split ones except logits from which a loss is computed."""
        for operator in forward:
            for t in operator.writes:
                if not self.graph.tensors[t].is_output:
                    continue
                if self._is_pending(t):
                    self._add_up(self.partial[t])
                elif t in self.shards and not self.is_training:
                    self._gather(self.shards[t].sources)

    def _keep_whole(self) -> None:
        """Remove the split of products that every device computes, also those of a single head, and operators that read only these."""
        self.whole |= {s for s, told in self.heads.items() if {pieces for pieces, _ in told.values()} == {1}}
        for number in self.whole:
            self.found.collective.pop(number, None)
        for number, sources in self.sources.items():
            if sources <= self.whole:
                self.found.split.pop(number, None)
                for t in self.graph.operators[number].writes:
                    self.shards.pop(t, None)
        for products in self.columns.values():
            products[:] = [p for p in products if p not in self.whole]

    def _exchange(self, forward: list[GraphOperator]) -> None:
        """Record the tensors sent to experts, once for all products that share them, and those sent back."""
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
        """Split a backward operator like its forward, and an accumulation of gradients like their targets."""
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
        """Add an all-reduce after the last backward of the products by columns that share an input."""
        backward = {o.forward: o for o in self.graph.operators if o.forward is not None}
        for tensor_id, products in self.columns.items():
            last = [backward[p] for p in products if p in backward and tensor_id in backward[p].targets]
            if last:
                operator = max(last, key=lambda o: o.operator_id)
                made = operator.writes[operator.targets.index(tensor_id)]
                self.found.collective[operator.operator_id] = ("all_reduce", made)


def _name(operator: GraphOperator) -> str:
    """Return an operator's name without library, overload and in-place mark."""
    return operator.aten_operator.split(".")[1].rstrip("_") if "." in operator.aten_operator else operator.aten_operator


def _heads(tensor: GraphTensor) -> int | None:
    """Return the heads of an attention operand: batch x heads x tokens x width, or batch times heads in front; None if unknown."""
    sizes = tensor.shape.strip("[]").split(", ")
    if len(sizes) == 4:
        return dims(tensor.shape)[1]
    if len(sizes) != 3:
        return None
    found = re.fullmatch(r"(?:(\d+)\*)?B|(\d+)", sizes[0])
    return int(found[1] or found[2] or 1) if found else None


def _kept_pieces(tensor: GraphTensor) -> int:
    """Return the heads or channels of a cache, its second dimension; 1 where that is tokens."""
    return (sizes[1] or 1) if len(sizes := dims(tensor.shape)) > 2 else 1
