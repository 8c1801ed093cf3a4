"""Element types under the policies that ship with charz."""

from __future__ import annotations

import pytest
import torch

from charz.ingest.compile.dataflow import flow_of
from charz.ingest.compile.precision import Types, propagate
from charz.ingest.compile.rules import Rules
from charz.ingest.graph import Graph
from charz.ingest.trace.export import Request, trace
from charz.ingest.trace.lower import lower


def types_of(graph: Graph, rules: Rules, policy: str) -> Types:
    return propagate(flow_of(graph, rules.classes), rules.policies[policy], rules)


@pytest.fixture
def block(make):
    """A norm, linear, activation and residual sum: half a transformer block."""
    b = make()
    x = b.input(64)
    normed = b.op("norm", x, b.weight(8, "[8]"), aten_operator="aten.layer_norm.default")
    product = b.op("linear", normed, b.weight(64), b.weight(8, "[8]"), macs=512)
    active = b.op("activation", product, aten_operator="aten.gelu.default")
    total = b.op("elementwise", x, active, aten_operator="aten.add.Tensor")
    return b.output(total)


X, SCALE, NORMED, WEIGHT, BIAS, PRODUCT, ACTIVE, TOTAL = range(8)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("fp32", ["fp32"] * 8),
        ("tf32", ["fp32"] * 8),
        ("fp16", ["fp16"] * 8),
        ("bf16", ["bf16"] * 8),
        ("amp-bf16", ["fp32", "fp32", "fp32", "fp32", "fp32", "bf16", "bf16", "fp32"]),
        ("amp-fp16", ["fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp16", "fp32"]),
        ("int8", ["fp16", "fp16", "fp16", "int8", "fp16", "fp16", "fp16", "fp16"]),
        ("fp8", ["bf16", "bf16", "bf16", "fp8_e4m3", "bf16", "bf16", "bf16", "bf16"]),
        ("w8a16", ["fp16", "fp16", "fp16", "int8", "fp16", "fp16", "fp16", "fp16"]),
        ("w4a16", ["fp16", "fp16", "fp16", "int4_g128", "fp16", "fp16", "fp16", "fp16"]),
        ("sparse-fp16", ["fp16", "fp16", "fp16", "fp16_2of4", "fp16", "fp16", "fp16", "fp16"]),
    ],
)
def test_types_in_memory(block, rules, policy, expected):
    assert types_of(block, rules, policy).tensor == expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("tf32", ["fp32", "tf32", "fp32", "fp32"]),
        ("amp-bf16", ["fp32", "bf16", "bf16", "fp32"]),
        ("int8", ["fp16", "int8", "fp16", "fp16"]),
        ("w4a16", ["fp16", "fp16", "fp16", "fp16"]),
        ("sparse-bf16", ["bf16", "bf16_sparse", "bf16", "bf16"]),
    ],
)
def test_types_of_arithmetic(block, rules, policy, expected):
    assert types_of(block, rules, policy).operator == expected


def casts(types: Types) -> list[tuple[int, int, str, str]]:
    return [(c.tensor_id, c.operator_id, c.from_precision, c.to_precision) for c in types.casts]


def test_autocast_converts_operands_and_weights_before_the_product(block, rules):
    types = types_of(block, rules, "amp-bf16")
    expected = [(NORMED, 1, "fp32", "bf16"), (WEIGHT, 1, "fp32", "bf16"), (BIAS, 1, "fp32", "bf16")]
    assert casts(types) == expected
    assert types.reads == [(1, NORMED, "bf16"), (1, WEIGHT, "bf16"), (1, BIAS, "bf16")]


@pytest.mark.parametrize("policy", ["fp32", "tf32", "fp16", "bf16", "w8a16", "w4a16"])
def test_pure_and_weight_only_policies_convert_nothing(block, rules, policy):
    types = types_of(block, rules, policy)
    assert (types.casts, types.reads) == ([], [])


def test_quantized_products_convert_the_activation_alone(block, rules):
    assert casts(types_of(block, rules, "int8")) == [(NORMED, 1, "fp16", "int8")]


def test_a_weight_is_converted_once_an_activation_at_every_read(make, rules):
    b = make()
    x, w = b.input(64), b.weight(64)
    first, second = b.op("linear", x, w, macs=8), b.op("linear", x, w, macs=8)
    types = types_of(b.output(first, second), rules, "amp-bf16")
    assert [c[:2] for c in casts(types)] == [(x, 0), (w, 0), (x, 1)]
    assert [r[:2] for r in types.reads] == [(0, x), (0, w), (1, x), (1, w)]


