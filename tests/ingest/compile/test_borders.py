"""Tensors that cross the border of each kernel, computed by hand."""

from __future__ import annotations

from charz.ingest.compile.borders import borders
from charz.ingest.compile.dataflow import flow_of
from charz.ingest.compile.fusion import partition
from charz.ingest.compile.rules import Rules
from charz.ingest.graph import Graph

Crossing = tuple[int, int, str, str, bool]


def crossings(graph: Graph, rules: Rules, backend: str = "eager") -> list[Crossing]:
    """Return kernel, tensor, direction, role and if an earlier kernel made it."""
    folds = rules.folds_norm[backend]
    flow = flow_of(graph, rules.classes, folds)
    border = borders(flow, partition(flow, backend, rules.fusion[backend], folds), set())
    return list(zip(border.kernel, border.tensor, border.direction, border.role, border.is_produced, strict=True))


def test_eager_reads_and_writes_everything(make, rules):
    b = make()
    x, w = b.input(64), b.weight(64)
    h = b.op("linear", x, w, macs=512)
    y = b.op("activation", h)
    assert crossings(b.output(y), rules) == [
        (0, x, "read", "input", False),
        (0, w, "read", "weight", False),
        (0, h, "write", "output", False),
        (1, h, "read", "input", True),
        (1, y, "write", "output", False),
    ]


def test_what_stays_inside_does_not_cross(make, rules):
    b = make()
    x, w, scale = b.input(64), b.weight(64), b.weight(8)
    h = b.op("conv", x, w, macs=512)
    y = b.op("activation", b.op("batch_norm", h, scale))
    assert crossings(b.output(y), rules, "tensorrt") == [
        (0, x, "read", "input", False),
        (0, w, "read", "weight", False),
        (0, y, "write", "output", False),
    ]


def test_a_result_read_inside_and_outside_is_written_once(make, rules):
    b = make()
    x = b.input(64)
    total = b.op("elementwise", x, x)
    normed = b.op("norm", total)
    graph = b.output(b.op("pooling", total, elements=16), normed)
    found = crossings(graph, rules, "inductor")
    assert [c[:3] for c in found if c[0] == 0] == [(0, x, "read"), (0, total, "write"), (0, normed, "write")]


def test_slices_of_one_storage_count_as_what_they_show(make, rules):
    b = make()
    packed = b.op("linear", b.input(64), b.weight(64), elements=192, macs=512)
    q, k, v = (b.op("view", packed, elements=64) for _ in range(3))
    graph = b.output(b.op("attention", q, k, v, elements=64, macs=640))
    assert [c[1] for c in crossings(graph, rules) if c[0] == 1 and c[2] == "read"] == [q, k, v]


def test_two_views_of_the_same_elements_count_once(make, rules):
    b = make()
    x = b.input(64)
    h = b.op("activation", x)
    graph = b.output(b.op("elementwise", h, b.op("view", h)))
    assert [c[1] for c in crossings(graph, rules) if c[0] == 1 and c[2] == "read"] == [h]


def test_a_written_tensor_is_the_one_made_not_the_view_read(make, rules):
    b = make()
    h = b.op("activation", b.input(64))
    seen = b.op("view", h)
    graph = b.output(b.op("view", b.op("activation", seen)))
    found = crossings(graph, rules)
    assert (0, h, "write", "output", False) in found
    assert (1, seen, "read", "input", True) in found
    assert [c[2] for c in found if c[0] == 1] == ["read", "write"]


def test_a_weight_through_a_view_is_a_weight(make, rules):
    b = make()
    shown = b.op("view", b.weight(64))
    graph = b.output(b.op("linear", b.input(64), shown, macs=512))
    assert (0, shown, "read", "weight", False) in crossings(graph, rules)


def test_a_cache_is_read_as_one_and_its_new_part_is_written(make, rules):
    b = make()
    x = b.input(64)
    key = b.op("linear", x, b.weight(64), macs=512)
    cached = b.op("view", key, role="kv_cache", elements=640)
    graph = b.output(b.op("attention", x, b.op("view", cached), macs=640))
    found = crossings(graph, rules, "kpu")
    assert (0, key, "write", "output", False) in found
    assert [(c[0], c[2], c[4]) for c in found if c[3] == "kv_cache"] == [(1, "read", False)]


def test_in_place_inside_a_kernel_is_written_once(make, rules):
    b = make()
    h = b.op("conv", b.input(64), b.weight(9), macs=576)
    y = b.op("activation", h, inplace=True)
    z = b.op("pooling", y, elements=16)
    found = crossings(b.output(z), rules, "tensorrt")
    assert [c[1] for c in found if c[2] == "write"] == [y, z]


def test_a_reader_through_the_old_name_makes_an_in_place_result_cross(make, rules):
    b = make()
    x = b.input(64)
    h = b.op("activation", x)
    scaled = b.op("elementwise", h, inplace=True)
    y = b.op("pooling", h, elements=16)  # reads `h`, which now contains the values of `scaled`
    found = crossings(b.output(y), rules, "inductor")
    assert [c[1] for c in found if c[2] == "write"] == [scaled, y]
    assert (1, h, "read", "input", True) in found


def test_what_nobody_reads_is_still_written(make, rules):
    b = make()
    x = b.input(64)
    b.op("activation", x)
    graph = b.output(b.op("pooling", x, elements=16))
    assert sum(c[2] == "write" for c in crossings(graph, rules)) == 2


def test_writing_into_an_input_crosses(make, rules):
    b = make()
    state = b.input(64)
    new = b.op("copy", state, b.input(64), inplace=True)
    graph = b.output(b.op("activation", b.input(4)))
    assert (0, new, "write", "output", False) in crossings(graph, rules)


def test_constants_are_read_as_weights(make, rules):
    b = make()
    bias = b.op("gather", b.weight(64), b.tensor(16, "buffer", "int64"), elements=16)
    graph = b.output(b.op("elementwise", b.input(16), bias))
    assert (0, bias, "read", "weight", False) in crossings(graph, rules, "tensorrt")


def test_a_tensor_read_only_to_wait_for_its_writer_does_not_cross(make, rules):
    b = make()
    x = b.input(64)
    h = b.op("activation", x)
    written = b.op("elementwise", h, inplace=True)
    y = b.op("pooling", h, written, elements=16)
    b.graph.operators[-1].accesses[written] = {(0, 0, 0): 0.0}
    found = crossings(b.output(y), rules)
    assert [c[1] for c in found if c[0] == 2 and c[2] == "read"] == [h]
