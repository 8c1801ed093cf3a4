"""Properties of every graph, tested on random graphs."""

from __future__ import annotations

from collections import Counter
from itertools import product

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charz.ingest.compile import compile_graph
from charz.ingest.compile.dataflow import flow_of, nominal
from charz.ingest.graph import Graph
from charz.schema.compiled import (
    Kernel,
    KernelEdge,
    KernelOperator,
    KernelTensor,
    OperatorPrecision,
    PrecisionCast,
    TensorPrecision,
)

POINTWISE = ("activation", "elementwise", "batch_norm", "cast", "copy")
ONE_OPERAND = (*POINTWISE, "norm", "softmax", "reduction", "pooling", "conv", "linear", "sort", "unknown")
CLASSES = (*ONE_OPERAND, "elementwise", "matmul", "copy", "view", "create", "inplace", "gather")


ON_MANY_GRAPHS = settings(max_examples=100, deadline=None)


@st.composite
def graphs(draw, make):
    """Draw a graph of up to 25 operators: chains, branches, views, slices, in-place writes, several outputs."""
    b = make()
    known = [b.input(64), b.weight(16)]
    for _ in range(draw(st.integers(1, 25))):
        kind = draw(st.sampled_from(CLASSES))
        operands = [draw(st.sampled_from(known))]
        if kind in ("elementwise", "matmul", "copy", "gather"):
            operands.append(draw(st.sampled_from(known)))
        if kind in ("conv", "linear"):
            operands.append(b.weight(9))
        elements = draw(st.sampled_from((64.0, 64.0, 16.0, 1.0)))
        if kind == "create":
            known.append(b.op(kind, elements=elements))
        elif kind == "inplace":
            target = operands[0]
            if b.graph.tensors[target].role == "activation":
                known.append(b.op("activation", target, inplace=True))
        elif kind == "view":
            held = next(iter(b.graph.tensors[operands[0]].elements.values()))
            known.append(b.op(kind, *operands, elements=min(elements, held)))
        else:
            macs = 100.0 if kind in ("conv", "linear", "matmul") else 0.0
            known.append(b.op(kind, *operands, elements=elements, macs=macs))
    made = [t for t in known if b.graph.tensors[t].role == "activation"]
    outputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=2)) if made else []
    return b.output(*outputs)


def by_backend(table: dict[str, list], backend: str) -> list[dict]:
    names = list(table)
    rows = (dict(zip(names, values, strict=True)) for values in zip(*table.values(), strict=True))
    return [row for row in rows if row["backend"] == backend]


@pytest.fixture(scope="module")
def compiled(make, rules):
    """Strategy of a graph with its compiled rows."""
    return graphs(make).map(lambda graph: (graph, compile_graph(graph, rules, with_servers=True)))


@ON_MANY_GRAPHS
@given(st.data())
def test_every_operator_runs_in_exactly_one_kernel(compiled, rules, data):
    graph, columns = data.draw(compiled)
    for backend in rules.folds_norm:
        kernels = by_backend(columns[Kernel], backend)
        placed = by_backend(columns[KernelOperator], backend)
        assert [k["kernel_id"] for k in kernels] == list(range(len(kernels)))
        assert all(count == 1 for count in Counter(p["operator_id"] for p in placed).values())
        if kernels:
            assert {p["operator_id"] for p in placed} == set(range(len(graph.operators)))
        executed = Counter(
            p["kernel_id"] for p in placed if not graph.operators[p["operator_id"]].is_view and not p["is_folded"]
        )
        folded_norms = Counter(
            p["kernel_id"]
            for p in placed
            if p["is_folded"] and graph.operators[p["operator_id"]].operator_class == "batch_norm"
        )
        for kernel in kernels:
            inside = executed[kernel["kernel_id"]]
            assert inside <= kernel["operator_count"] <= inside + folded_norms[kernel["kernel_id"]]
            assert kernel["anchor_operator_id"] in {
                p["operator_id"] for p in placed if p["kernel_id"] == kernel["kernel_id"]
            }


@ON_MANY_GRAPHS
@given(st.data())
def test_a_rule_allows_each_edge_within_a_kernel(compiled, rules, data):
    """Operators folded into weights follow no rule, nor do the kernels of a server."""
    graph, columns = data.draw(compiled)
    for backend in set(rules.folds_norm) - rules.serves - set(rules.captures):
        fusion, flow = rules.fusion[backend], flow_of(graph, rules.classes, rules.folds_norm[backend])
        placed = {p["operator_id"]: p for p in by_backend(columns[KernelOperator], backend)}
        for consumer in flow.kernel_operators:
            for producer in flow.predecessors[consumer]:
                one, other = placed[producer], placed[consumer]
                if one["kernel_id"] == other["kernel_id"] and not (one["is_folded"] or other["is_folded"]):
                    names = product(flow.names[producer], flow.names[consumer])
                    assert any(pair in fusion for pair in names)


