"""Splits of small networks over several devices, as engines do it, computed by hand."""

from __future__ import annotations

import pytest

from charz.ingest.compile.rules import Rules
from charz.ingest.compile.sharding import Kept, Split, Splits, splits
from charz.ingest.graph import Graph, GraphModule, GraphOperator, GraphTensor


class Net:
    """A graph listed operator by operator; a value is the number of its tensor."""

    def __init__(self, hidden: int) -> None:
        self.graph = Graph(modules=[GraphModule(0, None, "layers.0", "Layer", 0)])
        self.hidden = self._tensor(f"[B, S, {hidden}]", "activation")

    def _tensor(self, shape: str, role: str) -> int:
        number = len(self.graph.tensors)
        self.graph.tensors.append(GraphTensor(number, f"t{number}", None, role, "fp32", shape, {}, number))
        return number

    def weight(self, *shape: int) -> int:
        return self._tensor(f"[{', '.join(map(str, shape))}]", "weight")

    def module(self, path: str, kind: str) -> int:
        number = len(self.graph.modules)
        self.graph.modules.append(GraphModule(number, 0, path, kind, 1))
        return number

    def add(
        self, name: str, kind: str, reads: list[int], shape: str, module: int = 0, is_view: bool = False, role: str = "activation"
    ) -> int:  # fmt: skip
        made = self._tensor(shape, role)
        operator = GraphOperator(len(self.graph.operators), name, name, kind, module, None, reads, [made], is_view=is_view)
        self.graph.tensors[made].producer_operator_id = operator.operator_id
        self.graph.operators.append(operator)
        return made

    def linear(self, value: int, read: int, made: int, shape: str | None = None, module: int = 0) -> int:
        return self.add("aten.linear.default", "linear", [value, self.weight(made, read)], shape or f"[B, S, {made}]", module)

    def view(self, value: int, shape: str) -> int:
        return self.add("aten.view.default", "view", [value], shape, is_view=True)

    def norm(self, value: int, width: int) -> int:
        """Scale all features by the mean of their squares."""
        module = self.module("layers.0.norm", "RMSNorm")
        square = self.add("aten.pow.Tensor_Scalar", "elementwise", [value], f"[B, S, {width}]", module)
        mean = self.add("aten.mean.dim", "reduction", [square], "[B, S, 1]", module)
        root = self.add("aten.rsqrt.default", "elementwise", [mean], "[B, S, 1]", module)
        scaled = self.add("aten.mul.Tensor", "elementwise", [value, root], f"[B, S, {width}]", module)
        return self.add("aten.mul.Tensor", "elementwise", [self.weight(width), scaled], f"[B, S, {width}]", module)

    def cache(self, value: int, heads: int, width: int) -> int:
        of_heads = self.view(value, f"[B, {heads}, S, {width}]")
        return self.add(
            "charz.kv_cache.default", "view", [of_heads], f"[B, {heads}, C, {width}]", is_view=True, role="kv_cache"
        )

    def attend(self, query: int, key: int, value: int, heads: int, width: int) -> int:
        of_heads = self.view(query, f"[B, {heads}, S, {width}]")
        name = "aten.scaled_dot_product_attention.default"
        mixed = self.add(name, "attention", [of_heads, key, value], f"[B, {heads}, S, {width}]")
        return self.view(mixed, f"[B, S, {heads * width}]")

    def add_up(self, first: int, second: int, width: int) -> int:
        return self.add("aten.add.Tensor", "elementwise", [first, second], f"[B, S, {width}]")


def found(net: Net, rules: Rules) -> tuple[dict[int, Split], Splits]:
    """Return the splits by the tensor that an operator writes, and all of them."""
    made = splits(net.graph, rules.classes)
    return {net.graph.operators[s.operator_id].writes[0]: s for s in made.operators}, made


def sent(made: Splits) -> list[tuple[str, int | None]]:
    return [(s.collective, s.collective_tensor_id) for s in made.operators if s.collective]


@pytest.fixture
def latent() -> tuple[Net, dict[str, int]]:
    """Attention over latents as servers run it: 16 heads, latents of 64 with a key of 16 that all heads share."""
    net = Net(512)
    at: dict[str, int] = {"query_a": net.linear(net.hidden, 512, 96), "key_a": net.linear(net.hidden, 512, 80)}
    at["query_b"] = net.linear(net.norm(at["query_a"], 96), 96, 16 * 32)
    rows = net.view(at["query_b"], "[16, B*S, 32]")
    at["absorb"] = net.add("aten.bmm.default", "matmul", [rows, net.weight(16, 32, 64)], "[16, B*S, 64]")
    low = net.add("aten.slice.Tensor", "view", [at["key_a"]], "[B, S, 64]", is_view=True)
    at["key"] = net.add("aten.slice.Tensor", "view", [at["key_a"]], "[B, S, 16]", is_view=True)
    at["turned"] = net.add("aten.mul.Tensor", "elementwise", [at["key"]], "[B, S, 16]")
    kept, turned = net.cache(net.norm(low, 64), 1, 64), net.cache(at["turned"], 1, 16)
    query = net.view(at["absorb"], "[B, 16, S, 64]")
    at["core"] = net.add("charz.latent_attention.default", "attention", [query, kept, turned], "[B, 16, S, 64]")
    mixed = net.view(at["core"], "[16, B*S, 64]")
    at["expand"] = net.add("aten.bmm.default", "matmul", [mixed, net.weight(16, 64, 32)], "[16, B*S, 32]")
    at["out"] = net.linear(net.view(at["expand"], "[B, S, 512]"), 512, 512)
    net.add_up(net.hidden, at["out"], 512)
    return net, at


