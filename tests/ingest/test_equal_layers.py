"""Layers that are traced once: every row equals that of the whole trace, and other lists of layers are traced whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from charz.ingest import pipeline
from charz.ingest.graph import Graph
from charz.ingest.rows import workload
from charz.ingest.sources import build, live
from charz.ingest.sources.spec import parse
from charz.ingest.trace.alike import NotAlikeError, find
from charz.ingest.trace.export import Request
from charz.schema.errors import CharzError

SIZES = {
    "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 128, "intermediate_size": 48,
}  # fmt: skip
EXPERTS = {"num_local_experts": 8, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 48}
LATENT = {
    "kv_lora_rank": 16, "q_lora_rank": 24, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 8,
    "n_group": 1, "topk_group": 1, "num_key_value_heads": 4, "head_dim": 8,
}  # fmt: skip
CONFIGS: dict[str, tuple[dict[str, Any], tuple[int, int, int]]] = {
    "LlamaForCausalLM": ({"model_type": "llama", **SIZES, "num_hidden_layers": 7}, (0, 1, 4)),
    "MixtralForCausalLM": (
        {"model_type": "mixtral", **SIZES, **EXPERTS, "num_hidden_layers": 6, "sliding_window": 32}, (0, 1, 4),
    ),
    "Qwen3MoeForCausalLM": ({"model_type": "qwen3_moe", **SIZES, **EXPERTS, "num_hidden_layers": 6}, (0, 1, 4)),
    "DeepseekV3ForCausalLM": (
        {"model_type": "deepseek_v3", **SIZES, **EXPERTS, **LATENT, "num_hidden_layers": 10, "first_k_dense_replace": 3}, (3, 1, 7),
    ),
    "GptOssForCausalLM": (
        {"model_type": "gpt_oss", **SIZES, **EXPERTS, "num_hidden_layers": 12, "sliding_window": 32}, (0, 2, 8),
    ),
    "Gemma2ForCausalLM": (
        {"model_type": "gemma2", **SIZES, "num_hidden_layers": 13, "sliding_window": 32}, (0, 2, 9),
    ),
    "Gemma3ForCausalLM": (
        {"model_type": "gemma3_text", **SIZES, "num_hidden_layers": 11, "sliding_window": 32,
         "layer_types": (["sliding_attention", "full_attention"] * 6)[:11]}, (0, 2, 9),
    ),
    "GPT2LMHeadModel": ({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 6, "vocab_size": 128}, (0, 1, 4)),
}  # fmt: skip
"""Configuration, first repeated layer, period and number of traced layers, by class."""


def request_of(folder: Path, kind: str, config: dict[str, Any], sequence: int | None = None) -> Request:
    path = folder / "small.json"
    path.write_text(json.dumps({"architectures": [kind], **config}))
    return build(parse(str(path), sequence=sequence))


def assert_equal(once: Graph, whole: Graph) -> None:
    rows, expected = workload(once), workload(whole)
    assert rows.keys() == expected.keys()
    for row_type, columns in expected.items():
        for name, values in columns.items():
            assert rows[row_type][name] == values, f"{row_type.TABLE}.{name}"
    assert replace(once, traced={}) == replace(whole, traced={})
    assert not once.traced and whole.traced


@pytest.mark.parametrize("sequence", [None, 1, 16])
@pytest.mark.parametrize("kind", CONFIGS)
def test_every_row_is_that_of_the_whole_trace(kind: str, sequence: int | None, tmp_path: Path) -> None:
    config, (first, period, kept) = CONFIGS[kind]
    request = request_of(tmp_path, kind, config, sequence)
    (layers,) = find(request.module)
    assert (layers.first, layers.period, layers.kept) == (first, period, kept)
    graph, traced = pipeline.once(request, [layers])
    whole, expected = pipeline.whole(request_of(tmp_path, kind, config, sequence))
    assert_equal(graph, whole)
    assert (traced.axes, traced.reason) == (expected.axes, expected.reason)
    described = pipeline.describe(request, graph, traced)
    assert described == pipeline.describe(request, whole, expected)


class Block(nn.Module):
    """A layer that knows its number."""

    def __init__(self, number: int, width: int = 8) -> None:
        super().__init__()
        self.number = number
        self.inner = nn.Linear(8, width)
        self.outer = nn.Linear(width, 8)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return x + self.outer(torch.relu(self.inner(x)) * scale)


class Plain(nn.Module):
    """Ten equal layers in sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.before = nn.Linear(8, 8)
        self.layers = nn.ModuleList(Block(i) for i in range(10))
        self.after = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.after(self.run(torch.relu(self.before(x))))

    def run(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Listed(Plain):
    """Layers that differ in an entry of their owner's list."""

    def __init__(self) -> None:
        super().__init__()
        self.scales = [1.0, 2.0] * 5

    def run(self, x: torch.Tensor) -> torch.Tensor:
        for i, layer in enumerate(self.layers[:10]):
            x = layer(x, self.scales[i])
        return x


class InOrder(Plain):
    """Layers of two alternating kinds, called as one module."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(Block(i, 4 if i % 2 else 6) for i in range(11)))  # type: ignore[assignment]

    def run(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)  # type: ignore[no-any-return]


class Twice(Plain):
    """Two lists, the second of which reads the first one's result in all of its layers."""

    def __init__(self) -> None:
        super().__init__()
        self.others = nn.ModuleList(Block(i) for i in range(6))

    def run(self, x: torch.Tensor) -> torch.Tensor:
        made = super().run(x)
        for layer in self.others:
            x = layer(x + made)
        return x


class InPlace(Plain):
    """Layers that add to one storage and create constants."""

    def run(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(x)
        for layer in self.layers:
            x = layer(x) * torch.tensor(2.0)
            total += x
        return total


@pytest.mark.parametrize(
    ("kind", "patterns"),
    [
        (Plain, [("layers", 0, 1, 4, 6)]),
        (Listed, [("layers", 0, 2, 8, 1)]),
        (InOrder, [("layers", 0, 2, 9, 1)]),
        (Twice, [("layers", 0, 1, 4, 6), ("others", 0, 1, 4, 2)]),
        (InPlace, [("layers", 0, 1, 4, 6)]),
    ],
)
@pytest.mark.parametrize("train", [False, True])
def test_modules_repeat(kind: type[nn.Module], patterns: list[Any], train: bool) -> None:
    def request() -> Request:
        return live.request(kind(), torch.zeros(3, 8), train=train)

    found = find(request().module)
    assert [(layers.path, layers.first, layers.period, layers.kept, layers.copies) for layers in found] == patterns
    asked = request()
    before = {name: (type(part), len(part._modules)) for name, part in asked.module.named_modules()}
    graph, _ = pipeline.once(asked, find(asked.module))
    assert {name: (type(part), len(part._modules)) for name, part in asked.module.named_modules()} == before
    assert_equal(graph, pipeline.whole(request())[0])


class Different(Plain):
    """A model with one wider layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layers[8] = Block(8, 4)


class Rising(Plain):
    """Layers with a number of their own, different in each."""

    def __init__(self) -> None:
        super().__init__()
        for i, layer in enumerate(self.layers):
            layer.rate = 0.1 * i  # type: ignore[assignment]


@pytest.mark.parametrize("kind", [Different, Rising])
def test_layers_that_differ_do_not_repeat(kind: type[nn.Module]) -> None:
    assert find(kind()) == []


class Numbered(Plain):
    """A model that skips layers by their numbers."""

    def run(self, x: torch.Tensor) -> torch.Tensor:
        for i, layer in enumerate(self.layers):
            x = layer(x) + (x if i == 6 else 0)
        return x


class Chosen(Plain):
    """A model that returns the results of some layers."""

    def run(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i in (3, 7):
                kept.append(x)
        return torch.cat(kept)


class Counting(Plain):
    """A model that finds its last layer by the number of layers."""

    def run(self, x: torch.Tensor) -> torch.Tensor:
        return super().run(x) / len(self.layers)


class Ranged(Plain):
    """A model that calls layers by their numbers."""

    def run(self, x: torch.Tensor) -> torch.Tensor:
        for i in range(4):
            x = self.layers[i](x)
        return x


class Zipped(Plain):
    """A model that zips layers with other values."""

    def run(self, x: torch.Tensor) -> torch.Tensor:
        for scale, layer in zip(range(10), self.layers, strict=False):
            x = layer(x) * scale
        return x


class Own(Block):
    """A layer that computes differently from the seventh on."""

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return super().forward(x, scale) if self.number < 6 else x


class OwnNumbers(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Own(i) for i in range(10))


class Reaching(Plain):
    """Layers that all read the first one's result."""

    def run(self, x: torch.Tensor) -> torch.Tensor:
        first = None
        for layer in self.layers:
            x = layer(x) + (0 if first is None else first)
            first = x if first is None else first
        return x


class Gathering(Plain):
    """A model that reads the results of all layers at the end."""

    def run(self, x: torch.Tensor) -> torch.Tensor:
        made = []
        for layer in self.layers:
            x = layer(x)
            made.append(x)
        return torch.cat(made)


class Backwards(Plain):
    def run(self, x: torch.Tensor) -> torch.Tensor:
        for layer in reversed(self.layers):
            x = layer(x)
        return x


class Beside(Plain):
    """A model that keeps some weights of each layer in another list."""

    def __init__(self) -> None:
        super().__init__()
        self.gains = nn.ParameterList(nn.Parameter(torch.ones(8)) for _ in range(10))

    def run(self, x: torch.Tensor) -> torch.Tensor:
        for i, layer in enumerate(self.layers):
            x = layer(x) * self.gains[i]
        return x


class Shared(Plain):
    """A model that runs one layer ten times."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([self.layers[0]] * 10)


@pytest.mark.parametrize(
    "kind",
    [Numbered, Chosen, Counting, Ranged, Zipped, OwnNumbers, Reaching, Gathering, Backwards, Beside, Shared],
)
def test_what_is_not_known_to_repeat_is_traced_whole(kind: type[nn.Module]) -> None:
    def request() -> Request:
        return live.request(kind(), torch.zeros(3, 8))

    asked = request()
    found = find(asked.module)
    assert found
    with pytest.raises((NotAlikeError, CharzError)):
        pipeline.once(asked, found)
    graph, _ = pipeline.to_graph(asked)
    assert replace(graph, traced={}) == replace(pipeline.whole(request())[0], traced={})


@pytest.mark.slow
@pytest.mark.parametrize("sequence", [8, 1])
@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("RecurrentGemmaForCausalLM", {"model_type": "recurrent_gemma", "lru_width": 64, "attention_window_size": 32}),
        ("MambaForCausalLM", {"model_type": "mamba", "state_size": 8, "expand": 2}),
        ("Lfm2ForCausalLM", {"model_type": "lfm2"}),
        ("JambaForCausalLM", {"model_type": "jamba", "attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False, **EXPERTS}),
    ],
)  # fmt: skip
def test_models_with_states_are_those_of_the_whole_trace(
    kind: str, config: dict[str, Any], sequence: int | None, tmp_path: Path
) -> None:
    config = {**SIZES, "num_hidden_layers": 10, **config}
    graph, _ = pipeline.to_graph(request_of(tmp_path, kind, config, sequence))
    whole, _ = pipeline.whole(request_of(tmp_path, kind, config, sequence))
    assert replace(graph, traced={}) == replace(whole, traced={})
