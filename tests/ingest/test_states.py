"""Memory of a language model for each request other than keys and values of each token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from charz.ingest.compile.dataflow import flow_of
from charz.ingest.compile.precision import propagate
from charz.ingest.compile.rules import Rules
from charz.ingest.graph import Graph, GraphOperator, evaluate
from charz.ingest.pipeline import describe, once, to_graph, whole
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.ingest.trace.alike import find
from charz.schema.errors import CharzError

pytest.importorskip("transformers")

SMALL: dict[str, Any] = {
    "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 128, "head_dim": 16,
    "max_position_embeddings": 512,
}  # fmt: skip
HYBRID = {
    "model_type": "qwen3_5_text", "architectures": ["Qwen3_5ForCausalLM"], **SMALL, "num_hidden_layers": 2,
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 8, "linear_num_key_heads": 2,
    "linear_num_value_heads": 4, "layer_types": ["linear_attention", "full_attention"],
}  # fmt: skip
INDEXED = {
    "model_type": "deepseek_v32", "architectures": ["DeepseekV32ForCausalLM"], **SMALL, "num_hidden_layers": 1,
    "num_key_value_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16,
    "head_dim": 8, "first_k_dense_replace": 1, "index_head_dim": 16, "index_n_heads": 2, "index_topk": 8,
}  # fmt: skip
CHUNKED = {
    "model_type": "llama4_text", "architectures": ["Llama4ForCausalLM"], **SMALL, "num_hidden_layers": 4, "num_local_experts": 2,
    "interleave_moe_layer_step": 2, "attention_chunk_size": 16, "intermediate_size_mlp": 96, "no_rope_layer_interval": 4,
}  # fmt: skip
SOUND = {
    "model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "vocab_size": 128, "num_mel_bins": 8, "d_model": 32,
    "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64, "max_source_positions": 20, "max_target_positions": 64, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2, "decoder_start_token_id": 3,
}  # fmt: skip
PICTURED = {
    "model_type": "mistral3", "architectures": ["Mistral3ForConditionalGeneration"],
    "text_config": {"model_type": "mistral", **SMALL, "num_hidden_layers": 1},
    "vision_config": {
        "model_type": "pixtral", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64,
        "image_size": 28, "patch_size": 14, "head_dim": 16,
    },
}  # fmt: skip


def written(tmp_path: Path, values: dict[str, Any]) -> str:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(values))
    return str(path)


def of(graph: Graph, name: str) -> list[GraphOperator]:
    return [o for o in graph.operators if o.aten_operator.startswith(f"charz.{name}.")]


def kept(graph: Graph) -> dict[str, str]:
    return {t.tensor: t.shape for t in graph.tensors if t.role == "kv_cache"}


@pytest.fixture
def hybrid(tmp_path: Path) -> Graph:
    return to_graph(build(parse(written(tmp_path, HYBRID))))[0]


def test_one_trace_answers_a_prompt_and_a_step(tmp_path: Path) -> None:
    request = build(parse(written(tmp_path, HYBRID)))
    graph, traced = to_graph(request)
    model = describe(request, graph, traced)
    assert model["is_sequence_symbolic"] and model["has_context"]
    assert kept(graph) == {
        "model.layers.0.conv_states.0": "[B, 96, 4]",  # 2 x 2 x 16 of queries and keys, 4 x 8 of values
        "model.layers.0.recurrent_states.0": "[B, 4, 16, 8]",
        "kv_cache": "[B, 2, C, 16]",
        "kv_cache_1": "[B, 2, C, 16]",
    }


def test_no_state_is_kept_for_each_token(hybrid: Graph) -> None:
    """4 heads of 16 x 8: no tensor has as many elements a token."""
    widest = max(t.elements.get((1, 1, 0), 0) for t in hybrid.tensors if t.role == "activation")
    assert widest < 4 * 16 * 8


def test_work_of_the_delta_rule(hybrid: Graph) -> None:
    """Three products of 16 x 8 a token and head. Within a chunk of 64, every token except one meets all of it, with keys of 16
    and values of 8: three keys and two values (the scores of keys and of queries, the system's two right sides, the result)."""
    (operator,) = of(hybrid, "delta_rule")
    macs = {s.step: s.quantities["macs"] for s in operator.steps if "macs" in s.quantities}
    for batch, length in ((1, 1), (3, 100)):
        found = {step: evaluate(size, batch, length) for step, size in macs.items()}
        product = batch * 4 * length * 16 * 8
        within = batch * 4 * (length - 1) * 64 * (3 * 16 + 2 * 8)
        assert found == {"recall": product, "read": product, "update": product, "within": within}
    (convolution,) = of(hybrid, "state_conv")
    assert evaluate(convolution.steps[0].quantities["macs"], 3, 100) == 3 * 100 * 96 * 4


def test_a_state_is_written_in_place_in_its_own_type(hybrid: Graph, rules: Rules) -> None:
    """The recurrence's state is fp32 in the model; the policy sets the type of the convolution's state and the recurrence's result."""
    flow = flow_of(hybrid, rules.classes)
    types = propagate(flow, rules.policies["bf16"], rules)
    assert not types.casts
    for name, expected in (("delta_rule", "fp32"), ("state_conv", "bf16")):
        (operator,) = of(hybrid, name)
        state, result = operator.writes
        owner = hybrid.tensors[state].storage_tensor_id
        assert operator.is_inplace and operator.reads[0] == owner
        assert hybrid.tensors[owner].role == "kv_cache" and flow.escapes[state]
        assert (types.tensor[owner], types.tensor[state], types.tensor[result]) == (expected, expected, "bf16")
    assert {types.tensor[t.tensor_id] for t in hybrid.tensors if "kv_cache" in t.tensor} == {"bf16"}


def test_states_of_layers_that_are_left_out(tmp_path: Path) -> None:
    """Twelve layers in six pairs, of which four are traced, equal the whole trace."""
    values = {**HYBRID, "num_hidden_layers": 12, "layer_types": HYBRID["layer_types"] * 6}
    path = written(tmp_path, values)
    request = build(parse(path))
    graph, _ = once(request, find(request.module))
    every, _ = whole(build(parse(path)))
    assert kept(graph) == kept(every)
    assert len(kept(graph)) == 6 * 4
    assert [(o.operator, o.reads, o.writes) for o in graph.operators] == [
        (o.operator, o.reads, o.writes) for o in every.operators
    ]


def test_a_model_is_trained_without_states(tmp_path: Path) -> None:
    request = build(parse(written(tmp_path, HYBRID), train=True))
    graph, _ = to_graph(request)
    assert [t for t in kept(graph) if "state" in t] == []
    assert [o.aten_operator for o in of(graph, "delta_rule")] == ["charz.delta_rule.stateless"]


def test_an_indexer_keeps_its_keys_and_lets_few_be_read(tmp_path: Path) -> None:
    """Latents of 32 and 8 and an indexer's key of 16 a token; a query attends to 8 of them."""
    graph, traced = to_graph(build(parse(written(tmp_path, INDEXED))))
    assert traced.is_sequence_symbolic
    assert sorted(kept(graph).values()) == ["[B, 1, C, 32]", "[B, 1, C, 8]", "[B, C, 16]"]
    (operator,) = of(graph, "latent_attention")
    assert operator.context_limit == 8
    latents = [t for t in operator.reads if graph.tensors[t].role == "kv_cache"]
    # 5 queries of 8 latents each, before the number of latents bounds this
    assert [evaluate(operator.accesses[t], 1, 5, 8) for t in latents] == [5 * 8 * 32, 5 * 8 * 8]


def test_a_chunk_is_marked(tmp_path: Path) -> None:
    """Three of four layers attend within chunks of 16."""
    graph, _ = to_graph(build(parse(written(tmp_path, CHUNKED))))
    marks = [(t.is_chunked, t.context_limit) for t in graph.tensors if t.role == "kv_cache"]
    assert marks == [(True, 16)] * 6 + [(False, None)] * 2


def test_a_decoder_keeps_what_it_reads_of_an_encoder(tmp_path: Path) -> None:
    """20 positions of 2 heads of 16, of keys and values in each of two layers; the operators that compute them run only with a prompt."""
    request = build(parse(written(tmp_path, SOUND)))
    graph, traced = to_graph(request)
    assert describe(request, graph, traced)["has_context"]
    assert sorted(kept(graph).values()) == ["[B, 2, 20, 16]"] * 4 + ["[B, 2, C, 16]"] * 4
    paths = {m.module_id: m.path for m in graph.modules}
    products = {(paths[o.module_id], o.is_prompt_only) for o in graph.operators if o.operator_class == "linear"}
    alone = {path for path, is_alone in products if is_alone}
    assert {path for path in alone if "decoder" in path} == {
        f"model.decoder.layers.{layer}.encoder_attn.{name}" for layer in (0, 1) for name in ("k_proj", "v_proj")
    }
    assert all(("encoder." not in path) or is_alone for path, is_alone in products)


def test_a_model_that_could_take_pictures_reads_text_alone(tmp_path: Path) -> None:
    request = build(parse(written(tmp_path, PICTURED), inputs=("input_ids=B,S:int64",)))
    assert "pixel_values" not in request.keywords
    graph, traced = to_graph(request)
    assert describe(request, graph, traced)["has_context"]
    assert list(kept(graph).values()) == ["[B, 2, C, 16]"] * 2


def test_pictures_are_not_left_out_of_what_needs_them(tmp_path: Path) -> None:
    """CLIP compares text with images: naming one input does not drop the other."""
    values = {
        "model_type": "clip", "architectures": ["CLIPModel"], "projection_dim": 16,
        "text_config": {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 64},
        "vision_config": {
            "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "image_size": 32,
            "patch_size": 16,
        },
    }  # fmt: skip
    request = build(parse(written(tmp_path, values), inputs=("input_ids=B,S:int64",)))
    assert "pixel_values" in request.keywords


def test_an_unknown_input_is_still_refused(tmp_path: Path) -> None:
    with pytest.raises(CharzError, match="unknown input"):
        build(parse(written(tmp_path, PICTURED), inputs=("tokens=B,S:int64",)))
