"""Well-known transformers architectures as differences from their configuration class's defaults.

The defaults of a configuration class are those of the model that introduced it, so most rows change
nothing. Changed values are those of the published `config.json` of the model named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Architecture:
    """A configuration class, the class that runs it, and what differs from the defaults."""

    config: str
    model: str
    changes: dict[str, Any] = field(default_factory=dict)
    sequence: int = 128
    """Default sequence length."""
    image: int = 224
    """Default image height and width."""


def _llama(
    hidden: int, layers: int, heads: int, kv: int, inner: int, vocabulary: int, tied: bool = False
) -> Architecture:
    sizes = {
        "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv,
        "intermediate_size": inner, "vocab_size": vocabulary, "tie_word_embeddings": tied,
    }  # fmt: skip
    return Architecture("LlamaConfig", "LlamaForCausalLM", sizes)


def _decoder(family: str, **changes: Any) -> Architecture:
    return Architecture(f"{family}Config", f"{family}ForCausalLM", changes)


ARCHITECTURES: dict[str, Architecture] = {
    # encoders
    "bert-base-uncased": Architecture("BertConfig", "BertModel"),
    "bert-large-uncased": Architecture(
        "BertConfig",
        "BertModel",
        {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
        sequence=384,
    ),
    "roberta-base": Architecture(
        "RobertaConfig", "RobertaModel", {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}
    ),
    "distilbert-base-uncased": Architecture("DistilBertConfig", "DistilBertModel"),
    "albert-base-v2": Architecture(
        "AlbertConfig",
        "AlbertModel",
        {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "hidden_act": "gelu_new"},
    ),
    "electra-small": Architecture("ElectraConfig", "ElectraModel"),
    "xlm-roberta-base": Architecture(
        "XLMRobertaConfig",
        "XLMRobertaModel",
        {"vocab_size": 250002, "max_position_embeddings": 514, "type_vocab_size": 1},
    ),
    "mpnet-base": Architecture("MPNetConfig", "MPNetModel"),
    "deberta-v3-base": Architecture(
        "DebertaV2Config",
        "DebertaV2Model",
        {
            "vocab_size": 128100,
            "hidden_size": 768,
            "num_hidden_layers": 12,
            "num_attention_heads": 12,
            "intermediate_size": 3072,
            "relative_attention": True,
            "position_buckets": 256,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "pos_att_type": ["p2c", "c2p"],
            "max_relative_positions": -1,
            "position_biased_input": False,
            "type_vocab_size": 0,
        },
    ),
    "modernbert-base": Architecture("ModernBertConfig", "ModernBertModel"),
    "mobilebert-uncased": Architecture("MobileBertConfig", "MobileBertModel"),
    "squeezebert-uncased": Architecture("SqueezeBertConfig", "SqueezeBertModel"),
    "layoutlm-base": Architecture("LayoutLMConfig", "LayoutLMModel"),
    "fnet-base": Architecture("FNetConfig", "FNetModel"),
    "nystromformer-512": Architecture(
        "NystromformerConfig", "NystromformerModel", {"segment_means_seq_len": 64}, sequence=448
    ),
    # decoders
    "gpt2": Architecture("GPT2Config", "GPT2LMHeadModel"),
    "gpt2-large": Architecture("GPT2Config", "GPT2LMHeadModel", {"n_embd": 1280, "n_layer": 36, "n_head": 20}),
    "gpt2-xl": Architecture("GPT2Config", "GPT2LMHeadModel", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    "gpt-neo-1.3b": Architecture("GPTNeoConfig", "GPTNeoForCausalLM"),
    "gpt-neox-20b": _decoder("GPTNeoX"),
    "gpt-j-6b": _decoder("GPTJ"),
    "opt-125m": _decoder("OPT"),
    "opt-1.3b": _decoder(
        "OPT", hidden_size=2048, num_hidden_layers=24, num_attention_heads=32, ffn_dim=8192, word_embed_proj_dim=2048
    ),
    "bloom-560m": _decoder("Bloom", hidden_size=1024, n_layer=24, n_head=16),
    "falcon-7b": _decoder("Falcon", vocab_size=65024, multi_query=True, parallel_attn=True, bias=False),
    "llama-2-7b": _llama(4096, 32, 32, 32, 11008, 32000),
    "llama-2-13b": _llama(5120, 40, 40, 40, 13824, 32000),
    "llama-2-70b": _llama(8192, 80, 64, 8, 28672, 32000),
    "llama-3.2-1b": _llama(2048, 16, 32, 8, 8192, 128256, tied=True),
    "llama-3.2-3b": _llama(3072, 28, 24, 8, 8192, 128256, tied=True),
    "llama-3.1-8b": _llama(4096, 32, 32, 8, 14336, 128256),
    "llama-3.1-70b": _llama(8192, 80, 64, 8, 28672, 128256),
    "llama-3.1-405b": _llama(16384, 126, 128, 8, 53248, 128256),
    "tinyllama-1.1b": _llama(2048, 22, 32, 4, 5632, 32000),
    "mistral-7b": _decoder("Mistral", sliding_window=None, vocab_size=32768),
    "mixtral-8x7b": _decoder("Mixtral", num_hidden_layers=32, sliding_window=None),
    "mixtral-8x22b": _decoder(
        "Mixtral",
        hidden_size=6144,
        num_hidden_layers=56,
        num_attention_heads=48,
        num_key_value_heads=8,
        intermediate_size=16384,
        vocab_size=32768,
        sliding_window=None,
    ),
    "qwen2.5-0.5b": _decoder(
        "Qwen2",
        hidden_size=896,
        num_hidden_layers=24,
        num_attention_heads=14,
        num_key_value_heads=2,
        intermediate_size=4864,
        vocab_size=151936,
        tie_word_embeddings=True,
    ),
    "qwen2.5-7b": _decoder(
        "Qwen2",
        hidden_size=3584,
        num_hidden_layers=28,
        num_attention_heads=28,
        num_key_value_heads=4,
        intermediate_size=18944,
        vocab_size=152064,
    ),
    "qwen3-8b": _decoder(
        "Qwen3",
        hidden_size=4096,
        num_hidden_layers=36,
        num_attention_heads=32,
        num_key_value_heads=8,
        head_dim=128,
        intermediate_size=12288,
        vocab_size=151936,
    ),
    "qwen3-30b-a3b": _decoder(
        "Qwen3Moe",
        hidden_size=2048,
        num_hidden_layers=48,
        num_attention_heads=32,
        num_key_value_heads=4,
        head_dim=128,
        intermediate_size=6144,
        moe_intermediate_size=768,
        num_experts=128,
        num_experts_per_tok=8,
        vocab_size=151936,
        norm_topk_prob=True,
    ),
    "olmoe-1b-7b": _decoder("Olmoe", intermediate_size=1024, num_experts=64, num_experts_per_tok=8),
    "gemma-2b": _decoder(
        "Gemma",
        hidden_size=2048,
        num_hidden_layers=18,
        num_attention_heads=8,
        num_key_value_heads=1,
        intermediate_size=16384,
    ),
    "gemma-7b": _decoder("Gemma"),
    "gemma-2-9b": _decoder(
        "Gemma2",
        hidden_size=3584,
        num_hidden_layers=42,
        num_attention_heads=16,
        num_key_value_heads=8,
        intermediate_size=14336,
    ),
    "phi-2": _decoder(
        "Phi",
        hidden_size=2560,
        num_hidden_layers=32,
        num_attention_heads=32,
        intermediate_size=10240,
        vocab_size=51200,
        partial_rotary_factor=0.4,
    ),
    "phi-3-mini": _decoder("Phi3", sliding_window=None),
    "stablelm-3b": _decoder("StableLm"),
    "starcoder2-7b": _decoder(
        "Starcoder2",
        hidden_size=4608,
        intermediate_size=18432,
        num_hidden_layers=32,
        num_attention_heads=36,
        num_key_value_heads=4,
    ),
    "olmo-7b": _decoder("Olmo"),
    "granite-3b": _decoder(
        "Granite",
        hidden_size=2560,
        intermediate_size=10240,
        num_hidden_layers=32,
        num_attention_heads=32,
        vocab_size=49152,
    ),
    "cohere-35b": _decoder("Cohere"),
    "mamba-130m": Architecture("MambaConfig", "MambaForCausalLM", {"num_hidden_layers": 24}, sequence=32),
    "mamba2-2.7b": Architecture("Mamba2Config", "Mamba2ForCausalLM", sequence=256),
    "rwkv-169m": Architecture(
        "RwkvConfig", "RwkvForCausalLM", {"num_hidden_layers": 12, "hidden_size": 768}, sequence=16
    ),
    # encoder-decoders
    "t5-small": Architecture("T5Config", "T5ForConditionalGeneration"),
    "t5-base": Architecture(
        "T5Config", "T5ForConditionalGeneration", {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}
    ),
    "bart-large": Architecture("BartConfig", "BartForConditionalGeneration"),
    "bart-base": Architecture(
        "BartConfig",
        "BartForConditionalGeneration",
        {
            "d_model": 768,
            "encoder_layers": 6,
            "decoder_layers": 6,
            "encoder_attention_heads": 12,
            "decoder_attention_heads": 12,
            "encoder_ffn_dim": 3072,
            "decoder_ffn_dim": 3072,
        },
    ),
    "pegasus-large": Architecture("PegasusConfig", "PegasusForConditionalGeneration"),
    "whisper-tiny": Architecture("WhisperConfig", "WhisperForConditionalGeneration"),
    "whisper-base": Architecture(
        "WhisperConfig",
        "WhisperForConditionalGeneration",
        {
            "d_model": 512,
            "encoder_layers": 6,
            "decoder_layers": 6,
            "encoder_attention_heads": 8,
            "decoder_attention_heads": 8,
            "encoder_ffn_dim": 2048,
            "decoder_ffn_dim": 2048,
        },
    ),
    # vision
    "vit-base-patch16-224": Architecture("ViTConfig", "ViTForImageClassification"),
    "deit-base": Architecture("DeiTConfig", "DeiTForImageClassification"),
    "beit-base": Architecture("BeitConfig", "BeitForImageClassification"),
    "swin-tiny": Architecture("SwinConfig", "SwinForImageClassification"),
    "swinv2-tiny": Architecture("Swinv2Config", "Swinv2ForImageClassification"),
    "segformer-b0": Architecture("SegformerConfig", "SegformerForSemanticSegmentation", image=512),
    "convnext-tiny": Architecture("ConvNextConfig", "ConvNextForImageClassification"),
    "resnet-50": Architecture("ResNetConfig", "ResNetForImageClassification"),
    "regnet-y-040": Architecture("RegNetConfig", "RegNetForImageClassification"),
    "mobilevit-small": Architecture("MobileViTConfig", "MobileViTForImageClassification", image=256),
    "mobilenet-v2": Architecture("MobileNetV2Config", "MobileNetV2ForImageClassification"),
    "dinov2-base": Architecture("Dinov2Config", "Dinov2Model", {"image_size": 518}, image=518),
    "poolformer-s12": Architecture("PoolFormerConfig", "PoolFormerForImageClassification"),
    "detr-resnet-50": Architecture(
        "DetrConfig", "DetrForObjectDetection", {"use_pretrained_backbone": False}, image=800
    ),
    "deformable-detr": Architecture(
        "DeformableDetrConfig", "DeformableDetrForObjectDetection", {"use_pretrained_backbone": False}, image=800
    ),
    "yolos-base": Architecture("YolosConfig", "YolosForObjectDetection", {"image_size": [512, 864]}, image=512),
    "dpt-large": Architecture("DPTConfig", "DPTForDepthEstimation", image=384),
    "glpn": Architecture("GLPNConfig", "GLPNForDepthEstimation", image=480),
    "upernet-swin": Architecture("UperNetConfig", "UperNetForSemanticSegmentation", image=512),
    # speech
    "wav2vec2-base": Architecture("Wav2Vec2Config", "Wav2Vec2Model", sequence=16000),
    "hubert-base": Architecture("HubertConfig", "HubertModel", sequence=16000),
    "audio-spectrogram-transformer": Architecture("ASTConfig", "ASTForAudioClassification"),
    # both
    "clip-vit-base-patch32": Architecture("CLIPConfig", "CLIPModel", sequence=77),
    "siglip-base": Architecture("SiglipConfig", "SiglipModel", sequence=64),
    "blip-base": Architecture("BlipConfig", "BlipModel", sequence=32, image=384),
}
"""By the short name of the published model."""
