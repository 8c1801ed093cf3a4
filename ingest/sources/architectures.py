"""Well-known transformers architectures as differences from their configuration class's defaults.

The defaults of a configuration class are those of the model that introduced it, so most rows change
nothing. Changed values are those of the named model's published `config.json`, at huggingface.co under the maker's
name. A row of a model that reads pictures or sound too has its language model alone (gemma-3, gemma-3n).
`tests/ingest/test_published_sizes.py` compares parameters with the sizes of published checkpoints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Architecture:
    """A configuration class, the class that runs it, and the differences from its defaults."""

    config: str
    model: str
    changes: dict[str, Any] = field(default_factory=dict)
    sequence: int = 128
    """Default sequence length."""
    image: int = 224
    """Default image height and width."""


_SIZES = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "intermediate_size", "vocab_size",
)  # fmt: skip
"""Names that most configurations give to the sizes that tell one published model from another."""


def _of(
    family: str, head: str, *sizes: int | None, sequence: int = 128, image: int = 224, **changes: Any
) -> Architecture:
    """Describe a family's model class `head` with sizes in the order of `_SIZES`, None for the default."""
    given = {name: size for name, size in zip(_SIZES, sizes, strict=False) if size is not None}
    return Architecture(f"{family}Config", f"{family}{head}", {**given, **changes}, sequence, image)


def _decoder(family: str, *sizes: int | None, **changes: Any) -> Architecture:
    return _of(family, "ForCausalLM", *sizes, **changes)


def _classifier(family: str, **changes: Any) -> Architecture:
    return _of(family, "ForImageClassification", **changes)


def _two_sided(family: str, width: int, layers: int, heads: int, inner: int) -> Architecture:
    """Describe an encoder-decoder whose two sides are equal."""
    sides = {
        f"{side}_{what}": size
        for side in ("encoder", "decoder")
        for what, size in (("layers", layers), ("attention_heads", heads), ("ffn_dim", inner))
    }
    return _of(family, "ForConditionalGeneration", d_model=width, **sides)


def _gemma_3(width: int, layers: int, heads: int, shared: int, inner: int, head: int, **changes: Any) -> Architecture:
    """Describe the language model of a Gemma 3, which gives the vocabulary 64 rows more for pictures."""
    sizes = (width, layers, heads, shared, inner, changes.pop("vocab_size", 262208))
    given = {"sliding_window": 1024, **changes}
    return Architecture("Gemma3TextConfig", "Gemma3ForCausalLM", {**dict(zip(_SIZES, sizes, strict=True)), "head_dim": head, **given})


_FP8_BLOCK: dict[str, Any] = {"quant_method": "fp8", "weight_block_size": [128, 128]}

_ROBERTA: dict[str, Any] = {"max_position_embeddings": 514, "type_vocab_size": 1}
_DEBERTA_V3: dict[str, Any] = {
    "relative_attention": True, "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"], "max_relative_positions": -1, "position_biased_input": False, "type_vocab_size": 0,
}  # fmt: skip

