"""Data flow of a graph, computed once for all backends: views are followed to the operator that wrote the
bytes, in-place writes are ordered, and symbolic sizes are compared by their values at one
nominal value of each symbol.

A *kernel operator* is one that is not a view. All lists are indexed by operator or tensor id.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..graph import Graph, GraphOperator, Polynomial, evaluate
from .rules import Classes

NOMINAL_SIZES = (4, 128, 128)
"""Batch, sequence and context at which rules compare sizes."""

WEIGHT_ROLES = frozenset({"weight", "buffer", "constant"})

RANDOM_OPERATORS = frozenset(
    f"aten.{name}"
    for name in ("rand", "randn", "randint", "rand_like", "randn_like", "bernoulli", "normal", "multinomial")
)
"""Operators whose result differs from run to run though they read nothing."""

Read = tuple[int, tuple[int, ...]]
"""A tensor that an operator reads, and the kernel operators that wrote its bytes."""


@dataclass(slots=True)
class Flow:
    """Data flow between kernel operators."""

    graph: Graph
    classes: Classes
    names: list[tuple[str, str]] = field(default_factory=list)
    """ATen name and class of each operator, by which rules are found."""
    constants: set[int] = field(default_factory=set)
    """Operators computed once when the model is built, because no input reaches them."""
    kernel_operators: list[int] = field(default_factory=list)
    """Kernel operators in execution order, without constants."""
    origin: list[int] = field(default_factory=list)
    """Tensor at the end of each tensor's chain of views."""
    role: list[str] = field(default_factory=list)
    """Role of each tensor at a border: `input`, `weight` or `kv_cache`; a view has that of its base."""
    weight_reads: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of a kernel operator and a weight, buffer or constant that it reads, through views too."""
    size: list[float] = field(default_factory=list)
    """Elements of each tensor at the nominal size."""
    reads: list[list[Read]] = field(default_factory=list)
    """Tensors that each operator moves and did not write itself; empty for a view."""
    readers: list[dict[int, list[int]]] = field(default_factory=list)
    """Kernel operators, in order, that read each tensor that an operator writes."""
    escapes: list[bool] = field(default_factory=list)
    """True for each tensor whose value leaves the run or survives it, so that it must be written."""
    predecessors: list[set[int]] = field(default_factory=list)
    """Kernel operators that must finish before each operator, in-place hazards included."""
    successors: list[set[int]] = field(default_factory=list)
    """Kernel operators that must wait for each operator."""


@dataclass(slots=True)
class _Storage:
    """State, during the walk, of a storage that some operator overwrites."""

    writers: list[tuple[int, int]] = field(default_factory=list)
    """Operator and tensor of each write since the last one that covered the whole storage."""
    readers: list[int] = field(default_factory=list)
    """Kernel operators that read since the last write."""


def nominal(polynomial: Polynomial) -> float:
    """Evaluate a polynomial at the nominal sizes."""
    return evaluate(polynomial, *NOMINAL_SIZES)


def nominal_macs(operator: GraphOperator) -> float:
    """Return the multiply-accumulates of an operator at the nominal sizes."""
    return sum(nominal(s.quantities["macs"]) for s in operator.steps if "macs" in s.quantities)


def aten_name(aten_operator: str) -> str:
    """Return an operator without its overload and in-place mark: `aten.add` for `aten.add_.Tensor`."""
    return ".".join(aten_operator.split(".")[:2]).rstrip("_")


def moves(operator: GraphOperator, tensor: int) -> bool:
    """Return False for an operand whose elements an operator does not read: it only waits for the
    operand's writer, or takes its shape to create another tensor."""
    access = operator.accesses.get(tensor)
    return access is None or any(access.values())


def viewed(operator: GraphOperator, graph: Graph) -> int | None:
    """Return the base tensor of a view; None for a view that reads nothing."""
    if not operator.reads:
        return None
    if operator.writes:
        storage = graph.tensors[operator.writes[0]].storage_tensor_id
        for tensor in operator.reads:
            if graph.tensors[tensor].storage_tensor_id == storage:
                return tensor
    return operator.reads[0]


def flow_of(graph: Graph, classes: Classes, folds_constants: bool = False) -> Flow:
    """Build the data flow of a graph; with `folds_constants`, results that depend only on weights count as weights."""
    tensors, operators = graph.tensors, graph.operators
    constants = _constants(graph) if folds_constants else set()
    flow = Flow(
        graph=graph,
        classes=classes,
        names=[(aten_name(o.aten_operator), o.operator_class) for o in operators],
        constants=constants,
        kernel_operators=[o.operator_id for o in operators if not o.is_view and o.operator_id not in constants],
        origin=list(range(len(tensors))),
        role=["weight" if t.role in WEIGHT_ROLES else "kv_cache" if t.role == "kv_cache" else "input" for t in tensors],
        size=[nominal(t.elements) for t in tensors],
        reads=[[] for _ in operators],
        readers=[{} for _ in operators],
        escapes=[t.is_output for t in tensors],
        predecessors=[set() for _ in operators],
        successors=[set() for _ in operators],
    )
    storages = {s: _Storage() for s in _overwritten(graph)}
    for operator in operators:
        if operator.is_view:
            _follow_view(flow, operator)
        elif operator.operator_id in constants:
            for tensor in operator.writes:
                flow.role[tensor] = "weight"
        else:
            _connect(flow, operator, storages)
    _let_escape(flow, storages)
    for operator_id in flow.kernel_operators:
        for before in flow.predecessors[operator_id]:
            flow.successors[before].add(operator_id)
    return flow


