"""Small models of architectures of 2025 and 2026: their memory for each request, and all and active parameters, compared with
the library's own cache and modules when the model runs with weights.

The model runs in bf16, which reveals a state that it still keeps in fp32. Active parameters are those that one token meets;
look-up tables are left out on both sides.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from charz.ingest.graph import Graph, GraphOperator, evaluate
from charz.ingest.pipeline import describe, to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.ingest.trace import torchvision_schemas
from charz.schema.errors import CharzError

torchvision_schemas.prepare()
transformers = pytest.importorskip("transformers")

SMALL: dict[str, Any] = {
    "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 128, "head_dim": 16,
    "max_position_embeddings": 512, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "num_hidden_layers": 2,
}  # fmt: skip
MANY = {**SMALL, "num_hidden_layers": 4}
DELTA = {
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
}  # fmt: skip
LATENT = {
    **SMALL, "num_key_value_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16,
    "v_head_dim": 16, "head_dim": 8,
}  # fmt: skip
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
ROUTED = {
    "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_shared_experts": 1, "n_group": 1, "topk_group": 1,
}  # fmt: skip
LOCAL = {"num_local_experts": 8, "num_experts_per_tok": 2}
INDEXED = {**LATENT, **ROUTED, "first_k_dense_replace": 1, "index_head_dim": 16, "index_n_heads": 2, "index_topk": 8}
SCAN = {"mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 16, "mamba_chunk_size": 16}
SLIDING = {"layer_types": ["sliding_attention"] * 3 + ["full_attention"], "sliding_window": 16}
SHARED = {
    **MANY, "layer_types": ["sliding_attention", "full_attention"] * 2, "num_kv_shared_layers": 2, "sliding_window": 16,
    "vocab_size_per_layer_input": 128, "hidden_size_per_layer_input": 16,
}  # fmt: skip
HYBRID = ["linear_attention", "full_attention"]
PICTURES = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64, "image_size": 28, "patch_size": 14}

CONFIGURATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "qwen3_next": ("Qwen3NextForCausalLM", {**SMALL, **DELTA, **EXPERTS, "shared_expert_intermediate_size": 32, "layer_types": HYBRID}),
    "qwen3_5_moe_text": (
        "Qwen3_5MoeForCausalLM", {**SMALL, **DELTA, **EXPERTS, "shared_expert_intermediate_size": 32, "layer_types": HYBRID},
    ),
    "olmo_hybrid": ("OlmoHybridForCausalLM", {**SMALL, **DELTA, "layer_types": HYBRID}),
    "kimi_linear": (
        "KimiLinearForCausalLM",
        {**LATENT, **EXPERTS, "q_lora_rank": None, "n_group": 1, "linear_head_dim": 16, "linear_num_heads": 4, "layer_types": HYBRID},
    ),
    "nemotron_h": (
        "NemotronHForCausalLM",
        {
            **MANY, **ROUTED, "layers_block_type": ["mamba", "attention", "mamba", "moe"], "mamba_num_heads": 4, "mamba_head_dim": 16,
            "ssm_state_size": 16, "n_groups": 2, "chunk_size": 16, "moe_shared_expert_intermediate_size": 32,
        },
    ),
    "falcon_h1": ("FalconH1ForCausalLM", {**SMALL, **SCAN, "mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_n_groups": 1}),
    "granitemoehybrid": (
        "GraniteMoeHybridForCausalLM",
        {**SMALL, **SCAN, **LOCAL, "layer_types": ["mamba", "attention"], "shared_intermediate_size": 32},
    ),
    "bamba": ("BambaForCausalLM", {**SMALL, **SCAN, "attn_layer_indices": [1]}),
    "lfm2_moe": (
        "Lfm2MoeForCausalLM",
        {**SMALL, **EXPERTS, "num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"], "num_dense_layers": 1},
    ),
    "zaya": ("ZayaForCausalLM", {**SMALL, **EXPERTS, "num_experts_per_tok": 1}),
    "deepseek_v32": ("DeepseekV32ForCausalLM", INDEXED),
    "glm_moe_dsa": ("GlmMoeDsaForCausalLM", INDEXED),
    "glm4_moe_lite": ("Glm4MoeLiteForCausalLM", {**LATENT, **ROUTED, "first_k_dense_replace": 1}),
    "gpt_oss": ("GptOssForCausalLM", {**SMALL, **LOCAL, "sliding_window": 16}),
    "gemma3n_text": (
        "Gemma3nForCausalLM", {**SHARED, "laurel_rank": 8, "intermediate_size": [96] * 4, "activation_sparsity_pattern": [0.0] * 4},
    ),
    "gemma4_text": ("Gemma4ForCausalLM", {**SHARED, "global_head_dim": 32}),
    "olmo3": ("Olmo3ForCausalLM", {**MANY, **SLIDING}),
    "exaone4": ("Exaone4ForCausalLM", {**MANY, **SLIDING}),
    "smollm3": ("SmolLM3ForCausalLM", SMALL),
    "ernie4_5_moe": (
        "Ernie4_5_MoeForCausalLM",
        {
            **SMALL, "moe_num_experts": 8, "moe_k": 2, "moe_intermediate_size": 32, "moe_num_shared_experts": 1,
            "moe_layer_start_index": 1,
        },
    ),
    "llama4_text": (
        "Llama4ForCausalLM",
        {
            **MANY, "num_local_experts": 4, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "attention_chunk_size": 16,
            "intermediate_size_mlp": 96, "no_rope_layer_interval": 4,
        },
    ),
    "minimax_m2": ("MiniMaxM2ForCausalLM", {**SMALL, **LOCAL}),
    "mistral3": (
        "Mistral3ForConditionalGeneration",
        {"text_config": {"model_type": "mistral", **SMALL}, "vision_config": {"model_type": "pixtral", **PICTURES, "head_dim": 16}},
    ),
    "qwen3_vl": (
        "Qwen3VLForConditionalGeneration",
        {
            "text_config": {
                "model_type": "qwen3_vl_text", **SMALL,
                "rope_scaling": {"rope_type": "default", "mrope_section": [4, 2, 2], "mrope_interleaved": True},
            },
            "vision_config": {
                "model_type": "qwen3_vl_vision", "hidden_size": 32, "depth": 1, "num_heads": 2, "intermediate_size": 64,
                "out_hidden_size": 64, "deepstack_visual_indexes": [0],
            },
        },
    ),
    "gemma3": (
        "Gemma3ForConditionalGeneration",
        {
            "text_config": {
                "model_type": "gemma3_text", **SMALL, "sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"],
            },
            "vision_config": {"model_type": "siglip_vision_model", **PICTURES}, "mm_tokens_per_image": 4,
        },
    ),
    "t5gemma": (
        "T5GemmaForConditionalGeneration",
        {
            "encoder": {"model_type": "t5_gemma_module", **SMALL, "sliding_window": 16},
            "decoder": {"model_type": "t5_gemma_module", **SMALL, "sliding_window": 16}, "vocab_size": 128,
        },
    ),
    "moonshine": (
        "MoonshineForConditionalGeneration",
        {
            "hidden_size": 64, "intermediate_size": 96, "encoder_num_hidden_layers": 2, "decoder_num_hidden_layers": 2,
            "encoder_num_attention_heads": 4, "decoder_num_attention_heads": 4, "vocab_size": 128, "pad_token_id": 0,
            "bos_token_id": 1, "eos_token_id": 2,
        },
    ),
}  # fmt: skip
"""Classes and configurations by model type."""

READ_BESIDES = {"gpt_oss": 2 * 4, "llama4_text": 2 * 3 * (3 * 64 * 96)}
"""Parameters that the library reads and charz does not count: attention sinks, a number a head, which are not operands of the
attention operator; and the three of four experts that each of two layers runs over zeros, where engines run only the chosen one."""

REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "longcat_flash": (
        "LongcatFlashForCausalLM",
        {
            **LATENT, "num_layers": 2, "n_routed_experts": 8, "zero_expert_num": 2, "moe_topk": 2, "expert_ffn_hidden_size": 32,
            "ffn_hidden_size": 64,
        },
    ),
}  # fmt: skip
"""A model that loops over its experts, but only over those that a token chose."""

FORGETS = {"minimax": ("MiniMaxForCausalLM", {**SMALL, **LOCAL, "layer_types": HYBRID, "block_size": 16})}
"""A model with a cache class of its own, which cannot be replaced: it has a prompt but no step."""

ALWAYS = ("qwen3_next", "bamba", "deepseek_v32", "qwen3_vl", "t5gemma")
"""One model of each kind that every run of the tests tries."""

BATCH, TOKENS, ENCODED = 2, 12, 20


@pytest.mark.parametrize("kind", [k if k in ALWAYS else pytest.param(k, marks=pytest.mark.broad) for k in CONFIGURATIONS])
def test_memory_of_a_request_and_parameters(tmp_path: Path, kind: str) -> None:
    """Bytes of keys, values, states and an indexer's keys after two requests of 12 tokens, and parameters."""
    name, values = CONFIGURATIONS[kind]
    path = written(tmp_path, kind, CONFIGURATIONS)
    config = transformers.CONFIG_MAPPING[kind].from_dict({"model_type": kind, **values})
    torch.manual_seed(0)
    module = getattr(transformers, name)._from_config(config, experts_implementation="eager").to(torch.bfloat16).eval()
    given = inputs_of(module, BATCH, TOKENS)
    with torch.no_grad():
        output = module(**given, use_cache=True)
    cache = output.get("past_key_values") or output["cache_params"]
    reads = ParametersRead(module)
    with torch.no_grad(), reads:
        module(**inputs_of(module, 1, 1))
    graph, request_parameters = charz_graph(path, module)
    assert bytes_of_requests(graph) == bytes_held(cache)
    assert request_parameters == sum(p.numel() for p in module.parameters())
    assert active_parameters(graph) == reads.count() - READ_BESIDES.get(kind, 0)


