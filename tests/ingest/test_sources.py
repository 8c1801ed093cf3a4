"""Constructor errors that sources pass on, and answers to names that a source does not know."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from charz.ingest.sources import build, timm
from charz.ingest.sources.spec import Spec, parse
from charz.schema.errors import CharzError


def test_a_type_error_within_a_constructor_is_no_missing_argument() -> None:
    def create_model(name: str, **_: Any) -> None:
        raise TypeError("unsupported operand")

    with pytest.raises(TypeError, match="unsupported operand"):
        timm._construct(SimpleNamespace(create_model=create_model), "vit", (3, 64, 64))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("gpt2", "not a torchvision model: gpt2. `charz ingest hf:gpt2` names one."),
        ("llama3.1_8b", "unknown model: llama3.1_8b. Nearest: hf:llama-3.1-8b, hf:llama-3.2-1b, hf:llama-3.1-70b. `charz ingest hf:llama-3.1-8b` names one."),
        ("mixer_b16_224", "not a torchvision model: mixer_b16_224. `charz ingest timm:mixer_b16_224` names one."),
        ("resnet19", "unknown model: resnet19. Nearest: resnet18"),
    ],
)
def test_a_name_of_another_source_is_named_with_it(name: str, line: str) -> None:
    with pytest.raises(CharzError) as raised:
        build(parse(name))
    assert raised.value.line.startswith(line)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("resnet18,batch=8", parse("resnet18", batch=8)),
        ("resnet18@288,batch=8,train", parse("resnet18", resolution="288", batch=8, train=True)),
        ("timm:vit_tiny_patch16_224,train", parse("timm:vit_tiny_patch16_224", train=True)),
        ("synthetic:mlp,in=8,layers=2", parse("synthetic:mlp", settings=(("in", "8"), ("layers", "2")))),
        ("hf:gpt2,n_layer=2,batch=1", parse("hf:gpt2", settings=(("n_layer", "2"),), batch=1)),
        ("net.py:make,train", parse("net.py:make", train=True)),
        ("some,folder/net.pt2", Spec("some,folder/net.pt2", "exported")),
        ("resnet18,in=8", Spec("resnet18,in=8", "torchvision")),
    ],
)
def test_a_stored_models_name_asks_for_the_same(text: str, same: Spec) -> None:
    assert parse(text) == same


@pytest.mark.parametrize(
    ("text", "options", "line"),
    [
        ("resnet18,batch=8", {"batch": 4}, "two of batch: resnet18,batch=8"),
        ("synthetic:mlp,in=8", {"settings": (("in", "4"),)}, "two of settings"),
        ("resnet18,batch=0", {}, "not a batch: resnet18,batch=0: 0"),
    ],
)
def test_a_name_and_an_option_that_differ_are_refused(text: str, options: dict[str, Any], line: str) -> None:
    with pytest.raises(CharzError) as raised:
        parse(text, **options)
    assert raised.value.line.startswith(line)


@pytest.mark.default
def test_a_models_name_is_one_to_ingest() -> None:
    made = build(parse("synthetic:mlp", settings=(("in", "8"), ("hidden", "4"))))
    assert build(parse(made.name)).name == made.name


@pytest.mark.parametrize(("asked", "is_fused"), [("sdpa", True), ("eager", False)])
def test_attention_of_transformers_runs_as_asked(asked: str, is_fused: bool) -> None:
    """Attention is fused, or separate products and a softmax; the name contains the choice."""
    small = "num_hidden_layers=1,hidden_size=64,num_attention_heads=2,intermediate_size=64"
    request = build(parse(f"hf:vit-base-patch16-224,{small},attn_implementation={asked}"))
    assert request.name.endswith(f",attn_implementation={asked}")
    assert (request.module.config._attn_implementation != "eager") is is_fused


def test_attention_runs_in_no_other_way() -> None:
    with pytest.raises(CharzError, match="not a way to run attention"):
        build(parse("hf:vit-base-patch16-224,attn_implementation=flash"))


@pytest.mark.parametrize(
    ("published", "row"),
    [
        ("meta-llama/Llama-3.3-70B-Instruct", "llama-3.1-70b"), ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3.1-8b"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"), ("Qwen/Qwen3-235B-A22B-Instruct-2507", "qwen3-235b-a22b"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b"), ("google/gemma-2-9b-it", "gemma-2-9b"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-v3"), ("openai/gpt-oss-20b", "gpt-oss-20b"),
        ("microsoft/Phi-3.5-mini-instruct", "phi-3-mini"), ("deberta-v3-base", "deberta-v3-base"), ("llama-9", None),
        ("Qwen/Qwen3-30B-A3B-Thinking-2507", "qwen3-30b-a3b"), ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", "tinyllama-1.1b"),
        ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "qwen3-8b"), ("nvidia/Llama-3.1-Nemotron-70B-Instruct-HF", "llama-3.1-70b"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "deepseek-r1-distill-qwen-1.5b"), ("google/gemma-3-27b-it", "gemma-3-27b"),
        ("moonshotai/Kimi-K2-Instruct-0905", "kimi-k2"), ("zai-org/GLM-4.6", "glm-4.5"), ("microsoft/Phi-4-mini-instruct", "phi-4-mini"),
        ("mistralai/Mistral-Large-Instruct-2411", "mistral-large"), ("Qwen/Qwen3-Next-80B-A3B-Instruct", "qwen3-next-80b-a3b"),
        ("deepseek-ai/DeepSeek-V2.5", "deepseek-v2"), ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen3-coder-480b-a35b"),
    ],
)  # fmt: skip
def test_names_of_the_hub(published: str, row: str | None) -> None:
    """A tuned model has the architecture of its base, and a later release may have that of an earlier one."""
    from charz.ingest.sources import architectures

    assert architectures.row(published) == row
    assert set(architectures._SAME.values()) <= set(architectures.ARCHITECTURES)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [("hf:qwen3-8b", ["full_attention"] * 64), ("hf:gpt-oss-20b", ["sliding_attention", "full_attention"] * 32)],
)
def test_more_layers_have_kinds_of_their_own(name: str, kinds: list[str]) -> None:
    """Qwen3-32B is Qwen3-8B of 64 layers; the library lists the kind of attention of each layer."""
    import transformers

    from charz.ingest.sources import huggingface

    spec = parse(name, settings=(("num_hidden_layers", "64"),))
    config, *_ = huggingface._described(transformers, spec)
    huggingface._apply_settings(config, spec)
    assert (config.num_hidden_layers, config.layer_types) == (64, kinds)
