"""A file of few parts with a network, the same network for training, a language model, and one whose cache is a latent."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import charz
from charz.session import Session

SETTINGS = [
    "num_hidden_layers=2", "hidden_size=256", "intermediate_size=512", "num_attention_heads=8", "num_key_value_heads=2",
    "vocab_size=1024",
]  # fmt: skip

LATENT = [
    "num_hidden_layers=2", "hidden_size=256", "intermediate_size=512", "num_attention_heads=8", "num_key_value_heads=8",
    "vocab_size=1024", "q_lora_rank=64", "kv_lora_rank=64", "qk_rope_head_dim=16", "qk_nope_head_dim=32", "v_head_dim=32",
    "head_dim=16", "n_routed_experts=4", "num_experts_per_tok=2", "n_group=1", "topk_group=1", "moe_intermediate_size=64", "first_k_dense_replace=1",
]  # fmt: skip
"""DeepSeek-V3 with two layers, one of them with experts; its latent has 64 + 16 numbers a token and layer."""


@pytest.fixture(scope="session")
def networks(once: Callable[[str, Callable[[Path], object]], Path], few_parts: Path) -> Path:
    """A database whose answers are at hand; tests only read it."""
    return once("metamorphic.duckdb", lambda path: _make(shutil.copy(few_parts, path)))


def _make(path: Path) -> None:
    import torch

    from .written import Net

    images = [torch.zeros(2, 3, 32, 32)]
    with charz.open(path) as db:
        with db.changing(fills=False) as connection:
            # Only few scenarios, so that their answers are filled in seconds.
            connection.execute("DELETE FROM scenario WHERE batch > 1 OR phase <> 'forward' OR sequence IS NOT NULL")
        db.ingest(Net(), inputs=images, name="net", no_answers=True)
        db.ingest(Net(), inputs=images, name="net_trained", train=True, no_answers=True)
        db.ingest(["hf:llama-2-7b"], settings=SETTINGS, name="language", no_answers=True)
        db.ingest(["hf:deepseek-v3"], settings=LATENT, name="latent", no_answers=True)
        db.refresh()


@pytest.fixture
def db(networks: Path) -> Iterator[Session]:
    """Session without earlier answers."""
    with charz.open(networks) as db:
        yield db
