"""Ingests the models of published training rows, each with two of its layers, for `benchmarks.score_training`.

    python -m benchmarks.training_models FILE [NAME ...]

Megatron of 2022 runs attention step by step, its scores kept for the backward pass; all others run it as one kernel. Sizes are those
of the models' published descriptions: of llm-foundry's MPT (d_model, layers, heads; vocabulary 50,368), of Megatron (Korthikanti et
al. 2022, table 5; vocabulary 51,200) and of NeMo's GPT-3. Without NAMEs all that the file does not have.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import charz

_HEADS = {
    "mpt-125m": (768, 12), "mpt-350m": (1024, 16), "mpt-1b": (2048, 16), "mpt-3b": (2560, 20), "mpt-13b": (5120, 40), "mpt-70b": (8192, 64),
}  # fmt: skip
"""Width and heads."""
_GPT = {
    "gpt3-5b": (4096, 32), "gpt3-20b": (6144, 48), "gpt3-175b": (12288, 96), "m22": (6144, 64), "m175": (12288, 96), "m530": (20480, 128), "m1t": (25600, 160),
}  # fmt: skip
_SHIPPED = {
    "llama-2-7b": "llama-2-7b", "llama-2-13b": "llama-2-13b", "llama-2-70b": "llama-2-70b", "llama-3-8b": "llama-3.1-8b",
    "llama-3-70b": "llama-3.1-70b", "gpt-oss-120b": "gpt-oss-120b",
}  # fmt: skip
"""Shipped architecture by the name in the file."""

STEP_BY_STEP = ("m22", "m175", "m530", "m1t")
"""Models of Megatron."""

LAYERS = 2
LONGEST = 65536


def configurations() -> dict[str, dict[str, Any]]:
    """Configuration of each model that is not shipped."""
    mpt = {
        name: {
            "model_type": "mpt", "architectures": ["MptForCausalLM"], "n_layers": LAYERS, "d_model": width, "n_heads": heads,
            "max_seq_len": LONGEST, "vocab_size": 50368,
        }
        for name, (width, heads) in _HEADS.items()
    }  # fmt: skip
    gpt = {
        name: {
            "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": LAYERS, "n_embd": width, "n_head": heads,
            "n_positions": 2048, "vocab_size": 51200, "activation_function": "gelu",
        }
        for name, (width, heads) in _GPT.items()
    }  # fmt: skip
    return mpt | gpt


def main() -> None:
    """Ingest what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path, help="file that gets the models")
    parser.add_argument("names", nargs="*", help="some of them")
    options = parser.parse_args()
    shaped = configurations()
    with charz.open(options.database) as db, tempfile.TemporaryDirectory() as folder:
        held = set(db.sql("SELECT model FROM model")["model"]) if options.database.exists() else set()
        for name in options.names or [*shaped, *_SHIPPED]:
            if name in held:
                continue
            if name in shaped:
                path = Path(folder) / f"{name}.json"
                path.write_text(json.dumps(shaped[name]))
                settings = ["attn_implementation=eager"] if name in STEP_BY_STEP else []
                db.ingest([str(path)], settings=settings, train=True, no_answers=True, name=name)
            else:
                settings = [f"num_hidden_layers={LAYERS}"]
                db.ingest([f"hf:{_SHIPPED[name]}"], settings=settings, train=True, no_answers=True, name=name)
            print(name, flush=True)


if __name__ == "__main__":
    main()