def test_autocast_widens_a_softmax_and_a_sum_within_their_kernels(make, rules):
    b = make()
    scores = b.op("matmul", b.input(64), b.input(64), macs=8)
    probabilities = b.op("softmax", scores)
    mean = b.op("reduction", scores, elements=8, aten_operator="aten.mean.dim")
    total = b.op("reduction", scores, elements=8, aten_operator="aten.sum.dim_IntList")
    types = types_of(b.output(probabilities, mean, total), rules, "amp-fp16")
    assert [types.tensor[t] for t in (scores, probabilities, mean, total)] == ["fp16", "fp32", "fp16", "fp32"]
    assert [c[:2] for c in casts(types)][2:] == []


def test_a_module_of_its_own_rule_stays_narrow_under_autocast(make, rules):
    b = make()
    product = b.op("conv", b.input(64), b.weight(64), macs=8)
    normed = b.op("norm", product, b.weight(8), aten_operator="aten.group_norm.default")
    graph = b.output(normed)
    assert types_of(graph, rules, "amp-fp16").tensor[normed] == "fp32"
    graph.modules[0].class_name = "GroupNormAct"
    assert types_of(graph, rules, "amp-fp16").tensor[normed] == "fp16"


def test_cpu_autocast_lets_normalization_follow_its_input(make, rules):
    b = make()
    product = b.op("linear", b.input(64), b.weight(64), macs=8)
    normed = b.op("norm", product, b.weight(8), aten_operator="aten.layer_norm.default")
    graph = b.output(normed)
    assert types_of(graph, rules, "amp-bf16-cpu").tensor[normed] == "bf16"
    assert types_of(graph, rules, "amp-bf16").tensor[normed] == "fp32"


def test_concatenation_is_of_its_widest_operand(make, rules):
    b = make()
    x = b.input(64)
    product = b.op("conv", x, b.weight(9), macs=8)
    joined = b.op("copy", product, x, elements=128, aten_operator="aten.cat.default")
    graph = b.output(joined)
    assert types_of(graph, rules, "amp-bf16").tensor[joined] == "fp32"
    assert (product, 1, "bf16", "fp32") in casts(types_of(graph, rules, "amp-bf16-cpu"))


def test_a_scalar_tensor_does_not_promote(make, rules):
    b = make()
    product = b.op("linear", b.input(64), b.weight(64), macs=8)
    scaled = b.op("elementwise", product, b.weight(1, "[]"))
    assert types_of(b.output(scaled), rules, "amp-bf16").tensor[scaled] == "bf16"


def test_in_place_writes_what_the_destination_holds(make, rules):
    b = make()
    x = b.input(64)
    product = b.op("linear", x, b.weight(64), macs=8)
    total = b.op("elementwise", product, x, inplace=True)
    assert types_of(b.output(total), rules, "amp-bf16").tensor[total] == "bf16"


@pytest.mark.parametrize("policy", ["fp32", "fp16", "amp-bf16", "int8", "w4a16"])
def test_integers_and_booleans_stay(make, rules, policy):
    b = make()
    ids = b.input(16, "int64")
    mask = b.op("elementwise", ids, precision="bool", aten_operator="aten.gt.Scalar")
    best = b.op("reduction", b.input(64), elements=1, precision="int64", aten_operator="aten.argmax.default")
    shown = b.op("view", mask, precision="bool")
    types = types_of(b.output(mask, best, shown), rules, policy)
    assert [types.tensor[t] for t in (ids, mask, best, shown)] == ["int64", "bool", "int64", "bool"]


def test_real_numbers_made_from_integers_take_the_type_of_the_policy(make, rules):
    b = make()
    positions = b.op("create", elements=16, precision="int64")
    angles = b.op("cast", positions)
    made = b.op("create", elements=16)
    graph = b.output(angles, made)
    for policy, expected in [("fp16", "fp16"), ("amp-fp16", "fp32")]:
        types = types_of(graph, rules, policy)
        assert [types.tensor[t] for t in (angles, made)] == [expected] * 2


def test_a_tied_weight_is_stored_as_its_widest_reader_asks(make, rules):
    b = make()
    table = b.weight(640)
    embedded = b.op("embedding", table, b.input(4, "int64"), elements=64)
    logits = b.op("linear", embedded, table, elements=40, macs=640)
    assert types_of(b.output(logits), rules, "w4a16").tensor[table] == "fp16"


