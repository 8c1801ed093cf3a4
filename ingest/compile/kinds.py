"""Kinds of operators that a partition's reader distinguishes within a class: a convolution of single pixels, a member of a
squeeze-and-excite gate (Hu et al. 2018, arXiv:1709.01507)."""

from __future__ import annotations

from ..graph import Graph, GraphOperator

POINTWISE, SQUEEZE_EXCITE = "pointwise_conv", "squeeze_excite"

_PRODUCTS = frozenset({"conv", "linear"})
_POOLS = frozenset({"pooling", "reduction"})
_BETWEEN = frozenset({"activation", "batch_norm", "norm"})


def kinds(graph: Graph) -> list[str]:
    """Return the kind of every operator: its class, unless it is one of those above."""
    found = [POINTWISE if _is_pointwise(o) else o.operator_class for o in graph.operators]
    for operator in graph.operators:
        if operator.aten_operator.startswith("aten.mul") and len(operator.reads) == 2:
            first, second = operator.reads
            for member in _gate(graph, first, second) or _gate(graph, second, first):
                found[member] = found[operator.operator_id] = SQUEEZE_EXCITE
    return found


def _is_pointwise(operator: GraphOperator) -> bool:
    taps = next((step.quantities.get("taps") for step in operator.steps if step.step == "main"), None)
    return operator.operator_class == "conv" and taps == {(0, 0, 0): 1.0}


def _gate(graph: Graph, gate: int, gated: int) -> list[int]:
    """Find the operators that compute a gate from the gated tensor: pool over pixels, reduce, expand, squash; else none."""
    squash = _producer(graph, gate)
    if squash is None or "sigmoid" not in squash.aten_operator:
        return []
    expand = _producer(graph, squash.reads[0])
    if expand is None or expand.operator_class not in _PRODUCTS:
        return []
    members, operator = [squash, expand], _producer(graph, expand.reads[0])
    while operator is not None and operator.operator_class in _BETWEEN:
        members.append(operator)
        operator = _producer(graph, operator.reads[0])
    pool = _producer(graph, operator.reads[0]) if operator and operator.operator_class in _PRODUCTS else None
    if operator is None or pool is None or pool.operator_class not in _POOLS:
        return []
    if _source(graph, pool.reads[0]) != _source(graph, gated):
        return []
    return [o.operator_id for o in (*members, operator, pool)]


def _source(graph: Graph, tensor_id: int) -> int:
    """Return the base of a view, or the tensor itself."""
    producer = graph.tensors[tensor_id].producer_operator_id
    while producer is not None and graph.operators[producer].is_view:
        tensor_id = graph.operators[producer].reads[0]
        producer = graph.tensors[tensor_id].producer_operator_id
    return tensor_id


def _producer(graph: Graph, tensor_id: int) -> GraphOperator | None:
    """Return the operator that wrote a tensor's base; None for an input or a weight."""
    producer = graph.tensors[_source(graph, tensor_id)].producer_operator_id
    return None if producer is None else graph.operators[producer]
