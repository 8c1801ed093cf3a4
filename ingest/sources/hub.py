"""Usual names on the hub (huggingface.co) of models that have a row or another name in `architectures.py`, for commands that start a server."""

from __future__ import annotations

_BY_OWNER = {
    "openai-community": {"gpt2": "gpt2", "gpt2-large": "gpt2-large", "gpt2-xl": "gpt2-xl"},
    "EleutherAI": {"gpt-neo-1.3b": "gpt-neo-1.3B", "gpt-neox-20b": "gpt-neox-20b", "gpt-j-6b": "gpt-j-6b"},
    "facebook": {"opt-125m": "opt-125m", "opt-1.3b": "opt-1.3b"},
    "bigscience": {"bloom-560m": "bloom-560m"},
    "tiiuae": {"falcon-7b": "falcon-7b"},
    "meta-llama": {
        "llama-2-7b": "Llama-2-7b-chat-hf", "llama-2-13b": "Llama-2-13b-chat-hf", "llama-2-70b": "Llama-2-70b-chat-hf",
        "llama-3-8b": "Meta-Llama-3-8B-Instruct", "llama-3-70b": "Meta-Llama-3-70B-Instruct", "llama-3.1-8b": "Llama-3.1-8B-Instruct",
        "llama-3.1-70b": "Llama-3.1-70B-Instruct", "llama-3.1-405b": "Llama-3.1-405B-Instruct", "llama-3.2-1b": "Llama-3.2-1B-Instruct",
        "llama-3.2-3b": "Llama-3.2-3B-Instruct", "llama-3.3-70b": "Llama-3.3-70B-Instruct", "llama-guard-3-8b": "Llama-Guard-3-8B",
    },
    "nvidia": {"llama-3.1-nemotron-70b": "Llama-3.1-Nemotron-70B-Instruct-HF"},
    "TinyLlama": {"tinyllama-1.1b": "TinyLlama-1.1B-Chat-v1.0"},
    "mistralai": {
        "mistral-7b": "Mistral-7B-Instruct-v0.3", "mistral-nemo": "Mistral-Nemo-Instruct-2407", "mistral-nemo-12b": "Mistral-Nemo-Instruct-2407",
        "mistral-small": "Mistral-Small-24B-Instruct-2501", "mistral-small-24b": "Mistral-Small-24B-Instruct-2501",
        "mistral-large": "Mistral-Large-Instruct-2407", "mixtral-8x7b": "Mixtral-8x7B-Instruct-v0.1", "mixtral-8x22b": "Mixtral-8x22B-Instruct-v0.1",
    },
    "Qwen": {
        **{f"qwen2.5-{size}b": f"Qwen2.5-{size}B-Instruct" for size in ("0.5", "1.5", "3", "7", "14", "32", "72")},
        **{f"qwen2.5-coder-{size}b": f"Qwen2.5-Coder-{size}B-Instruct" for size in ("0.5", "1.5", "3", "7", "14", "32")},
        **{f"qwen3-{size}b": f"Qwen3-{size}B" for size in ("0.6", "1.7", "4", "8", "14", "32")},
        "qwq-32b": "QwQ-32B", "qwen3-30b-a3b": "Qwen3-30B-A3B", "qwen3-235b-a22b": "Qwen3-235B-A22B",
        "qwen3-coder-30b-a3b": "Qwen3-Coder-30B-A3B-Instruct", "qwen3-coder-480b": "Qwen3-Coder-480B-A35B-Instruct",
        "qwen3-coder-480b-a35b": "Qwen3-Coder-480B-A35B-Instruct", "qwen3-next": "Qwen3-Next-80B-A3B-Instruct",
        "qwen3-next-80b-a3b": "Qwen3-Next-80B-A3B-Instruct",
    },
    "deepseek-ai": {
        **{f"deepseek-r1-distill-llama-{size}b": f"DeepSeek-R1-Distill-Llama-{size}B" for size in (8, 70)},
        **{f"deepseek-r1-distill-qwen-{size}b": f"DeepSeek-R1-Distill-Qwen-{size}B" for size in ("1.5", "7", "14", "32")},
        "deepseek-v2-lite": "DeepSeek-V2-Lite-Chat", "deepseek-v2": "DeepSeek-V2-Chat", "deepseek-v2.5": "DeepSeek-V2.5",
        "deepseek-coder-v2": "DeepSeek-Coder-V2-Instruct", "deepseek-coder-v2-lite": "DeepSeek-Coder-V2-Lite-Instruct",
        "deepseek-v3": "DeepSeek-V3", "deepseek-v3.1": "DeepSeek-V3.1", "deepseek-v3.1-terminus": "DeepSeek-V3.1-Terminus",
        "deepseek-r1": "DeepSeek-R1", "deepseek-r1-0528": "DeepSeek-R1-0528", "deepseek-r1-zero": "DeepSeek-R1-Zero",
        "deepseek-r1-0528-qwen3-8b": "DeepSeek-R1-0528-Qwen3-8B",
    },
    "moonshotai": {"kimi-k2": "Kimi-K2-Instruct", "kimi-k2-thinking": "Kimi-K2-Thinking"},
    "zai-org": {"glm-4.5": "GLM-4.5", "glm-4.5-air": "GLM-4.5-Air", "glm-4.6": "GLM-4.6"},
    "openai": {"gpt-oss-120b": "gpt-oss-120b", "gpt-oss-20b": "gpt-oss-20b"},
    "MiniMaxAI": {"minimax-m2.5": "MiniMax-M2.5"},
    "google": {
        "gemma-2b": "gemma-2b-it", "gemma-7b": "gemma-7b-it", **{f"gemma-2-{size}b": f"gemma-2-{size}b-it" for size in (2, 9, 27)},
        **{f"gemma-3-{size}b": f"gemma-3-{size}b-it" for size in (1, 4, 12, 27)},
        "gemma-3n-e2b": "gemma-3n-E2B-it", "gemma-3n-e4b": "gemma-3n-E4B-it",
    },
    "microsoft": {
        "phi-2": "phi-2", "phi-3-mini": "Phi-3-mini-4k-instruct", "phi-3-medium": "Phi-3-medium-4k-instruct", "phi-3.5-mini": "Phi-3.5-mini-instruct",
        "phi-3.5-moe": "Phi-3.5-MoE-instruct", "phi-4": "phi-4", "phi-4-mini": "Phi-4-mini-instruct",
    },
    "bigcode": {"starcoder2-7b": "starcoder2-7b"},
}  # fmt: skip

NAMES = {short: f"{owner}/{name}" for owner, names in _BY_OWNER.items() for short, name in names.items()}
"""Name on the hub by the name that `charz ingest hf:NAME` takes; a variant for chats where there is one."""