def _constants(graph: Graph) -> set[int]:
    """Find the operators that no input reaches, whose result the model does not return and no operator overwrites."""
    overwritten = {o.operator_id: graph.tensors[o.writes[0]].storage_tensor_id for o in graph.operators if o.is_inplace}
    returned = {t.storage_tensor_id for t in graph.tensors if t.is_output}
    varying = {t.tensor_id for t in graph.tensors if t.producer_operator_id is None and t.role not in WEIGHT_ROLES}
    varying_storages = returned | {s for s in overwritten.values() if graph.tensors[s].role != "activation"}
    while True:
        reached = set(varying)
        constants: set[int] = set()
        for operator in graph.operators:
            is_varying = (
                any(t in reached and (operator.is_view or moves(operator, t)) for t in operator.reads)
                or aten_name(operator.aten_operator) in RANDOM_OPERATORS
                or (
                    not operator.is_view
                    and any(graph.tensors[t].storage_tensor_id in varying_storages for t in operator.writes)
                )
                or any(graph.tensors[t].role == "kv_cache" for t in operator.writes)
            )
            if is_varying:
                reached.update(operator.writes)
            else:
                constants.add(operator.operator_id)
        unstable = {s for o, s in overwritten.items() if o not in constants} - varying_storages
        if not unstable:
            return {o for o in constants if not graph.operators[o].is_view}
        varying_storages |= unstable


def _overwritten(graph: Graph) -> set[int]:
    """Find the storages that an operator writes in place."""
    tensors = graph.tensors
    return {
        tensors[t].storage_tensor_id
        for o in graph.operators
        if not o.is_view
        for t in o.writes
        if tensors[t].storage_tensor_id != t
    }


def _follow_view(flow: Flow, operator: GraphOperator) -> None:
    shown = viewed(operator, flow.graph)
    if shown is None:
        return
    for tensor in operator.writes:
        flow.origin[tensor] = flow.origin[shown]
        if flow.role[shown] == "weight":
            flow.role[tensor] = "weight"
        if flow.role[shown] == "kv_cache" or flow.role[tensor] == "kv_cache":
            # a later run reads the cache, so it is written even if nothing in this run reads it
            flow.role[tensor] = "kv_cache"
            flow.escapes[flow.origin[tensor]] = True


def _connect(flow: Flow, operator: GraphOperator, storages: dict[int, _Storage]) -> None:
    tensors, me = flow.graph.tensors, operator.operator_id
    before = flow.predecessors[me]
    for tensor in dict.fromkeys(operator.reads):
        storage = storages.get(tensors[tensor].storage_tensor_id)
        written = storage.writers if storage else _producer(flow, tensor)
        sources = tuple(source for source, _ in written)
        before.update(sources)
        if moves(operator, tensor):
            flow.reads[me].append((tensor, sources))
            origin = flow.origin[tensor]
            if tensors[origin].role in WEIGHT_ROLES:
                flow.weight_reads.append((me, origin))
            for source, result in written:
                flow.readers[source][result].append(me)
        if storage:
            storage.readers.append(me)
    for tensor in operator.writes:
        flow.readers[me][tensor] = []
        root = tensors[tensor].storage_tensor_id
        storage = storages.get(root)
        if storage:
            before.update(storage.readers)
            before.update(source for source, _ in storage.writers)
            covers_all = tensor == root or flow.size[tensor] >= flow.size[root]
            storage.writers = [(me, tensor)] if covers_all else [*storage.writers, (me, tensor)]
            storage.readers = []
    before.discard(me)


def _producer(flow: Flow, tensor: int) -> list[tuple[int, int]]:
    """Return the kernel operator that wrote a tensor's bytes, with its result; empty for an input."""
    origin = flow.origin[tensor]
    producer = flow.graph.tensors[origin].producer_operator_id
    if producer is None or origin not in flow.readers[producer]:
        return []
    return [(producer, origin)]


def _let_escape(flow: Flow, storages: dict[int, _Storage]) -> None:
    """Mark tensors that must be written although no operator reads them."""
    tensors = flow.graph.tensors
    returned = set()
    for tensor in tensors:
        if tensor.is_output:
            flow.escapes[flow.origin[tensor.tensor_id]] = True
            returned.add(tensor.storage_tensor_id)
    for root, storage in storages.items():
        if root in returned or tensors[root].role != "activation":
            for _, written in storage.writers:
                flow.escapes[written] = True
    for operator_id in flow.kernel_operators:
        results = flow.readers[operator_id]
        if not any(results.values()) and not any(flow.escapes[t] for t in results):
            for unread in results:
                flow.escapes[unread] = True