ARCHITECTURES: dict[str, Architecture] = {
    # encoders
    "bert-base-uncased": _of("Bert", "Model"),
    "bert-large-uncased": _of("Bert", "Model", 1024, 24, 16, None, 4096, sequence=384),
    "roberta-base": _of("Roberta", "Model", vocab_size=50265, **_ROBERTA),
    "distilbert-base-uncased": _of("DistilBert", "Model"),
    "albert-base-v2": _of("Albert", "Model", 768, None, 12, None, 3072, hidden_act="gelu_new"),
    "electra-small": _of("Electra", "Model"),
    "xlm-roberta-base": _of("XLMRoberta", "Model", vocab_size=250002, **_ROBERTA),
    "mpnet-base": _of("MPNet", "Model"),
    "deberta-v3-base": _of("DebertaV2", "Model", 768, 12, 12, None, 3072, 128100, **_DEBERTA_V3),
    "modernbert-base": _of("ModernBert", "Model"),
    "mobilebert-uncased": _of("MobileBert", "Model"),
    "squeezebert-uncased": _of("SqueezeBert", "Model"),
    "layoutlm-base": _of("LayoutLM", "Model"),
    "fnet-base": _of("FNet", "Model"),
    "nystromformer-512": _of("Nystromformer", "Model", segment_means_seq_len=64, sequence=448),
    # decoders
    "gpt2": _of("GPT2", "LMHeadModel"),
    "gpt2-large": _of("GPT2", "LMHeadModel", n_embd=1280, n_layer=36, n_head=20),
    "gpt2-xl": _of("GPT2", "LMHeadModel", n_embd=1600, n_layer=48, n_head=25),
    "gpt-neo-1.3b": _decoder("GPTNeo"),
    "gpt-neox-20b": _decoder("GPTNeoX"),
    "gpt-j-6b": _decoder("GPTJ"),
    "opt-125m": _decoder("OPT"),
    "opt-1.3b": _decoder("OPT", 2048, 24, 32, ffn_dim=8192, word_embed_proj_dim=2048),
    "bloom-560m": _decoder("Bloom", 1024, n_layer=24, n_head=16),
    "falcon-7b": _decoder("Falcon", vocab_size=65024, multi_query=True, parallel_attn=True, bias=False),
    "llama-2-7b": _decoder("Llama", 4096, 32, 32, 32, 11008, 32000),
    "llama-2-13b": _decoder("Llama", 5120, 40, 40, 40, 13824, 32000),
    "llama-2-70b": _decoder("Llama", 8192, 80, 64, 8, 28672, 32000),
    "llama-3.2-1b": _decoder("Llama", 2048, 16, 32, 8, 8192, 128256, tie_word_embeddings=True),
    "llama-3.2-3b": _decoder("Llama", 3072, 28, 24, 8, 8192, 128256, tie_word_embeddings=True),
    "llama-3.1-8b": _decoder("Llama", 4096, 32, 32, 8, 14336, 128256),
    "llama-3.1-70b": _decoder("Llama", 8192, 80, 64, 8, 28672, 128256),
    "llama-3.1-405b": _decoder("Llama", 16384, 126, 128, 8, 53248, 128256),
    "tinyllama-1.1b": _decoder("Llama", 2048, 22, 32, 4, 5632, 32000),
    "mistral-7b": _decoder("Mistral", sliding_window=None, vocab_size=32768),
    "mistral-nemo-12b": _decoder("Mistral", 5120, 40, 32, 8, 14336, 131072, head_dim=128, sliding_window=None),
    "mistral-small-24b": _decoder("Mistral", 5120, 40, 32, 8, 32768, 131072, head_dim=128, sliding_window=None),
    "mistral-large": _decoder("Mistral", 12288, 88, 96, 8, 28672, 32768, sliding_window=None),
    "mixtral-8x7b": _decoder("Mixtral", None, 32, sliding_window=None),
    "mixtral-8x22b": _decoder("Mixtral", 6144, 56, 48, 8, 16384, 32768, sliding_window=None),
    "qwen2.5-0.5b": _decoder("Qwen2", 896, 24, 14, 2, 4864, 151936, tie_word_embeddings=True),
    "qwen2.5-1.5b": _decoder("Qwen2", 1536, 28, 12, 2, 8960, 151936, tie_word_embeddings=True),
    "qwen2.5-3b": _decoder("Qwen2", 2048, 36, 16, 2, 11008, 151936, tie_word_embeddings=True),
    "qwen2.5-14b": _decoder("Qwen2", 5120, 48, 40, 8, 13824, 152064),
    "qwen2.5-32b": _decoder("Qwen2", 5120, 64, 40, 8, 27648, 152064),
    "qwen2.5-72b": _decoder("Qwen2", 8192, 80, 64, 8, 29568, 152064),
    "qwen2.5-7b": _decoder("Qwen2", 3584, 28, 28, 4, 18944, 152064),
    "deepseek-r1-distill-qwen-1.5b": _decoder("Qwen2", 1536, 28, 12, 2, 8960, 151936),
    "qwen3-0.6b": _decoder("Qwen3", 1024, 28, 16, 8, 3072, 151936, head_dim=128, tie_word_embeddings=True),
    "qwen3-1.7b": _decoder("Qwen3", 2048, 28, 16, 8, 6144, 151936, head_dim=128, tie_word_embeddings=True),
    "qwen3-4b": _decoder("Qwen3", 2560, 36, 32, 8, 9728, 151936, head_dim=128, tie_word_embeddings=True),
    "qwen3-14b": _decoder("Qwen3", 5120, 40, 40, 8, 17408, 151936, head_dim=128),
    "qwen3-32b": _decoder("Qwen3", 5120, 64, 64, 8, 25600, 151936, head_dim=128),
    "qwen3-8b": _decoder("Qwen3", 4096, 36, 32, 8, 12288, 151936, head_dim=128),
    "deepseek-v2-lite": _decoder(
        "DeepseekV2",
        2048,
        27,
        16,
        16,
        10944,
        102400,
        moe_intermediate_size=1408,
        n_shared_experts=2,
        n_routed_experts=64,
        num_experts_per_tok=6,
        kv_lora_rank=512,
        q_lora_rank=None,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
        first_k_dense_replace=1,
        topk_method="greedy",
        norm_topk_prob=False,
        n_group=1,
        topk_group=1,
    ),
    "deepseek-v2": _decoder(
        "DeepseekV2",
        5120,
        60,
        128,
        128,
        12288,
        102400,
        moe_intermediate_size=1536,
        n_shared_experts=2,
        n_routed_experts=160,
        num_experts_per_tok=6,
        kv_lora_rank=512,
        q_lora_rank=1536,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
        first_k_dense_replace=1,
        topk_method="group_limited_greedy",
        norm_topk_prob=False,
        n_group=8,
        topk_group=3,
        routed_scaling_factor=16.0,
    ),
    "deepseek-v3": _decoder("DeepseekV3", quantization_config=_FP8_BLOCK),
    "qwen3-30b-a3b": _decoder(
        "Qwen3Moe",
        2048,
        48,
        32,
        4,
        6144,
        151936,
        head_dim=128,
        moe_intermediate_size=768,
        num_experts=128,
        num_experts_per_tok=8,
        norm_topk_prob=True,
    ),
    "qwen3-235b-a22b": _decoder(
        "Qwen3Moe",
        4096,
        94,
        64,
        4,
        12288,
        151936,
        head_dim=128,
        moe_intermediate_size=1536,
        num_experts=128,
        num_experts_per_tok=8,
        norm_topk_prob=True,
    ),
    "qwen3-coder-480b-a35b": _decoder(
        "Qwen3Moe",
        6144,
        62,
        96,
        8,
        8192,
        151936,
        head_dim=128,
        moe_intermediate_size=2560,
        num_experts=160,
        num_experts_per_tok=8,
        norm_topk_prob=True,
    ),
    "qwen3-next-80b-a3b": _decoder("Qwen3Next", intermediate_size=5120),
    "kimi-k2": _decoder(
        "DeepseekV3",
        7168,
        61,
        64,
        64,
        18432,
        163840,
        moe_intermediate_size=2048,
        n_routed_experts=384,
        num_experts_per_tok=8,
        n_group=1,
        topk_group=1,
        first_k_dense_replace=1,
        routed_scaling_factor=2.827,
        quantization_config=_FP8_BLOCK,
    ),
    "glm-4.5": _decoder(
        "Glm4Moe",
        5120,
        92,
        96,
        8,
        12288,
        151552,
        head_dim=128,
        moe_intermediate_size=1536,
        n_routed_experts=160,
        num_experts_per_tok=8,
        first_k_dense_replace=3,
        routed_scaling_factor=2.5,
        use_qk_norm=True,
        attention_bias=True,
    ),
    "glm-4.5-air": _decoder("Glm4Moe", head_dim=128, attention_bias=True),
    "gpt-oss-120b": _decoder("GptOss", quantization_config={"quant_method": "mxfp4"}),
    "gpt-oss-20b": _decoder("GptOss", None, 24, num_local_experts=32, quantization_config={"quant_method": "mxfp4"}),
    "minimax-m2.5": _decoder("MiniMaxM2", quantization_config=_FP8_BLOCK),
    "olmoe-1b-7b": _decoder("Olmoe", intermediate_size=1024, num_experts=64, num_experts_per_tok=8),
    "gemma-2b": _decoder("Gemma", 2048, 18, 8, 1, 16384),
    "gemma-7b": _decoder("Gemma"),
    "gemma-2-9b": _decoder("Gemma2", 3584, 42, 16, 8, 14336),
    "gemma-2-2b": _decoder("Gemma2", 2304, 26, 8, 4, 9216, head_dim=256),
    "gemma-2-27b": _decoder("Gemma2", 4608, 46, 32, 16, 36864, head_dim=128),
    "gemma-3-1b": _gemma_3(1152, 26, 4, 1, 6912, 256, vocab_size=262144, sliding_window=512),
    "gemma-3-4b": _gemma_3(2560, 34, 8, 4, 10240, 256),
    "gemma-3-12b": _gemma_3(3840, 48, 16, 8, 15360, 256),
    "gemma-3-27b": _gemma_3(5376, 62, 32, 16, 21504, 128, query_pre_attn_scalar=168),
    "gemma-3n-e2b": Architecture(
        "Gemma3nTextConfig", "Gemma3nForCausalLM", {"num_hidden_layers": 30, "intermediate_size": 8192, "num_kv_shared_layers": 10}
    ),
    "gemma-3n-e4b": Architecture("Gemma3nTextConfig", "Gemma3nForCausalLM"),
    "phi-4-mini": _decoder("Phi3", 3072, 32, 24, 8, 8192, 200064, sliding_window=None, tie_word_embeddings=True, partial_rotary_factor=0.75),
    "phi-4": _decoder("Phi3", 5120, 40, 40, 10, 17920, 100352, sliding_window=None),
    "phi-2": _decoder("Phi", 2560, 32, 32, None, 10240, 51200, partial_rotary_factor=0.4),
    "phi-3-mini": _decoder("Phi3", sliding_window=None),
    "phi-3-medium": _decoder("Phi3", 5120, 40, 40, 10, 17920, 32064, sliding_window=None),
    "phi-3.5-moe": _decoder("Phimoe", attention_bias=True, lm_head_bias=True),
    "stablelm-3b": _decoder("StableLm"),
    "starcoder2-7b": _decoder("Starcoder2", 4608, 32, 36, 4, 18432),
    "olmo-7b": _decoder("Olmo"),
    "granite-3b": _decoder("Granite", 2560, 32, 32, None, 10240, 49152),
    "cohere-35b": _decoder("Cohere"),
    "mamba-130m": _decoder("Mamba", None, 24, sequence=32),
    "mamba2-2.7b": _decoder("Mamba2", sequence=256),
    "rwkv-169m": _decoder("Rwkv", 768, 12, sequence=16),
    # encoder-decoders
    "t5-small": _of("T5", "ForConditionalGeneration"),
    "t5-base": _of("T5", "ForConditionalGeneration", d_model=768, d_ff=3072, num_layers=12, num_heads=12),
    "bart-large": _of("Bart", "ForConditionalGeneration"),
    "bart-base": _two_sided("Bart", 768, 6, 12, 3072),
    "pegasus-large": _of("Pegasus", "ForConditionalGeneration"),
    "whisper-tiny": _of("Whisper", "ForConditionalGeneration"),
    "whisper-base": _two_sided("Whisper", 512, 6, 8, 2048),
    # vision
    "vit-base-patch16-224": _classifier("ViT"),
    "deit-base": _classifier("DeiT"),
    "beit-base": _classifier("Beit"),
    "swin-tiny": _classifier("Swin"),
    "swinv2-tiny": _classifier("Swinv2"),
    "segformer-b0": _of("Segformer", "ForSemanticSegmentation", image=512),
    "convnext-tiny": _classifier("ConvNext"),
    "resnet-50": _classifier("ResNet"),
    "regnet-y-040": _classifier("RegNet"),
    "mobilevit-small": _classifier("MobileViT", image=256),
    "mobilenet-v2": _classifier("MobileNetV2"),
    "dinov2-base": _of("Dinov2", "Model", image_size=518, image=518),
    "poolformer-s12": _classifier("PoolFormer"),
    "detr-resnet-50": _of("Detr", "ForObjectDetection", use_pretrained_backbone=False, image=800),
    "deformable-detr": _of("DeformableDetr", "ForObjectDetection", use_pretrained_backbone=False, image=800),
    "yolos-base": _of("Yolos", "ForObjectDetection", image_size=[512, 864], image=512),
    "dpt-large": _of("DPT", "ForDepthEstimation", image=384),
    "glpn": _of("GLPN", "ForDepthEstimation", image=480),
    "upernet-swin": _of("UperNet", "ForSemanticSegmentation", image=512),
    # speech
    "wav2vec2-base": _of("Wav2Vec2", "Model", sequence=16000),
    "hubert-base": _of("Hubert", "Model", sequence=16000),
    "audio-spectrogram-transformer": _of("AST", "ForAudioClassification"),
    # both
    "clip-vit-base-patch32": _of("CLIP", "Model", sequence=77),
    "siglip-base": _of("Siglip", "Model", sequence=64),
    "blip-base": _of("Blip", "Model", sequence=32, image=384),
}
"""Architectures by the short name of the published model."""