def test_latent_attention_sends_once(latent: tuple[Net, dict[str, int]], rules: Rules) -> None:
    """Every device computes the products to latents and has all latents, and the products of each head send nothing."""
    net, at = latent
    of, made = found(net, rules)
    assert sent(made) == [("all_reduce", at["out"])]
    for name in ("query_a", "key_a", "turned"):
        assert at[name] not in of
    assert {name: of[at[name]].split for name in ("query_b", "absorb", "core", "expand", "out")} == {
        "query_b": "column", "absorb": "column", "core": "between", "expand": "column", "out": "row",
    }  # fmt: skip
    assert all(of[at[name]].pieces == 16 for name in ("query_b", "absorb", "core", "expand", "out"))
    assert of[at["core"]].fewer_pieces == 1
    assert made.caches == []


def test_heads_of_keys_are_whole(rules: Rules) -> None:
    """Eight heads of queries, two of keys."""
    net = Net(256)
    query, key, value = (net.linear(net.hidden, 256, width) for width in (256, 64, 64))
    keys, values = net.cache(key, 2, 32), net.cache(value, 2, 32)
    mixed = net.attend(query, keys, values, 8, 32)
    out = net.linear(mixed, 256, 256)
    of, made = found(net, rules)
    assert [(of[t].split, of[t].pieces) for t in (query, key, value, out)] == [
        ("column", 8), ("column", 2), ("column", 2), ("row", 8),
    ]  # fmt: skip
    core = next(s for s in made.operators if net.graph.operators[s.operator_id].operator_class == "attention")
    assert (core.pieces, core.fewer_pieces) == (8, 2)
    assert made.caches == [Kept(keys, 2), Kept(values, 2)]


def test_one_product_for_queries_and_a_head_of_keys(rules: Rules) -> None:
    """Two ninths of the features of 7 + 2 heads are keys and values of one head."""
    net = Net(256)
    packed = net.linear(net.hidden, 256, 9 * 32)
    query, key, value = (
        net.add("aten.slice.Tensor", "view", [packed], f"[B, S, {width}]", is_view=True) for width in (224, 32, 32)
    )
    net.attend(query, net.cache(key, 1, 32), net.cache(value, 1, 32), 7, 32)
    of, made = found(net, rules)
    assert (of[packed].pieces, of[packed].fewer_pieces) == (7, 1)
    assert of[packed].fewer_fraction == pytest.approx(2 / 9)
    assert made.caches == []


def test_one_head_is_on_every_device(rules: Rules) -> None:
    """The attention is not divided into heads; the next product is split again and needs no sum."""
    net = Net(256)
    query, key, value = (net.linear(net.hidden, 256, 256) for _ in range(3))
    scores = net.add("aten.bmm.default", "matmul", [query, key], "[B, S, S]")
    mixed = net.add("aten.bmm.default", "matmul", [scores, value], "[B, S, 256]")
    out = net.linear(mixed, 256, 256)
    of, made = found(net, rules)
    assert (list(of), of[out].split, sent(made), made.caches) == ([out], "column", [], [])


def test_what_normalizes_all_heads_collects_them(rules: Rules) -> None:
    """Queries and keys as wide as the hidden state, normalized before they are divided into heads (OLMo-2)."""
    net = Net(256)
    query, key, value = (net.linear(net.hidden, 256, 256) for _ in range(3))
    keys, values = net.cache(net.norm(key, 256), 8, 32), net.cache(value, 8, 32)
    out = net.linear(net.attend(net.norm(query, 256), keys, values, 8, 32), 256, 256)
    net.add_up(net.hidden, out, 256)
    _, made = found(net, rules)
    assert sent(made) == [("all_gather", query), ("all_gather", key), ("all_reduce", out)]
    assert made.caches == [Kept(keys, 8), Kept(values, 8)]


