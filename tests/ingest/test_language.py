"""Small transformers models from a `config.json`, as the library runs them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from charz.ingest.compile.rules import Rules
from charz.ingest.pipeline import ingest
from charz.ingest.rows import Ingested
from charz.ingest.sources import language
from charz.ingest.sources.spec import parse
from charz.schema.row import Row
from charz.schema.workload import LayoutCopy, Operator, OperatorLayout, Tensor, Term

pytest.importorskip("transformers")

SMALL: dict[str, Any] = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2,
    "intermediate_size": 128, "vocab_size": 256, "max_position_embeddings": 512,
}  # fmt: skip
EXPERTS: dict[str, Any] = {"num_experts_per_tok": 2, "head_dim": 8}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "Llama": {"model_type": "llama", **SMALL},
    "Phi3": {"model_type": "phi3", **SMALL, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "sliding_window": None},
    "GptOss": {
        "model_type": "gpt_oss", **SMALL, **EXPERTS, "num_local_experts": 4, "layer_types": ["full_attention"] * 2,
    },
    "Qwen3Moe": {"model_type": "qwen3_moe", **SMALL, **EXPERTS, "num_experts": 4, "moe_intermediate_size": 32},
    "RecurrentGemma": {
        "model_type": "recurrent_gemma", **{k: v for k, v in SMALL.items() if k != "max_position_embeddings"},
        "num_hidden_layers": 3, "lru_width": 64, "attention_window_size": 128, "head_dim": 8,
    },
}  # fmt: skip
"""By family; heads of queries share keys in all."""

Ingest = Callable[..., Ingested]


@pytest.fixture
def ingested(tmp_path: Path, rules: Rules) -> Ingest:
    """`ingested(family, **options)`: the rows of the causal model of a configuration above."""

    def made(family: str, **options: Any) -> Ingested:
        values = {**CONFIGURATIONS[family], "architectures": [f"{family}ForCausalLM"]}
        path = tmp_path / f"{family.lower()}.json"
        path.write_text(json.dumps(values))
        return ingest(parse(f"hf:{path}", **options), rules)

    return made


def column(found: Ingested, row_type: type[Row], name: str) -> list[Any]:
    """A column of the rows of a type."""
    return found.columns[row_type][name]


def layouts(found: Ingested) -> dict[int, str]:
    """Layout by operator; no small model here has images, so that both formats are alike."""
    by_operator = zip(
        column(found, OperatorLayout, "operator_id"), column(found, OperatorLayout, "layout"), strict=True
    )
    return dict(by_operator)


@pytest.mark.parametrize("family", ["Phi3", "GptOss", "Qwen3Moe"])
def test_heads_that_share_keys_have_layouts(ingested: Ingest, family: str) -> None:
    found = ingested(family)
    assert found.model["layout_problem"] is None
    assert "strided" in layouts(found).values()


def test_joining_heads_that_share_keys_is_no_copy(ingested: Ingest) -> None:
    """Attention leaves the heads of a position together, as its query has them."""
    found = ingested("Llama")
    assert found.model["layout_problem"] is None
    joined = [
        operator_id
        for operator_id, name in enumerate(column(found, Operator, "aten_operator"))
        if name == "aten.contiguous.default"
    ]
    assert [layouts(found).get(o) for o in joined] == ["view", "view"]
    assert not column(found, LayoutCopy, "operator_id")


def test_a_fixed_sequence_attends_to_itself(ingested: Ingest) -> None:
    """RecurrentGemma walks through its tokens one by one, which fixes their number; so is the context fixed then."""
    found = ingested("RecurrentGemma", sequence=8)
    assert not found.model["is_sequence_symbolic"]
    assert not found.model["has_context"]
    terms = zip(*(column(found, Term, n) for n in ("step", "quantity", "coefficient", "batch_power")), strict=True)
    lengths = {(c, b) for step, quantity, c, b in terms if step in ("qk", "av") and (step, quantity) in KEYS}
    assert lengths == {(8.0, 0)}


def test_attention_with_sinks_runs_step_by_step(ingested: Ingest) -> None:
    """As the library runs it, which has no fused kernel for it: a product, the sinks put beside the scores, a softmax
    and a product in each layer, with a mask made once for all."""
    found = ingested("GptOss")
    assert found.model["is_sequence_symbolic"]
    assert found.model["has_context"]
    names = Counter(column(found, Operator, "aten_operator"))
    assert "aten.scaled_dot_product_attention.default" not in names
    assert names["aten.matmul.default"] == 4
    shapes = Counter(column(found, Tensor, "shape"))
    assert shapes["[B, 8, S, C + 1]"] or shapes["[B, 8, S, 1 + C]"]
    assert shapes["[B, 1, S, C]"]


def test_fused_attention_refuses_sinks() -> None:
    heads = torch.empty(1, 2, 4, 8)
    with pytest.raises(ValueError, match="sinks"):
        language.attention(torch.nn.Module(), heads, heads, heads, None, s_aux=torch.empty(2))


KEYS = {("qk", "n"), ("av", "k")}
"""Step and dimension of an attention's products that count the keys."""
