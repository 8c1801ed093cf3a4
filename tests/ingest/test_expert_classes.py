"""Mixtures of experts of transformers: each runs its experts only over the rows that chose them, whatever its class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from oracle.database import Bench, scenario

from charz.ingest.graph import Graph
from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema.scenario import Scenario

pytest.importorskip("transformers")

HIDDEN, INNER, EXPERTS, CHOSEN, VOCABULARY, HEADS, KEY_HEADS, WIDTH = 64, 48, 8, 2, 128, 4, 2, 16
SIZES = {
    "hidden_size": HIDDEN, "num_hidden_layers": 1, "num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS,
    "vocab_size": VOCABULARY,
}  # fmt: skip
LOCAL = {"intermediate_size": INNER, "num_local_experts": EXPERTS, "num_experts_per_tok": CHOSEN}
CONFIGS: dict[str, dict[str, Any]] = {
    "MixtralForCausalLM": {"model_type": "mixtral", **SIZES, **LOCAL},
    "Qwen3MoeForCausalLM": {
        "model_type": "qwen3_moe", **SIZES, "moe_intermediate_size": INNER, "num_experts": EXPERTS, "num_experts_per_tok": CHOSEN,
        "head_dim": WIDTH,
    },
    "GptOssForCausalLM": {"model_type": "gpt_oss", **SIZES, **LOCAL, "head_dim": WIDTH},
    "GraniteMoeForCausalLM": {"model_type": "granitemoe", **SIZES, **LOCAL},
    "OlmoeForCausalLM": {
        "model_type": "olmoe", **SIZES, "intermediate_size": INNER, "num_experts": EXPERTS, "num_experts_per_tok": CHOSEN,
    },
    "Llama4ForCausalLM": {
        "model_type": "llama4_text", **SIZES, **LOCAL, "head_dim": WIDTH, "intermediate_size_mlp": 80, "interleave_moe_layer_step": 1,
    },
    "DbrxForCausalLM": {
        "model_type": "dbrx", "d_model": HIDDEN, "n_heads": HEADS, "n_layers": 1, "vocab_size": VOCABULARY, "max_seq_len": 128,
        "attn_config": {"kv_n_heads": KEY_HEADS, "rope_theta": 10000.0, "clip_qkv": 8},
        "ffn_config": {"ffn_hidden_size": INNER, "moe_num_experts": EXPERTS, "moe_top_k": CHOSEN, "hidden_size": HIDDEN},
    },
    "DeepseekV3ForCausalLM": {
        "model_type": "deepseek_v3", **SIZES, "num_key_value_heads": HEADS, "intermediate_size": 80,
        "moe_intermediate_size": INNER, "n_routed_experts": EXPERTS, "num_experts_per_tok": CHOSEN, "n_group": 1, "topk_group": 1,
        "first_k_dense_replace": 0, "kv_lora_rank": 16, "q_lora_rank": 24, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
        "v_head_dim": 16,
    },
}  # fmt: skip
MATRICES = 3 * HIDDEN * INNER
"""Elements of one expert: two input matrices and one output matrix."""


def traced(folder: Path, kind: str) -> Graph:
    """Return the graph of a configuration in a `config.json`."""
    path = folder / "small.json"
    path.write_text(json.dumps({"architectures": [kind], **CONFIGS[kind]}))
    graph, _ = to_graph(build(parse(str(path))))
    return graph


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_token_meets_the_experts_that_it_chose(kind: str, tmp_path: Path) -> None:
    graph = traced(tmp_path, kind)
    products = [o for o in graph.operators if o.aten_operator == "charz.grouped_mm.default"]
    macs = [step.quantities["macs"] for o in products for step in o.steps]
    assert all(set(polynomial) == {(1, 1, 0)} for polynomial in macs)
    assert sum(polynomial[1, 1, 0] for polynomial in macs) == CHOSEN * MATRICES
    assert {share for o in products for share in o.draw_fractions.values()} == {CHOSEN / EXPERTS}
    roots = {graph.tensors[tensor].storage_tensor_id for o in products for tensor in o.draw_fractions}
    assert sum(graph.tensors[root].elements[0, 0, 0] for root in roots) == EXPERTS * MATRICES
    readers = {
        o.aten_operator for o in graph.operators
        if not o.is_view and roots.intersection(graph.tensors[tensor].storage_tensor_id for tensor in o.reads)
    }  # fmt: skip
    assert readers == {"charz.grouped_mm.default"}


@pytest.mark.parametrize(
    ("name", "layers", "experts", "total", "active", "stored_gb"),
    [("gpt-oss-20b", 24, 32, 20.9e9, 3.6e9, 13.8), ("gpt-oss-120b", 36, 128, 116.8e9, 5.1e9, 65.2)],
)
def test_parameters_of_gpt_oss(
    name: str, layers: int, experts: int, total: float, active: float, stored_gb: float
) -> None:
    """The model card (arXiv:2508.10925, table 1) gives the counts, where the look-up of tokens is not active; a token meets 4 experts.
    Products of experts take 4.25 bits a weight, all else 16."""
    request = build(parse(f"hf:{name}"))
    assert request.stored_policy == "mxfp4"
    counts = {path: weight.numel() for path, weight in request.module.named_parameters()}
    assert sum(counts.values()) == pytest.approx(total, rel=3e-3)
    of_experts = sum(count for path, count in counts.items() if ".experts." in path)
    width = 2880
    products = layers * experts * 3 * width * width
    assert of_experts == products + layers * experts * 3 * width
    looked_up = counts["model.embed_tokens.weight"]
    assert sum(counts.values()) - looked_up - of_experts * (1 - 4 / experts) == pytest.approx(active, rel=1e-2)
    stored_byte = (4.25 * products + 16 * (sum(counts.values()) - products)) / 8
    assert stored_byte == pytest.approx(stored_gb * 1e9, rel=5e-3)


def test_parameters_of_deepseek_v3() -> None:
    """671 billion, 37 of them active without the look-up of tokens (DeepSeek-V3 technical report, arXiv:2412.19437, 4.2); a token
    meets 8 of 256 experts in 58 of 61 layers. Its configuration sets fp8 in blocks of 128 x 128."""
    request = build(parse("hf:deepseek-v3"))
    assert request.stored_policy == "fp8_block"
    counts = {path: weight.numel() for path, weight in request.module.named_parameters()}
    assert sum(counts.values()) == pytest.approx(671e9, rel=1e-3)
    of_experts = sum(count for path, count in counts.items() if ".experts." in path)
    assert of_experts == 58 * 256 * 3 * 7168 * 2048
    looked_up = counts["model.embed_tokens.weight"]
    assert sum(counts.values()) - looked_up - of_experts * (1 - 8 / 256) == pytest.approx(37e9, rel=2e-2)


def test_packed_experts_are_stored_in_4_bits(tmp_path: Path) -> None:
    """Under mxfp4 the products of experts take 4.25 bits a weight, blocks of 32 with a scale of 8 bits, and all else 16."""
    graph = traced(tmp_path, "GptOssForCausalLM")
    rows = (HEADS + 2 * KEY_HEADS) * WIDTH
    attention = HIDDEN * rows + rows + HEADS * WIDTH * HIDDEN + HIDDEN + HEADS
    router = EXPERTS * (HIDDEN + 1)
    biases = EXPERTS * (2 * INNER + HIDDEN)
    others = attention + router + biases + 2 * VOCABULARY * HIDDEN + 3 * HIDDEN
    with Bench(("model_memory",), with_parts=True) as bench:
        bench.add_graph(graph, "small")
        bench.execute("UPDATE model SET has_context = true")
        run = scenario(1, batch=1, context=64, phase="decode", precision="mxfp4", backend="vllm")
        bench.replace_rows(Scenario, [run])
        ((found,),) = bench.rows("SELECT weight_byte FROM run_memory")
    assert found == pytest.approx(4.25 / 8 * EXPERTS * MATRICES + 2 * others, rel=1e-12)