@pytest.mark.broad
@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_traced_says_why(tmp_path: Path, kind: str) -> None:
    with pytest.raises(CharzError, match=r"depends on a tensor's values: model.layers.0.mlp.experts"):
        to_graph(build(parse(written(tmp_path, kind, REFUSED))))


@pytest.mark.broad
@pytest.mark.parametrize("kind", FORGETS)
def test_what_answers_a_prompt_alone(tmp_path: Path, kind: str) -> None:
    request = build(parse(written(tmp_path, kind, FORGETS)))
    graph, traced = to_graph(request)
    assert not describe(request, graph, traced)["has_context"]


def written(tmp_path: Path, kind: str, configurations: dict[str, tuple[str, dict[str, Any]]]) -> str:
    name, values = configurations[kind]
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": kind, "architectures": [name], **values}))
    return str(path)


def inputs_of(module: Any, batch: int, tokens: int) -> dict[str, torch.Tensor]:
    ids = torch.randint(3, 120, (batch, tokens))
    if not module.config.is_encoder_decoder:
        return {"input_ids": ids}
    if module.main_input_name == "input_ids":
        return {"input_ids": torch.randint(3, 120, (batch, ENCODED)), "decoder_input_ids": ids}
    return {module.main_input_name: torch.randn(batch, 16000, dtype=torch.bfloat16), "decoder_input_ids": ids}