_SAME = {
    "llama-3-8b": "llama-3.1-8b",
    "llama-3-70b": "llama-3.1-70b",
    "llama-3.3-70b": "llama-3.1-70b",
    "llama-guard-3-8b": "llama-3.1-8b",
    "llama-3.1-nemotron-70b": "llama-3.1-70b",
    "deepseek-r1-distill-llama-8b": "llama-3.1-8b",
    "deepseek-r1-distill-llama-70b": "llama-3.1-70b",
    "deepseek-r1-distill-qwen-7b": "qwen2.5-7b",
    "deepseek-r1-distill-qwen-14b": "qwen2.5-14b",
    "deepseek-r1-distill-qwen-32b": "qwen2.5-32b",
    "qwen2.5-coder-0.5b": "qwen2.5-0.5b",
    "qwen2.5-coder-1.5b": "qwen2.5-1.5b",
    "qwen2.5-coder-3b": "qwen2.5-3b",
    "qwen2.5-coder-7b": "qwen2.5-7b",
    "qwen2.5-coder-14b": "qwen2.5-14b",
    "qwen2.5-coder-32b": "qwen2.5-32b",
    "qwq-32b": "qwen2.5-32b",
    "qwen3-coder-30b-a3b": "qwen3-30b-a3b",
    "mistral-nemo": "mistral-nemo-12b",
    "mistral-small": "mistral-small-24b",
    "deepseek-r1": "deepseek-v3",
    "deepseek-r1-0528": "deepseek-v3",
    "deepseek-r1-0528-qwen3-8b": "qwen3-8b",
    "deepseek-r1-zero": "deepseek-v3",
    "deepseek-v3.1": "deepseek-v3",
    "deepseek-v3.1-terminus": "deepseek-v3",
    "deepseek-v2.5": "deepseek-v2",
    "deepseek-coder-v2": "deepseek-v2",
    "deepseek-coder-v2-lite": "deepseek-v2-lite",
    "glm-4.6": "glm-4.5",
    "kimi-k2-thinking": "kimi-k2",
    "qwen3-coder-480b": "qwen3-coder-480b-a35b",
    "qwen3-next": "qwen3-next-80b-a3b",
    "phi-3.5-mini": "phi-3-mini",
}
"""Published models that share the architecture of a row, and the name of the row."""

_TUNED = re.compile(r"^meta-|-(instruct|thinking|chat|it|hf|base|preview|128k|4k|reasoning|v\d\.\d|0324|0528|0905|1210|2407|2409|2411|2501|2507)(?=-|$)")
"""Parts of a name on the hub that tell how a model was trained, not its architecture."""


def row(name: str) -> str | None:
    """Return the name of a model's row, given its name on the hub; None if the table lacks its architecture."""
    short = name.rsplit("/", 1)[-1].lower()
    plain = _TUNED.sub("", short)
    return next((known for known in (short, _SAME.get(short), plain, _SAME.get(plain)) if known in ARCHITECTURES), None)
