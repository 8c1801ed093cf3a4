"""Language models of the energy measurements: the shipped architecture of each, with its differences.

Sizes are those of the models' published descriptions; no configuration or weight is downloaded. Fine-tuned models use the name of
their base model.
"""

from __future__ import annotations

import json

from charz.ingest.sources.spec import Spec

_QWEN3_14B = (
    ("hidden_size", "5120"), ("num_hidden_layers", "40"), ("num_attention_heads", "40"), ("intermediate_size", "17408"),
    ("layer_types", json.dumps(["full_attention"] * 40)),
)  # fmt: skip
_NEMO = (("hidden_size", "5120"), ("num_hidden_layers", "40"), ("head_dim", "128"), ("vocab_size", "131072"))
_STARCODER2_3B = (
    ("hidden_size", "3072"), ("num_hidden_layers", "30"), ("num_attention_heads", "24"), ("num_key_value_heads", "2"),
    ("intermediate_size", "12288"),
)  # fmt: skip
_STARCODER2_15B = (
    ("hidden_size", "6144"), ("num_hidden_layers", "40"), ("num_attention_heads", "48"), ("num_key_value_heads", "4"),
    ("intermediate_size", "24576"),
)  # fmt: skip
_PHI3_MEDIUM = (
    ("hidden_size", "5120"), ("num_hidden_layers", "40"), ("num_attention_heads", "40"), ("num_key_value_heads", "10"),
    ("intermediate_size", "17920"),
)  # fmt: skip

_MADE_FROM: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[str, ...]] = {
    ("llama-2-7b", ()): (
        "metaai/llama-7B", "metaai/Llama-2-7b-chat-hf", "lmsys/vicuna-7B", "BAIR/koala-7b", "tatsu-lab/alpaca-7B",
        "project-baize/baize-v2-7B", "h2oai/h2ogpt-gm-oasst1-en-2048-open-llama-7b-preview-300bt-v2",
        "Salesforce/xgen-7b-8k-inst", "codellama/CodeLlama-7b-hf", "Neutralzz/BiLLa-7B-SFT",
    ),
    ("llama-2-13b", ()): (
        "metaai/llama-13B", "metaai/Llama-2-13b-chat-hf", "lmsys/vicuna-13B", "BAIR/koala-13b",
        "camel-ai/CAMEL-13B-Combined-Data", "nomic-ai/gpt4all-13b-snoozy", "openaccess-ai-collective/manticore-13b-chat-pyg",
        "codellama/CodeLlama-13b-hf",
    ),
    ("llama-3.1-8b", ()): ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Meta-Llama-3.1-8B-Instruct"),
    ("mistral-7b", ()): ("mistralai/Mistral-7B-Instruct-v0.3",),
    ("mistral-7b", _NEMO): ("mistralai/Mistral-Nemo-Instruct-2407",),
    ("qwen3-8b", ()): ("Qwen/Qwen3-8B",),
    ("qwen3-8b", _QWEN3_14B): ("Qwen/Qwen3-14B",),
    ("gemma-2b", ()): ("google/codegemma-1.1-2b",),
    ("gemma-7b", ()): ("google/codegemma-7b",),
    ("gemma-2-9b", ()): ("google/gemma-2-9b-it",),
    ("phi-3-mini", ()): ("microsoft/Phi-3-mini-4k-instruct",),
    ("phi-3-mini", _PHI3_MEDIUM): ("microsoft/Phi-3-medium-4k-instruct",),
    ("starcoder2-7b", _STARCODER2_3B): ("bigcode/starcoder2-3b",),
    ("starcoder2-7b", ()): ("bigcode/starcoder2-7b",),
    ("starcoder2-7b", _STARCODER2_15B): ("bigcode/starcoder2-15b",),
}  # fmt: skip


def specs() -> list[Spec]:
    """List the specifications to ingest."""
    return [Spec(name, "huggingface", settings=settings) for name, settings in _MADE_FROM]


def names() -> dict[str, str]:
    """Map the name in a measurement file to the name in the database."""
    return {
        measured: f"hf:{name}" + "".join(f",{key}={value}" for key, value in settings)
        for (name, settings), made in _MADE_FROM.items()
        for measured in made
    }
