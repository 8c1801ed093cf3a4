"""Kernels of small networks under each backend, computed by hand."""

from __future__ import annotations

from typing import Any

import pytest

from charz.ingest.compile import compile_graph, name_of
from charz.ingest.compile.dataflow import flow_of
from charz.ingest.compile.fusion import Partition, partition
from charz.ingest.compile.rules import Rules
from charz.ingest.graph import Graph
from charz.schema.compiled import Kernel, KernelOperator, KernelTensor, PathSegment, TensorLifetime


def kernels(graph: Graph, rules: Rules, backend: str) -> list[str]:
    found = partition_of(graph, rules, backend)
    return [name_of([graph.operators[o].operator_class for o in inside]) for inside in found.members]


def partition_of(graph: Graph, rules: Rules, backend: str) -> Partition:
    folds = rules.folds_norm[backend]
    return partition(flow_of(graph, rules.classes, folds), backend, rules.fusion[backend], folds)


@pytest.fixture(scope="module")
def residual(make):
    """Two convolutions with batch norm, the sum with the input, an activation."""
    b = make()
    x = b.input(100)
    h = x
    for i in range(2):
        h = b.op("conv", h, b.weight(9), macs=900)
        h = b.op("batch_norm", h, b.weight(1), b.weight(1))
        if i == 0:
            h = b.op("activation", h, inplace=True)
    h = b.op("elementwise", h, x)
    return b.output(b.op("activation", h, inplace=True))


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        ("eager", ["conv", "batch_norm", "activation", "conv", "batch_norm", "elementwise", "activation"]),
        ("inductor", ["conv", "batch_norm+activation", "conv", "batch_norm+elementwise+activation"]),
        ("tensorrt", ["conv+batch_norm+activation", "conv+batch_norm+elementwise+activation"]),
        ("onnxruntime", ["conv+batch_norm+activation", "conv+batch_norm+elementwise+activation"]),
        ("openvino", ["conv+batch_norm+activation", "conv+batch_norm+elementwise+activation"]),
        ("xla", ["conv+batch_norm+activation", "conv+batch_norm+elementwise+activation"]),
        ("kpu", ["conv+batch_norm+activation+...+activation (7 operators)"]),
    ],
)
def test_residual_block(residual, rules, backend, expected):
    assert kernels(residual, rules, backend) == expected


@pytest.mark.parametrize("backend", ["tensorrt", "onnxruntime", "openvino", "xla", "kpu"])
def test_an_unfused_counterpart_has_a_kernel_an_operator(residual, rules, backend):
    """Batch normalization is a kernel there too; the rows equal those of a separate compilation."""
    name = f"{backend}_unfused"
    expected = ["conv", "batch_norm", "activation", "conv", "batch_norm", "elementwise", "activation"]
    assert kernels(residual, rules, name) == expected
    assert partition_of(residual, rules, name).folded == set()
    compiled = compile_graph(residual, rules)
    for row_type in (Kernel, KernelOperator, KernelTensor, PathSegment, TensorLifetime):
        assert rows_of(compiled[row_type], name) == rows_of(compiled[row_type], "tensorrt_unfused") != []


def rows_of(table: dict[str, list[Any]], backend: str) -> list[tuple[Any, ...]]:
    """Return the rows of a backend, without its name."""
    names = [name for name in table if name != "backend"]
    return [row[1:] for row in zip(table["backend"], *(table[n] for n in names), strict=True) if row[0] == backend]


def test_batch_norm_folds_only_where_weights_are_constants(residual, rules):
    norms = {1, 4}
    for backend, folds in rules.folds_norm.items():
        assert partition_of(residual, rules, backend).folded == (norms if folds else set())


def test_batch_norm_does_not_fold_when_another_reads_the_product(make, rules):
    b = make()
    product = b.op("conv", b.input(100), b.weight(9), macs=900)
    norm = b.op("batch_norm", product, b.weight(1))
    found = partition_of(b.output(norm, b.op("pooling", product, elements=25)), rules, "tensorrt")
    assert found.folded == set()
    assert found.members == [[0], [1], [2]]


def test_normalization_joins_the_sum_before_it_though_others_read_the_sum(make, rules):
    b = make()
    x = b.input(64)
    total = b.op("elementwise", x, x)
    normed = b.op("norm", total, b.weight(8))
    branch = b.op("linear", normed, b.weight(64), macs=512)
    graph = b.output(b.op("elementwise", total, branch))
    assert kernels(graph, rules, "inductor") == ["elementwise+norm", "linear", "elementwise"]
    assert kernels(graph, rules, "tensorrt") == ["elementwise", "norm", "linear+elementwise"]


def test_no_kernel_waits_for_itself(make, rules):
    """The first and the last sum may not fuse: the product between them needs the one for the other."""
    b = make()
    x = b.input(64)
    first = b.op("elementwise", x, x)
    product = b.op("linear", first, b.weight(64), macs=512)
    last = b.op("elementwise", first, product)
    found = partition_of(b.output(last), rules, "inductor")
    assert found.members == [[0], [1], [2]]
    assert found.edges == [(0, 1), (0, 2), (1, 2)]
    assert found.stage == [0, 1, 2]


def test_two_branches_meet_in_one_kernel_only_without_products(make, rules):
    b = make()
    x = b.input(100)
    left = b.op("batch_norm", b.op("conv", x, b.weight(9), macs=900), b.weight(1))
    right = b.op("batch_norm", b.op("conv", x, b.weight(1), macs=100), b.weight(1))
    graph = b.output(b.op("elementwise", left, right))
    assert kernels(graph, rules, "inductor") == ["conv", "conv", "batch_norm*2+elementwise"]
    assert kernels(graph, rules, "tensorrt") == ["conv+batch_norm", "conv+batch_norm+elementwise"]


