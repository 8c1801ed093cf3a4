"""Small configurations of transformers' models: the class, what differs from its configuration's defaults, and the
inputs that the real model is run with. charz is given the configuration alone and finds its inputs itself."""

from __future__ import annotations

from typing import Any

Configuration = tuple[str, dict[str, Any], tuple[str, ...]]

TOKENS = ("input_ids=B,S:int64",)
BOTH = ("input_ids=B,S:int64", "decoder_input_ids=B,S:int64")

_DECODER: dict[str, Any] = {
    "vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 8,
    "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
_ENCODER: dict[str, Any] = {
    "vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
}  # fmt: skip
_T5: dict[str, Any] = {"vocab_size": 512, "d_model": 128, "d_kv": 32, "d_ff": 256, "num_heads": 4}
_SIDES: dict[str, Any] = {
    "vocab_size": 512, "d_model": 128, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 256, "decoder_ffn_dim": 256,
}  # fmt: skip
_SSM: dict[str, Any] = {"mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2}
_IMAGE: dict[str, Any] = {**_ENCODER, "image_size": 64, "patch_size": 16}
_IMAGE.pop("vocab_size")

CONFIGURATIONS: dict[str, Configuration] = {
    "qwen3": ("Qwen3ForCausalLM", {**_DECODER, "head_dim": 32}, TOKENS),
    "gpt_oss": (
        "GptOssForCausalLM",
        {**_DECODER, "head_dim": 32, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 128},
        TOKENS,
    ),
    "phi3": ("Phi3ForCausalLM", {**_DECODER, "sliding_window": None}, TOKENS),
    "qwen3_moe": (
        "Qwen3MoeForCausalLM",
        {**_DECODER, "head_dim": 32, "moe_intermediate_size": 64, "num_experts": 8, "num_experts_per_tok": 2},
        TOKENS,
    ),
    "gemma2": ("Gemma2ForCausalLM", {**_DECODER, "head_dim": 32, "sliding_window": 128}, TOKENS),
    "jamba": (
        "JambaForCausalLM",
        {**_DECODER, **_SSM, "num_hidden_layers": 4, "attn_layer_period": 4, "attn_layer_offset": 2,
         "expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": 4, "num_experts_per_tok": 2,
         "use_mamba_kernels": False},
        TOKENS,
    ),
    "bamba": (
        "BambaForCausalLM",
        {**_DECODER, "attn_layer_indices": [1], "mamba_d_state": 16, "mamba_n_heads": 8, "mamba_d_head": 32,
         "mamba_n_groups": 1, "mamba_chunk_size": 16, "mamba_expand": 2},
        TOKENS,
    ),
    "qwen3_next": (
        "Qwen3NextForCausalLM",
        {**_DECODER, "num_hidden_layers": 4, "head_dim": 32, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
         "linear_key_head_dim": 32, "linear_value_head_dim": 32, "moe_intermediate_size": 64, "num_experts": 4,
         "shared_expert_intermediate_size": 64, "num_experts_per_tok": 2},
        TOKENS,
    ),
    "mamba": (
        "MambaForCausalLM",
        {"vocab_size": 512, "hidden_size": 128, "num_hidden_layers": 2, "state_size": 8, "use_mambapy": False},
        TOKENS,
    ),
    "mamba2": (
        "Mamba2ForCausalLM",
        {"vocab_size": 512, "hidden_size": 128, "num_hidden_layers": 2, "state_size": 16, "num_heads": 8,
         "head_dim": 32, "n_groups": 1, "chunk_size": 16},
        TOKENS,
    ),
    "rwkv": ("RwkvForCausalLM", {"vocab_size": 512, "hidden_size": 128, "num_hidden_layers": 2}, TOKENS),
    "recurrent_gemma": (
        "RecurrentGemmaForCausalLM",
        {**_DECODER, "num_hidden_layers": 3, "num_key_value_heads": 1, "lru_width": 128, "attention_window_size": 128},
        TOKENS,
    ),
    "lfm2": ("Lfm2ForCausalLM", {**_DECODER, "num_hidden_layers": 4, "full_attn_idxs": [2]}, TOKENS),
    "minimax": (
        "MiniMaxForCausalLM",
        {**_DECODER, "head_dim": 32, "num_local_experts": 4, "num_experts_per_tok": 2, "block_size": 16},
        TOKENS,
    ),
    "t5": ("T5ForConditionalGeneration", {**_T5, "num_layers": 2}, BOTH),
    "bart": ("BartForConditionalGeneration", _SIDES, BOTH),
    "whisper": (
        "WhisperForConditionalGeneration",
        {**_SIDES, "max_source_positions": 150, "num_mel_bins": 40, "pad_token_id": 0, "bos_token_id": 1,
         "eos_token_id": 2, "decoder_start_token_id": 1},
        ("input_features=B,40,300", "decoder_input_ids=B,S:int64"),
    ),
    "switch_transformers": (
        "SwitchTransformersForConditionalGeneration",
        {**_T5, "num_layers": 2, "num_decoder_layers": 2, "num_sparse_encoder_layers": 1,
         "num_sparse_decoder_layers": 1, "num_experts": 4},
        BOTH,
    ),
    "nllb_moe": (
        "NllbMoeForConditionalGeneration",
        {**_SIDES, "encoder_sparse_step": 2, "decoder_sparse_step": 2, "num_experts": 4, "expert_capacity": 64},
        BOTH,
    ),
    "moonshine": (
        "MoonshineForConditionalGeneration",
        {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "encoder_num_hidden_layers": 2,
         "decoder_num_hidden_layers": 2, "encoder_num_attention_heads": 4, "decoder_num_attention_heads": 4},
        ("input_values=B,16000", "decoder_input_ids=B,S:int64"),
    ),
    "patchtst": (
        "PatchTSTForPrediction",
        {"num_input_channels": 5, "context_length": 96, "patch_length": 16, "patch_stride": 8, "d_model": 64,
         "num_attention_heads": 4, "ffn_dim": 128, "num_hidden_layers": 2, "prediction_length": 24},
        ("past_values=B,96,5",),
    ),
    "informer": (
        "InformerForPrediction",
        {"prediction_length": 24, "context_length": 48, "d_model": 64, "lags_sequence": [1, 2, 3],
         "num_time_features": 2, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 128,
         "decoder_ffn_dim": 128, "attention_type": "full"},
        ("past_values=B,51", "past_time_features=B,51,2", "past_observed_mask=B,51", "future_values=B,24",
         "future_time_features=B,24,2"),
    ),
    "siglip": (
        "SiglipModel",
        {"vision_config": _IMAGE, "text_config": {**_ENCODER, "max_position_embeddings": 64}},
        ("input_ids=B,64:int64", "pixel_values=B,3,64,64"),
    ),
    "wav2vec2": ("Wav2Vec2Model", {**_ENCODER, "num_conv_pos_embedding_groups": 4}, ("input_values=B,S",)),
    "longformer": ("LongformerModel", {**_ENCODER, "attention_window": [16, 16]}, TOKENS),
    "xlnet": ("XLNetModel", {"vocab_size": 512, "d_model": 128, "n_layer": 2, "n_head": 4, "d_inner": 256}, TOKENS),
    "funnel": (
        "FunnelModel",
        {"vocab_size": 512, "block_sizes": [1, 1, 1], "num_decoder_layers": 1, "d_model": 128, "n_head": 4,
         "d_head": 32, "d_inner": 256},
        TOKENS,
    ),
    "videomae": (
        "VideoMAEModel", {**_IMAGE, "num_frames": 8, "tubelet_size": 2}, ("pixel_values=B,8,3,64,64",)
    ),
    "timesformer": ("TimesformerModel", {**_IMAGE, "num_frames": 4}, ("pixel_values=B,4,3,64,64",)),
    "layoutlmv3": (
        "LayoutLMv3Model",
        {**_ENCODER, "input_size": 64, "coordinate_size": 22, "shape_size": 20, "max_position_embeddings": 258},
        ("input_ids=B,S:int64", "bbox=B,S,4:int64", "pixel_values=B,3,64,64"),
    ),
}  # fmt: skip
"""By the name the configuration is saved under."""