def mixture(net: Net, is_shared: bool) -> int:
    """Build two of eight experts a token, scaled and added, and one for all tokens."""
    experts = net.module("layers.0.mlp.experts", "Experts")
    rows = net.add("aten.index.Tensor", "gather", [net.hidden], "[2*B*S, 256]", experts)
    up = net.add("charz.grouped_mm.default", "matmul", [rows, net.weight(8, 256, 64)], "[2*B*S, 64]", experts)
    down = net.add("charz.grouped_mm.default", "matmul", [up, net.weight(8, 64, 256)], "[2*B*S, 256]", experts)
    chosen = net.add("aten.rand.default", "create", [], "[2*B*S, 1]", experts)
    scaled = net.add("aten.mul.Tensor", "elementwise", [down, chosen], "[2*B*S, 256]", experts)
    summed = net.add("aten.sum.dim_IntList", "reduction", [net.view(scaled, "[B*S, 2, 256]")], "[B*S, 256]", experts)
    result = net.view(summed, "[B, S, 256]")
    if not is_shared:
        return summed
    shared = net.module("layers.0.mlp.shared_experts", "Mlp")
    common = net.linear(net.linear(net.hidden, 256, 64, module=shared), 64, 256, module=shared)
    return net.add_up(result, common, 256)


@pytest.mark.parametrize("is_shared", [False, True])
def test_experts_are_added_up_once(rules: Rules, is_shared: bool) -> None:
    """The sum is after that over a token's experts and the shared one: it sends the token's features, not those of every choice."""
    net = Net(256)
    last = mixture(net, is_shared)
    net.add_up(net.hidden, net.view(last, "[B, S, 256]"), 256)
    _, made = found(net, rules)
    assert sent(made) == [("all_reduce", last)]
    assert {s.expert_count for s in made.operators if s.is_expert and s.split in ("column", "row")} == {8}


@pytest.mark.parametrize(
    ("name", "is_linear"),
    [("aten.mul.Tensor", True), ("aten.div.Tensor", True), ("aten.silu.default", False), ("aten.pow.Tensor_Scalar", False)],
)
def test_partial_results_go_through_what_is_linear(rules: Rules, name: str, is_linear: bool) -> None:
    """A square of a sum is not a sum of squares, and a product of a value with itself is not linear."""
    net = Net(256)
    out = net.linear(net.linear(net.hidden, 256, 64), 64, 256)
    scaled = net.add(name, "elementwise", [out], "[B, S, 256]")
    net.add_up(net.hidden, scaled, 256)
    _, made = found(net, rules)
    assert sent(made) == [("all_reduce", scaled if is_linear else out)]


def test_a_value_times_itself(rules: Rules) -> None:
    net = Net(256)
    out = net.linear(net.linear(net.hidden, 256, 64), 64, 256)
    net.add("aten.mul.Tensor", "elementwise", [out, out], "[B, S, 256]")
    _, made = found(net, rules)
    assert sent(made) == [("all_reduce", out)]


def test_what_is_joined_to_a_whole_value(rules: Rules) -> None:
    """The partial value is added first."""
    net = Net(256)
    out = net.linear(net.linear(net.hidden, 256, 64), 64, 256)
    joined = net.add("aten.cat.default", "copy", [out, net.hidden], "[B, S, 512]")
    net.add_up(joined, joined, 512)
    _, made = found(net, rules)
    assert sent(made) == [("all_reduce", out)]


def test_a_constant_is_added_once(rules: Rules) -> None:
    """Otherwise each device would add it."""
    net = Net(256)
    out = net.linear(net.linear(net.hidden, 256, 64), 64, 256)
    net.add("aten.add.Scalar", "elementwise", [out], "[B, S, 256]")
    _, made = found(net, rules)
    assert sent(made) == [("all_reduce", out)]


def test_attention_and_mlp_side_by_side(rules: Rules) -> None:
    """Engines add both separately, after their last products."""
    net = Net(256)
    query, key, value = (net.linear(net.hidden, 256, 256) for _ in range(3))
    mixed = net.attend(query, net.cache(key, 8, 32), net.cache(value, 8, 32), 8, 32)
    attended, passed = net.linear(mixed, 256, 256), net.linear(net.linear(net.hidden, 256, 64), 64, 256)
    net.add_up(net.hidden, net.add_up(attended, passed, 256), 256)
    _, made = found(net, rules)
    assert sent(made) == [("all_reduce", attended), ("all_reduce", passed)]


def test_a_router_is_on_every_device(rules: Rules) -> None:
    """Its scores pass through a sigmoid, are chosen from and gathered (DeepSeek-V3)."""
    net = Net(256)
    scores = net.add("aten.sigmoid.default", "activation", [net.linear(net.hidden, 256, 8)], "[B, S, 8]")
    choice = net.add("aten.topk.default", "sort", [scores], "[B, S, 2]")
    net.add("aten.gather.default", "gather", [scores, choice], "[B, S, 2]")
    assert splits(net.graph, rules.classes).operators == []
