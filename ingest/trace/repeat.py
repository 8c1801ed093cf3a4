"""Extends a graph of the first few of many equal layers to all of them.

The operators of a list of layers fall into periods (`alike.Layers`). The second one is copied after itself for every period
that was left out, and the next period reads the last copy. This requires that the second and the third period are equal
in every field except references, which differ by one period: each refers to its own period, a neighbour, or operators before
both. Otherwise `NotAlikeError` is raised, and the model is traced whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ..graph import Graph, GraphModule, GraphOperator, GraphTensor, Step
from .alike import Layers, NotAlikeError

BEFORE, FIRST, COPIED, NEXT, LATER = -1, 0, 1, 2, 3
"""Periods: outside of all, the first, the copied one, the one that must equal it, the last with all that follow."""

Refer = Callable[[int], int]
"""Function from an old number to a new one."""


def repeat(graph: Graph, layers: Layers) -> None:
    """Insert the periods that were left out. Raise NotAlikeError where that may be wrong."""
    if graph.notes:
        raise NotAlikeError("a branch")
    _Repeated(graph, layers).put()


class _Numbers:
    """Numbers of one kind of things in the graph: the period of each, and the new numbers of it and its copies."""

    def __init__(self, units: Sequence[int], copies: int) -> None:
        self.units, self.copies = units, copies
        copied, following = ([i for i, unit in enumerate(units) if unit == which] for which in (COPIED, NEXT))
        if len(copied) != len(following):
            raise NotAlikeError("periods of different lengths")
        self.later = dict(zip(copied, following, strict=True))
        """Counterparts one period later, for the copied period and for the things in the first to which it refers."""
        self.order: list[tuple[int, int]] = []
        """Old numbers in the new order, each with the number of its copy, which is 0 for the original."""
        run: list[int] = []
        for i, unit in enumerate((*units, LATER)):
            if unit == COPIED:
                run.append(i)
            elif run:
                self.order += [(old, copy) for copy in range(1, copies + 1) for old in run]
                run = []
            self.order.append((i, 0))
        self.order.pop()
        self.place = {item: i for i, item in enumerate(self.order)}

    def learn(self, one: int, other: int) -> None:
        """Match things of the first and the copied period to which two counterparts refer."""
        if self.units[one] == FIRST and self.units[other] == COPIED:
            self.later.setdefault(one, other)

    def next(self, target: int) -> int:
        """Return the counterpart of a reference one period later."""
        return target if self.units[target] == BEFORE else self.later.get(target, -1)

    def refer(self, unit: int, copy: int) -> Refer:
        """Return a function that renumbers the references of a period or one of its copies."""

        def new(target: int) -> int:
            to = self.units[target]
            if unit == COPIED and to == COPIED:
                return self.place[target, copy]
            if unit == COPIED and to == FIRST:
                return self.place[self.later[target], copy - 1] if copy else self.place[target, 0]
            if unit == NEXT and to == COPIED:
                return self.place[target, self.copies]
            if BEFORE < to < unit - 1:
                raise NotAlikeError("a reference skips a period")
            return self.place[target, 0]

        return new


class _Repeated:
    """A graph sorted into periods."""

    def __init__(self, graph: Graph, layers: Layers) -> None:
        self.graph, self.layers = graph, layers
        layer_of = [layers.layer_of(module.path) for module in graph.modules]
        if {layer for layer in layer_of if layer is not None} != set(range(layers.kept)):
            raise NotAlikeError("layers that do not run")
        self.starts = self._starts(layer_of)
        self.length = self.starts[LATER] - self.starts[NEXT]
        self.modules = self._numbers([BEFORE if layer is None else layers.unit_of(layer) for layer in layer_of])
        self.operators = self._numbers([self._unit(o.operator_id) for o in graph.operators])
        self.tensors = self._numbers(self._units_of_tensors())
        self.ends: dict[int, bool] = {}
        """True for each operator that ends a lifetime of the copied period if it also ends those of later periods."""
        self._compare()

    def _numbers(self, units: Sequence[int]) -> _Numbers:
        return _Numbers(units, self.layers.copies)

    def _starts(self, layer_of: Sequence[int | None]) -> list[int]:
        """Find the first operator of each period. Raise NotAlikeError unless the layers run one after the other."""
        first: dict[int, int] = {}
        last = -1
        for operator in self.graph.operators:
            layer = layer_of[operator.module_id]
            if layer is not None:
                first.setdefault(layer, operator.operator_id)
                if layer < last:
                    raise NotAlikeError("layers that do not run one after the other")
                last = layer
        return [first[self.layers.first + unit * self.layers.period] for unit in range(LATER + 1)]

    def _unit(self, operator: int) -> int:
        return sum(start <= operator for start in self.starts) - 1

    def _units_of_tensors(self) -> list[int]:
        """Find the periods of tensors: of parameters by their paths, of other constants by their readers."""
        readers: dict[int, set[int]] = {}
        for operator in self.graph.operators:
            for tensor in operator.reads:
                readers.setdefault(tensor, set()).add(self.operators.units[operator.operator_id])
        units = []
        for t in self.graph.tensors:
            layer, found = self.layers.layer_of(t.tensor), readers.get(t.tensor_id, set())
            if t.producer_operator_id is not None:
                units.append(self.operators.units[t.producer_operator_id])
            elif layer is not None:
                units.append(self.layers.unit_of(layer))
            else:
                is_own = t.role == "constant" and len(found) == 1
                units.append(found.pop() if is_own else BEFORE)
        return units

    def _compare(self) -> None:
        """Raise NotAlikeError unless the second and the third period are equal."""
        graph = self.graph
        for one, other in list(self.operators.later.items()):
            for read, instead in zip(graph.operators[one].reads, graph.operators[other].reads, strict=False):
                self.tensors.learn(read, instead)
        for one, other in list(self.tensors.later.items()):
            self.tensors.learn(graph.tensors[one].storage_tensor_id, graph.tensors[other].storage_tensor_id)
        of = self.modules.next, self.operators.next, self.tensors.next
        for one, other in self.modules.later.items():
            module = graph.modules[one]
            _equal(self._module(module, 1, of[0]), graph.modules[other], module.path)
        for one, other in self.operators.later.items():
            operator = graph.operators[one]
            _equal(self._operator(operator, *of), graph.operators[other], operator.operator)
            _equal(operator.attention, None, operator.operator)
        for one, other in self.tensors.later.items():
            tensor = graph.tensors[one]
            if self.tensors.units[one] == COPIED:
                is_end = tensor.held_operator_id == graph.tensors[other].held_operator_id
                later = 0 if is_end else self.length
                _equal(self._tensor(tensor, 1, of[1], of[2], later.__add__), graph.tensors[other], tensor.tensor)
                if (
                    tensor.held_operator_id is not None
                    and self.ends.setdefault(tensor.held_operator_id, is_end) != is_end
                ):
                    raise NotAlikeError(f"{tensor.tensor} ends at the end of the run in some periods only")
        for layouts in graph.layouts.values():
            for one, other in self.operators.later.items():
                _equal(layouts.get(one), layouts.get(other), graph.operators[one].operator)
        for copies in graph.copies.values():
            for one, other in self._copies(copies).later.items():
                by, copied = copies[one]
                _equal((of[1](by), of[2](copied)), copies[other], graph.operators[by].operator)

    def _held(self, unit: int, copy: int) -> Refer:
        """Return a function that renumbers the operators that end the lifetimes of a period's tensors: within two periods, or at
        the end."""
        place, copies = self.operators.place, self.layers.copies

        def new(operator: int) -> int:
            to = self.operators.units[operator]
            is_end = (unit < COPIED and to == LATER) or (unit == COPIED and self.ends[operator])
            if unit == BEFORE and to == NEXT:
                raise NotAlikeError("a tensor outlives the first layers")
            if unit not in (FIRST, COPIED) or to < COPIED or is_end:
                return place[operator, 0]
            period, offset = copy + to, operator - self.starts[to]
            if period <= copies + 1:
                return place[self.starts[COPIED] + offset, period - 1]
            return place[self.starts[period - copies] + offset, 0]

        return new

    def _copies(self, copies: Sequence[tuple[int, int]]) -> _Numbers:
        return self._numbers([self.operators.units[operator] for operator, _ in copies])

    def put(self) -> None:
        """Insert the copies into the graph."""
        graph, operators = self.graph, self.operators
        graph.traced.clear()
        graph.modules = [
            self._module(graph.modules[old], self._periods(unit, copy), refer[0])
            for old, unit, copy, refer in self._placed(self.modules)
        ]
        graph.tensors = [
            self._tensor(graph.tensors[old], self._periods(unit, copy), *refer[1:])
            for old, unit, copy, refer in self._placed(self.tensors)
        ]
        graph.operators = [
            self._operator(graph.operators[old], *refer[:3]) for old, _, _, refer in self._placed(operators)
        ]
        for memory_format, found in graph.layouts.items():
            graph.layouts[memory_format] = {n: found[old] for n, (old, _) in enumerate(operators.order) if old in found}
        for memory_format, copies in graph.copies.items():
            graph.copies[memory_format] = [
                (refer[1](copies[old][0]), refer[2](copies[old][1]))
                for old, _, _, refer in self._placed(self._copies(copies))
            ]

    def _placed(self, numbers: _Numbers) -> Iterator[tuple[int, int, int, tuple[Refer, ...]]]:
        """Yield old number, period, copy and the renumbering of modules, operators, tensors and lifetimes, in the new order."""
        refer: dict[tuple[int, int], tuple[Refer, ...]] = {}
        for old, copy in numbers.order:
            key = numbers.units[old], copy
            if key not in refer:
                refer[key] = (
                    self.modules.refer(*key),
                    self.operators.refer(*key),
                    self.tensors.refer(*key),
                    self._held(*key),
                )
            yield old, *key, refer[key]

    def _periods(self, unit: int, copy: int) -> int:
        """Return the number of periods by which something moves."""
        return self.layers.copies if unit > COPIED else copy

    def _module(self, module: GraphModule, periods: int, modules: Refer) -> GraphModule:
        parent = module.parent_module_id
        return replace(
            module,
            module_id=modules(module.module_id),
            parent_module_id=None if parent is None else modules(parent),
            path=self.layers.moved(module.path, periods),
        )

    def _operator(self, operator: GraphOperator, modules: Refer, operators: Refer, tensors: Refer) -> GraphOperator:
        return replace(
            operator,
            operator_id=operators(operator.operator_id),
            module_id=modules(operator.module_id),
            reads=[tensors(t) for t in operator.reads],
            writes=[tensors(t) for t in operator.writes],
            steps=[self._step(step, tensors) for step in operator.steps],
            accesses={tensors(t): moved for t, moved in operator.accesses.items()},
            draw_fractions={tensors(t): share for t, share in operator.draw_fractions.items()},
            checkpoint=None if operator.checkpoint is None else operators(operator.checkpoint),
        )

    def _step(self, step: Step, tensors: Refer) -> Step:
        left = step.left_tensor_id
        return step if left is None else replace(step, left_tensor_id=tensors(left))

    def _tensor(self, tensor: GraphTensor, periods: int, operators: Refer, tensors: Refer, held: Refer) -> GraphTensor:
        producer, holder = tensor.producer_operator_id, tensor.held_operator_id
        return replace(
            tensor,
            tensor_id=tensors(tensor.tensor_id),
            tensor=self.layers.moved(tensor.tensor, periods),
            producer_operator_id=None if producer is None else operators(producer),
            storage_tensor_id=tensors(tensor.storage_tensor_id),
            held_operator_id=None if holder is None else held(holder),
        )


def _equal(one: object, other: object, name: str) -> None:
    if one != other:
        raise NotAlikeError(f"{name} differs one period later")