@ON_MANY_GRAPHS
@given(st.data())
def test_the_graph_of_kernels_is_acyclic_and_keeps_every_dependency(compiled, rules, data):
    graph, columns = data.draw(compiled)
    for backend, folds in rules.folds_norm.items():
        constants = flow_of(graph, rules.classes, folds).constants
        edges = {(e["producer_kernel_id"], e["consumer_kernel_id"]) for e in by_backend(columns[KernelEdge], backend)}
        stage = {k["kernel_id"]: k["stage"] for k in by_backend(columns[Kernel], backend)}
        assert all(producer < consumer for producer, consumer in edges)
        assert all(stage[producer] < stage[consumer] for producer, consumer in edges)
        order = networkx.DiGraph()
        order.add_nodes_from(stage)
        order.add_edges_from(edges)
        assert networkx.is_directed_acyclic_graph(order)
        placed = {p["operator_id"]: p for p in by_backend(columns[KernelOperator], backend)}
        for producer, consumer in _data_edges(graph):
            if producer in constants:
                continue  # made before the run
            pair = (placed[producer]["kernel_id"], placed[consumer]["kernel_id"])
            assert pair[0] == pair[1] or networkx.has_path(order, *pair)


def _data_edges(graph: Graph):
    """Return producer and consumer operators, through views."""
    for operator in graph.operators:
        if operator.is_view:
            continue
        for tensor in operator.reads:
            producer = graph.tensors[tensor].producer_operator_id
            while producer is not None and graph.operators[producer].is_view:
                producer = graph.tensors[graph.operators[producer].reads[0]].producer_operator_id
            if producer is not None:
                yield producer, operator.operator_id


@ON_MANY_GRAPHS
@given(st.data())
def test_fusion_never_moves_more(compiled, rules, data):
    graph, columns = data.draw(compiled)
    moved = {
        (backend, direction): sum(
            nominal(graph.tensors[row["tensor_id"]].elements)
            for row in by_backend(columns[KernelTensor], backend)
            if row["direction"] == direction
        )
        for backend in rules.folds_norm
        for direction in ("read", "write")
    }
    for backend in rules.folds_norm:
        assert moved[backend, "read"] <= moved["eager", "read"]
        assert moved[backend, "write"] <= moved["eager", "write"]


@ON_MANY_GRAPHS
@given(st.data())
def test_what_is_read_from_another_kernel_was_written_by_it(compiled, rules, data):
    graph, columns = data.draw(compiled)
    storage = [t.storage_tensor_id for t in graph.tensors]
    for backend in rules.folds_norm:
        crossings = by_backend(columns[KernelTensor], backend)
        keys = [(c["kernel_id"], c["tensor_id"], c["direction"]) for c in crossings]
        assert len(keys) == len(set(keys))
        written: dict[int, int] = {}
        for crossing in crossings:
            if crossing["direction"] == "write":
                root = storage[crossing["tensor_id"]]
                written[root] = min(crossing["kernel_id"], written.get(root, crossing["kernel_id"]))
        for crossing in crossings:
            if crossing["is_produced"]:
                assert written[storage[crossing["tensor_id"]]] < crossing["kernel_id"]


@ON_MANY_GRAPHS
@given(st.data())
def test_every_tensor_and_operator_has_a_type_under_every_policy(compiled, rules, data):
    graph, columns = data.draw(compiled)
    for row_type, count in ((TensorPrecision, len(graph.tensors)), (OperatorPrecision, len(graph.operators))):
        table = columns[row_type]
        # Counters, so that a graph without operators compares equal to its zeros.
        assert Counter(table["policy"]) == Counter(dict.fromkeys(rules.policies, count))
        assert set(table["precision"]) <= set(rules.bits)
    casts = columns[PrecisionCast]
    types = dict(
        zip(
            zip(columns[TensorPrecision]["policy"], columns[TensorPrecision]["tensor_id"], strict=True),
            columns[TensorPrecision]["precision"],
            strict=True,
        )
    )
    for policy, tensor, before, after in zip(
        casts["policy"], casts["tensor_id"], casts["from_precision"], casts["to_precision"], strict=True
    ):
        assert types[policy, tensor] == before != after
