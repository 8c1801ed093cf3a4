"""Malformed texts: each reader accepts one, or refuses it in one line and at once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from charz import sandbox
from charz.hardware_catalog import names as parts
from charz.ingest.measurements import mapped
from charz.ingest.sources import huggingface, spec, synthetic
from charz.ingest.sources.inputs import parse_input
from charz.schema.errors import CharzError, printable
from charz.session import axes

READERS: dict[str, Callable[[str], Any]] = {
    "sizes": axes.sizes,
    "names": axes.names,
    "latency": lambda text: axes.amount(text, "s", "--latency"),
    "rate": lambda text: axes.quantity(text, "byte/s", "dram.bandwidth"),
    "memory": sandbox.memory_byte,
    "query": sandbox.one_statement,
    "part": lambda text: parts.match(text, [("t4", "t4"), ("RTX 4090", "rtx4090"), ("T4", "t4")]),
    "input": parse_input,
    "model": spec.parse,
    "sides": spec.parse_sides,
    "settings": lambda text: spec.sweep([text]),
    "mapping": lambda text: mapped.parse_item(text, ["model", "latency_s", "batch"]),
}

_PIECES = st.sampled_from(
    ["1", "8:64", "1:1000000000:1", "9" * 30, "0", "-1", "1e400", "nan", ",", ":", "=", "*", "'", '"', ";", "--", "(", "[", "]", ")", "\\",
     "B", "3", "224", "fp32", "int8", "ms", "GB", "MiB", "batch", "latency_s", "model", "SELECT", "FROM", "x" * 3000, "((" * 500,
     "hf:", "timm:", "synthetic:mlp", ".py", ".pt2", "make", "@288", ",train", "\x1b[2J", "\u202e", "\x00", " ", "\n", "é", "٣", "²"]
)  # fmt: skip
TEXTS = st.text(max_size=30) | st.lists(_PIECES | st.text(max_size=3), max_size=8).map("".join)


def read_or_refused(read: Callable[[str], Any], text: str) -> None:
    began = time.process_time()
    try:
        read(text)
    except CharzError as error:
        assert printable(error.line) == error.line and len(error.line.splitlines()) == 1
    assert time.process_time() - began < 5


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=200)
@given(text=TEXTS)
def test_any_text_is_read_or_refused(name: str, text: str) -> None:
    read_or_refused(READERS[name], text)


@pytest.mark.anew
@pytest.mark.parametrize("name", READERS)
@settings(max_examples=3000, derandomize=False)
@given(text=TEXTS)
def test_three_thousand_texts(name: str, text: str) -> None:
    read_or_refused(READERS[name], text)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
_CONFIGURATION = st.fixed_dictionaries(
    {"model_type": st.sampled_from(["gpt2", "bert", "llama", "none"]) | _JSON},
    optional={
        "architectures": st.lists(st.sampled_from(["GPT2Model", "BertModel", "pipeline", "none"]) | _JSON, max_size=2) | _JSON,
        **dict.fromkeys(("hidden_size", "n_embd", "num_attention_heads", "vocab_size", "rope_scaling", "dtype"), _JSON),
    },
)  # fmt: skip


def _configured(path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    huggingface._from_file(transformers, path)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    data=st.binary(max_size=50)
    | (_CONFIGURATION | _JSON).map(lambda value: _text(value).encode("utf-8", "surrogatepass"))
)
def test_any_configuration_is_read_or_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(data)
    read_or_refused(lambda _: _configured(path), "")


@pytest.mark.anew
@settings(
    max_examples=3000,
    derandomize=False,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    data=st.binary(max_size=50)
    | (_CONFIGURATION | _JSON).map(lambda value: _text(value).encode("utf-8", "surrogatepass"))
)
def test_three_thousand_configurations(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(data)
    read_or_refused(lambda _: _configured(path), "")


def test_steps_without_end_are_refused_before_they_are_listed() -> None:
    with pytest.raises(CharzError, match="too many sizes"):
        axes.sizes("1:1000000000:1")
    assert axes.sizes("1:1000:1,1:1000:1") == list(range(1, 1001))


@pytest.mark.parametrize("text", ["²", "٣", "9" * 20, "9" * 5000, "0", "1e3"])
def test_digits_of_other_scripts_and_sizes_without_end_are_no_sizes(text: str) -> None:
    asked = spec.parse("synthetic:mlp", settings=(("in", text),))
    with pytest.raises(CharzError, match="a size must be"):
        synthetic.build(asked)


def test_lists_in_lists_are_no_configuration(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    for text, message in (
        ("[" * 100_000, "not a JSON file"),
        ("[]", "not a configuration"),
        ("9" * 5000, "not a JSON file"),
    ):
        path.write_text(text)
        with pytest.raises(CharzError, match=message):
            huggingface._values(transformers, path)


def _text(value: Any) -> str:
    return json.dumps(value)