def test_a_weight_seen_through_a_view_is_stored_as_its_reader_asks(make, rules):
    b = make()
    w = b.weight(64)
    shown = b.op("view", w)
    graph = b.output(b.op("linear", b.input(64), shown, macs=8))
    types = types_of(graph, rules, "w8a16")
    assert [types.tensor[t] for t in (w, shown)] == ["int8", "int8"]
    assert types.casts == []


def test_integer_quantization_survives_activations_and_sums(make, rules):
    b = make()
    x = b.input(64)
    first = b.op("conv", x, b.weight(9), macs=8)
    second = b.op("conv", b.op("activation", first), b.weight(9), macs=8)
    total = b.op("elementwise", first, second)
    types = types_of(b.output(total), rules, "int8")
    assert {types.tensor[t] for t in (first, second, total)} == {"int8"}
    assert [c[:2] for c in casts(types)] == [(x, 0)]


def test_a_region_that_the_model_makes_narrow_stays_so_under_wider_policies(make, rules):
    """Casts to bf16, a product and a cast back, traced from a forward with its own autocast."""
    b = make()
    x, w = b.input(64), b.weight(64)
    narrow_x, narrow_w = (b.op("cast", t, precision="bf16") for t in (x, w))
    product = b.op("linear", narrow_x, narrow_w, precision="bf16", macs=512)
    wide = b.op("cast", product)
    graph = b.output(b.op("elementwise", wide, x, aten_operator="aten.add.Tensor"))
    found = types_of(graph, rules, "fp32")
    assert [found.tensor[t] for t in (narrow_x, narrow_w, product, wide)] == ["bf16", "bf16", "bf16", "fp32"]
    assert found.operator == ["fp32", "fp32", "bf16", "fp32", "fp32"]
    assert found.casts == []
    assert types_of(graph, rules, "bf16").tensor == ["bf16"] * len(graph.tensors)


class Windowed(torch.nn.Module):
    """Attention within windows: operands of five dimensions, which no fused kernel takes."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(2, 3).reshape(-1, 4, 9, 16)


@pytest.fixture(scope="module")
def windowed():
    tensors = {name: torch.empty(2, 2, 4, 9, 8, device="meta") for name in "qkv"}
    traced = trace(Request("w", "w", Windowed(), (), tensors, {name: {0: (1, 0, 0)} for name in "qkv"}))
    return lower(traced, "Windowed")


def kernels_of(graph: Graph, types: Types) -> list[tuple[str, str]]:
    """Return ATen operator and arithmetic type of each kernel."""
    of = types.operator
    return [
        (o.aten_operator.split(".")[1], of[o.operator_id])
        for o in graph.operators
        if not o.is_view and of[o.operator_id]
    ]


def test_the_math_path_of_attention_widens_halves_and_returns_them_as_they_came(windowed, rules):
    types = types_of(windowed, rules, "fp16")
    assert kernels_of(windowed, types) == [
        ("mul", "fp32"), ("mul", "fp32"), ("matmul", "fp32"), ("softmax", "fp32"), ("eq", "fp32"), ("all", "bool"),
        ("where", "fp32"), ("matmul", "fp32"), ("reshape", "fp16"),
    ]  # fmt: skip
    converted = [(c.from_precision, c.to_precision) for c in types.casts]
    assert converted == [("fp16", "fp32")] * 3 + [("fp32", "fp16")]


def test_autocast_wraps_attention_as_a_whole(windowed, rules):
    types = types_of(windowed, rules, "amp-fp16")
    # Each operand comes in fp32, autocast halves it, and the math path widens it again; the result is halved.
    converted = [(c.from_precision, c.to_precision) for c in types.casts]
    assert converted == [("fp32", "fp16"), ("fp16", "fp32")] * 3 + [("fp32", "fp16")]
    assert types.tensor[windowed.operators[-1].writes[0]] == "fp16"


def test_before_2_5_the_math_path_stays_in_half_and_its_softmax_is_one_kernel(windowed, rules):
    types = types_of(windowed, rules, "amp-fp16@2.4")
    names = ["mul", "mul", "matmul", "softmax", "matmul", "reshape"]
    assert kernels_of(windowed, types) == [(name, "fp16") for name in names]
    assert [(c.from_precision, c.to_precision) for c in types.casts] == [("fp32", "fp16")] * 3
    absent = [o for o in windowed.operators if not o.is_view and not types.operator[o.operator_id]]
    assert [types.tensor[o.writes[0]] for o in absent] == ["bool", "bool", "fp16"]


def test_attention_in_full_precision_converts_nothing(windowed, rules):
    assert types_of(windowed, rules, "fp32").casts == types_of(windowed, rules, "tf32").casts == []
