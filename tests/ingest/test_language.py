"""Small transformers models from a `config.json`, as the library runs them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from charz.ingest.compile.rules import Rules
from charz.ingest.pipeline import ingest
from charz.ingest.rows import Ingested
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema.errors import CharzError
from charz.schema.row import Row
from charz.schema.workload import LayoutCopy, Operator, OperatorLayout, Tensor, TensorTerm, Term

transformers = pytest.importorskip("transformers")

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
    "Mamba": {
        "model_type": "mamba", "hidden_size": 64, "num_hidden_layers": 2, "state_size": 8, "vocab_size": 256,
        "use_mambapy": False,
    },
    "Lfm2": {"model_type": "lfm2", **SMALL, "full_attn_idxs": [1]},
}  # fmt: skip
"""Configurations by family; in all of them heads of queries share keys."""

PROMPT = 7
"""Number of tokens before that of a step."""

Ingest = Callable[..., Ingested]


@pytest.fixture
def ingested(tmp_path: Path, rules: Rules) -> Ingest:
    """Fixture `ingested(family, **options)`: the rows of the causal model of a configuration above."""

    def made(family: str, **options: Any) -> Ingested:
        values = {**CONFIGURATIONS[family], "architectures": [f"{family}ForCausalLM"]}
        path = tmp_path / f"{family.lower()}.json"
        path.write_text(json.dumps(values))
        return ingest(parse(f"hf:{path}", **options), rules)

    return made


def column(found: Ingested, row_type: type[Row], name: str) -> list[Any]:
    """Return a column of the rows of a type."""
    return found.columns[row_type][name]


def evaluated(found: Ingested, row_type: type[Row], **where: Any) -> float:
    """Sum terms for one token of three samples after the prompt, over rows whose columns have these values."""
    columns = found.columns[row_type]
    total = 0.0
    for i, coefficient in enumerate(columns["coefficient"]):
        if all(columns[name][i] == value for name, value in where.items()):
            total += coefficient * 3 ** columns["batch_power"][i] * (PROMPT + 1) ** columns["context_power"][i]
    return total


def real(family: str) -> torch.nn.Module:
    """Return the model of a configuration with random weights."""
    values = CONFIGURATIONS[family]
    config = transformers.CONFIG_MAPPING[values["model_type"]].from_dict(values)
    return getattr(transformers, f"{family}ForCausalLM")(config).eval()  # type: ignore[no-any-return]


def held_by(layer: Any) -> list[torch.Tensor]:
    """Return the tensors of a layer of the library's cache."""
    states = [t for kind in ("conv_states", "recurrent_states") for t in getattr(layer, kind, {}).values()]
    return [t for t in (*states, getattr(layer, "keys", None), getattr(layer, "values", None)) if t is not None]


def layouts(found: Ingested) -> dict[int, str]:
    """Return the layouts by operator; without images, both formats are alike."""
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
    """Attention leaves the heads of a position adjacent, as in its query."""
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
    """RecurrentGemma loops over its tokens, which fixes their number; so the context is fixed too."""
    found = ingested("RecurrentGemma", sequence=8)
    assert not found.model["is_sequence_symbolic"]
    assert not found.model["has_context"]
    terms = zip(*(column(found, Term, n) for n in ("step", "quantity", "coefficient", "batch_power")), strict=True)
    lengths = {(c, b) for step, quantity, c, b in terms if step in ("qk", "av") and (step, quantity) in KEYS}
    assert lengths == {(8.0, 0)}


@pytest.mark.default
def test_attention_with_sinks_is_one_operator(ingested: Ingest) -> None:
    """Engines run the sink as one more term of a row's sum. No scores of all positions are stored."""
    found = ingested("GptOss")
    assert found.model["is_sequence_symbolic"]
    assert found.model["has_context"]
    assert Counter(column(found, Operator, "aten_operator"))["aten.scaled_dot_product_attention.default"] == 2
    assert not any("S, C" in shape for shape in column(found, Tensor, "shape"))


def test_attention_with_sinks_runs_step_by_step_where_that_is_asked_for(ingested: Ingest) -> None:
    """The library runs a product, joins the sinks to the scores, and runs a softmax and a product in each layer, with one mask
    for all layers."""
    found = ingested("GptOss", settings=(("attn_implementation", "eager"),))
    names = Counter(column(found, Operator, "aten_operator"))
    assert "aten.scaled_dot_product_attention.default" not in names
    assert names["aten.matmul.default"] == 4
    shapes = Counter(column(found, Tensor, "shape"))
    assert shapes["[B, 8, S, C + 1]"] or shapes["[B, 8, S, 1 + C]"]
    assert shapes["[B, 1, S, C]"]


THROWN_AWAY = {"Lfm2": 64 * 3, "Mamba": 2 * 128 * 4}
"""Multiplications for an unused result: one more for each channel of each convolution."""

KEYS = {("qk", "n"), ("av", "k")}
"""Steps and dimensions of an attention's products that count the keys."""