def test_a_gate_that_is_broadcast_is_no_epilogue_of_its_product(make, rules):
    b = make()
    x = b.input(100)
    gate = b.op("activation", b.op("conv", x, b.weight(9), elements=4, macs=36))
    graph = b.output(b.op("elementwise", x, gate))
    for backend in ("tensorrt", "openvino", "xla"):
        assert kernels(graph, rules, backend) == ["conv+activation", "elementwise"]
    assert kernels(graph, rules, "inductor") == ["conv", "activation+elementwise"]


def test_views_do_not_stand_between_kernels_and_cost_no_kernel(make, rules):
    b = make()
    h = b.op("linear", b.input(64), b.weight(64), macs=512)
    h = b.op("view", b.op("view", h))
    h = b.op("activation", h)
    found = partition_of(b.output(b.op("view", h)), rules, "tensorrt")
    assert found.members == [[0, 3]]
    assert found.views == [[1, 2, 4]]
    assert found.kernel_of == [0, 0, 0, 0, 0]


def test_unfused_attention_is_one_kernel_where_the_backend_knows_the_pattern(make, rules):
    b = make()
    q, k, v = b.input(64), b.input(64), b.input(64)
    scores = b.op("matmul", q, k, elements=256, macs=1024)
    scores = b.op("softmax", b.op("elementwise", scores))
    graph = b.output(b.op("matmul", scores, v, elements=64, macs=1024))
    assert kernels(graph, rules, "tensorrt") == ["matmul+elementwise+softmax+matmul"]
    assert kernels(graph, rules, "inductor") == ["matmul", "elementwise+softmax", "matmul"]


def test_a_cache_always_lies_between_kernels(make, rules):
    b = make()
    x = b.input(64)
    key = b.op("linear", x, b.weight(64), macs=512)
    cached = b.op("view", key, role="kv_cache", elements=640)
    b.output(b.op("attention", x, cached, macs=640))
    for backend in rules.folds_norm:
        assert partition_of(b.graph, rules, backend).count == 2


def test_inductor_reads_a_concatenation_in_place_only_where_it_makes_one_of_its_parts(make, rules):
    b = make()
    x = b.input(64)
    rotated = b.op("elementwise", x, elements=32)
    made = b.op("copy", rotated, x, elements=64, aten_operator="aten.cat.default")
    stored = b.op("copy", x, x, elements=128, aten_operator="aten.cat.default")
    graph = b.output(b.op("elementwise", made), b.op("elementwise", stored))
    assert kernels(graph, rules, "inductor") == ["elementwise+copy+elementwise", "copy", "elementwise"]


def test_a_sum_joins_no_pooling_to_the_normalization_that_the_pooling_reads(make, rules):
    """PoolFormer's block: the sum may follow either, but no loop contains both."""
    b = make()
    normed = b.op("norm", b.input(64), b.weight(8))
    graph = b.output(b.op("elementwise", b.op("pooling", normed), normed))
    assert kernels(graph, rules, "inductor") == ["norm", "pooling+elementwise"]


def test_the_anchor_is_the_largest_product(make, rules):
    b = make()
    h = b.op("conv", b.input(100), b.weight(1), macs=100)
    h = b.op("conv", h, b.weight(9), macs=900)
    found = partition_of(b.output(b.op("activation", h)), rules, "kpu")
    assert (found.members, found.anchor) == ([[0, 1, 2]], [1])


def test_a_reduction_is_the_anchor_of_a_kernel_without_product(make, rules):
    b = make()
    h = b.op("norm", b.op("elementwise", b.input(64)), b.weight(8))
    assert partition_of(b.output(h), rules, "inductor").anchor == [1]


def test_what_depends_on_weights_alone_is_computed_once(make, rules):
    b = make()
    table = b.op("gather", b.weight(64), b.tensor(16, "buffer", "int64"), elements=16)
    mask = b.op("create", elements=16)
    bias = b.op("elementwise", table, mask)
    graph = b.output(b.op("elementwise", b.input(16), bias))
    folding = partition_of(graph, rules, "tensorrt")
    assert folding.members == [[3]]
    assert folding.folded == {0, 1, 2}
    assert kernels(graph, rules, "eager") == ["gather", "create", "elementwise", "elementwise"]


def test_a_buffer_that_a_run_writes_into_is_no_constant(make, rules):
    b = make()
    buffer = b.op("create", elements=16)
    b.op("copy", buffer, b.input(16), inplace=True)
    graph = b.output(b.op("activation", buffer))
    assert partition_of(graph, rules, "tensorrt").folded == set()


def test_random_numbers_are_no_constant(make, rules):
    b = make()
    noise = b.op("create", elements=16, aten_operator="aten.rand.default")
    graph = b.output(b.op("elementwise", b.input(16), noise))
    assert partition_of(graph, rules, "tensorrt").folded == set()


def test_a_graph_of_views_has_no_kernel(make, rules):
    b = make()
    found = partition_of(b.output(b.op("view", b.input(4))), rules, "inductor")
    assert (found.count, found.kernel_of) == (0, [-1])


def test_names_count_repeats_and_stay_short():
    assert name_of(["conv"]) == "conv"
    assert name_of(["elementwise", "elementwise", "norm"]) == "elementwise*2+norm"
    assert name_of(["conv", "activation"] * 5) == "conv+activation+conv+...+activation (10 operators)"