def charz_graph(path: str, module: Any) -> tuple[Graph, int]:
    """Return the graph of the request: only text for a vision-language model, an encoder's length for an encoder-decoder."""
    is_text = module.main_input_name == "input_ids"
    inputs: tuple[str, ...] = ()
    if module.config.is_encoder_decoder and is_text:
        inputs = (f"input_ids=B,{ENCODED}:int64",)
    elif type(module).__name__.endswith("ForConditionalGeneration") and is_text:
        inputs = ("input_ids=B,S:int64",)
    request = build(parse(path, inputs=inputs))
    graph, traced = to_graph(request)
    assert traced.is_sequence_symbolic and not request.forgets
    return graph, sum(p.numel() for p in request.module.parameters())


def bytes_of_requests(graph: Graph) -> float:
    kept = [t for t in graph.tensors if t.role == "kv_cache"]
    return sum(evaluate(t.elements, BATCH, TOKENS, TOKENS) * (4 if t.is_pinned else 2) for t in kept)


def bytes_held(cache: Any) -> int:
    caches = [cache.self_attention_cache, cache.cross_attention_cache] if hasattr(cache, "cross_attention_cache") else [cache]
    held: list[Any] = []
    for layer in (layer for part in caches for layer in part.layers):
        held += [getattr(layer, name, None) for name in ("keys", "values", "indexer_keys")]
        held += [t for name in ("conv_states", "recurrent_states") for t in getattr(layer, name, {}).values()]
    return sum(t.numel() * t.element_size() for t in held if isinstance(t, torch.Tensor))


def active_parameters(graph: Graph) -> float:
    """Sum the weight elements that a step of one token moves: of each weight, the parts that it and its views move."""
    moved: dict[int, dict[int, float]] = {}
    for operator in graph.operators:
        if operator.is_view or operator.operator_class == "embedding":
            continue
        for t in operator.reads:
            owner = graph.tensors[t].storage_tensor_id
            if graph.tensors[owner].role == "weight":
                seen = moved.setdefault(owner, {})
                seen[t] = max(seen.get(t, 0.0), elements_read(graph, operator, t))
    return sum(min(sum(seen.values()), evaluate(graph.tensors[w].elements, 1)) for w, seen in moved.items())


def elements_read(graph: Graph, operator: GraphOperator, tensor: int) -> float:
    return evaluate(operator.accesses.get(tensor, graph.tensors[tensor].elements), 1)


class ParametersRead(TorchDispatchMode):
    """A mode that notes the parts of parameters that operators read, except by views and look-ups."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.sizes = {p.untyped_storage().data_ptr(): p.numel() for p in module.parameters()}
        self.seen: dict[int, set[tuple[int, int]]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        returned = [r.alias_info for r in func._schema.returns]
        is_view = any(alias is not None and not alias.is_write for alias in returned)
        if not is_view and func is not torch.ops.aten.embedding.default:
            for value in tree_leaves((args, kwargs or {})):
                if isinstance(value, torch.Tensor) and value.untyped_storage().data_ptr() in self.sizes:
                    self.seen.setdefault(value.untyped_storage().data_ptr(), set()).add((value.storage_offset(), value.numel()))
        return func(*args, **(kwargs or {}))

    def count(self) -> int:
        """Count the parameters read; disjoint parts of one add up."""
        return sum(min(self.sizes[place], sum(count for _, count in parts)) for place, parts in self.seen.items())