@pytest.mark.parametrize("family", ["Llama", "Lfm2", "Mamba", "RecurrentGemma"])
def test_a_step_goes_on_from_what_a_prompt_left(ingested: Ingest, family: str) -> None:
    """Work and states of one token of three samples after a prompt, as the library runs it with weights."""
    found = ingested(family, sequence=1)
    assert found.model["has_context"] and found.model["model"].endswith(",sequence=1")
    tokens = torch.zeros(3, PROMPT, dtype=torch.long)
    module = real(family)
    cache = transformers.DynamicCache(config=module.config)
    given = {"cache_params" if family == "Mamba" else "past_key_values": cache, "use_cache": True}
    with torch.no_grad():
        module(tokens, **given)
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):  # it counts no fused kernels
            module(tokens[:, :1], position_ids=torch.full((3, 1), PROMPT), **given)
    # Without its kernel the library convolves the joined state and token, and discards all results but the last.
    assert 2 * (evaluated(found, Term, quantity="macs") + 3 * THROWN_AWAY.get(family, 0)) == counter.get_total_flops()
    kept = [t for layer in cache.layers for t in held_by(layer)]
    kept += [t for part in module.modules() for t in vars(part).values() if isinstance(t, torch.Tensor)]
    states = [i for i, t in enumerate(column(found, Tensor, "role")) if t == "kv_cache"]
    assert sum(evaluated(found, TensorTerm, tensor_id=i) for i in states) == sum(t.numel() for t in kept)
    aliases = zip(
        column(found, Tensor, "storage_tensor_id"), column(found, Tensor, "producer_operator_id"), strict=True
    )
    written = {owner for owner, producer in aliases if producer is not None}
    given_states = [i for i in states if column(found, Tensor, "producer_operator_id")[i] is None]
    if family != "RecurrentGemma":  # it returns new states
        assert written.issuperset(given_states)


def test_a_prompt_that_keeps_states_answers_a_step(ingested: Ingest) -> None:
    """The states are inputs: one trace answers both phases, as for models that keep only keys and values."""
    assert ingested("Lfm2").model["has_context"]
    assert ingested("Llama").model["has_context"]


def test_a_step_attends_to_its_sliding_window(tmp_path: Path, rules: Rules) -> None:
    """One of two layers sees 16 positions, the other all: 8 heads of 8, for the scores and the weighted sum."""
    kinds = ["sliding_attention", "full_attention"]
    values = {"model_type": "qwen3", **SMALL, "head_dim": 8, "use_sliding_window": True, "sliding_window": 16}
    path = tmp_path / "slid.json"
    path.write_text(json.dumps({**values, "layer_types": kinds, "architectures": ["Qwen3ForCausalLM"]}))
    made = ingest(parse(str(path), sequence=1), rules)
    terms = made.columns[Term]
    attention = {o for o, c in zip(*(made.columns[Operator][n] for n in ("operator_id", "operator_class")), strict=True)
                 if c == "attention"}  # fmt: skip
    rows = zip(*(terms[n] for n in ("operator_id", "quantity", "context_power", "coefficient")), strict=True)
    macs = sorted((power, c) for o, quantity, power, c in rows if o in attention and quantity == "macs")
    assert macs == [(0, 8 * 16 * 8.0)] * 2 + [(1, 8 * 8.0)] * 2
    assert "a sliding window is full: a context of 16 or more" in made.model["specialized_reason"]


TINY = {
    "model_type": "granitemoehybrid", "architectures": ["GraniteMoeHybridForCausalLM"], "hidden_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 32,
    "vocab_size": 64, "layer_types": ["mamba", "attention"], "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 8,
}  # fmt: skip


def test_a_configuration_is_read_as_the_library_saves_it(tmp_path: Path) -> None:
    """The library writes an infinite bound as `{"__float__": "Infinity"}`."""
    kind = transformers.CONFIG_MAPPING["granitemoehybrid"]
    config = kind(**{k: v for k, v in TINY.items() if k != "model_type"}, time_step_limit=(0.0, float("inf")))
    config.save_pretrained(tmp_path)
    assert '"__float__": "Infinity"' in (tmp_path / "config.json").read_text()
    request = build(parse(str(tmp_path / "config.json")))
    assert request.module.config.time_step_limit == (0.0, float("inf"))


def test_an_input_given_takes_the_place_of_the_chosen_one(tmp_path: Path) -> None:
    values = {
        "model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 32, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 32, "image_size": 32, "patch_size": 16,
    }  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values))
    request = build(parse(str(path), inputs=("B,3,32,32:fp16", "attention_mask=B,5,5")))
    assert request.keywords["pixel_values"].dtype is torch.float16
    assert request.axes["attention_mask"] == {0: (1, 0, 0)}
    assert request.resolution == 32
    with pytest.raises(CharzError, match="unknown input"):
        build(parse(str(path), inputs=("pictures=B,3,32,32",)))
