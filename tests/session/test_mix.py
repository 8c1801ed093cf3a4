"""Requests that a server runs at once, the cost of prompts and outputs together, and the smallest node of a part."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import charz
from charz.schema.errors import CharzError
from charz.session.ask.mix import Mix, mixed_usd, mixes, priced, runs, said
from charz.session.file import first_look


def test_a_mix_weighs_prompts_and_outputs() -> None:
    """2,000 prompt tokens at 0.5 and 500 output tokens at 3 dollars a million cost 0.0025 dollars; 2,500 tokens are 1 dollar a million."""
    mix = Mix.of_prompt(2000, 500)
    assert (mix.context, mix.tokens) == (2250, 2500)
    assert mixed_usd(0.5, 3.0, mix) == pytest.approx(1.0)
    assert mixed_usd(None, 3.0, mix) is None and mixed_usd(0.5, None, mix) is None


def test_a_prompt_or_a_context() -> None:
    assert mixes([8], [], 4) == [Mix(8, 4, 10, 12)]
    assert mixes([], [8, 16], 4) == [Mix(8, 4, 8, 8), Mix(16, 4, 16, 16)]
    assert mixes([], [], 4) == [Mix(1024, 4, 1024, 1024)]
    with pytest.raises(CharzError, match="two lengths"):
        mixes([8], [8], 4)


def test_runs_of_a_mix() -> None:
    """A prompt alone gives the time to the first token of one request, and a step at the end of an answer the requests that fit."""
    found = [(run["batch"], run["phase"], run["sequence"], run["context"]) for run in runs(Mix(8, 4, 10, 12), [2])]
    assert found == [(1, "prefill", 8, 8), (2, "prefill", 8, 8), (2, "decode", None, 10), (2, "decode", None, 12)]
    assert len(runs(Mix.of_context(8, 4), [1])) == 2


def test_requests_at_the_longest_context() -> None:
    """The row at 10 tokens takes the number of requests from the step at 12 of the same part, and no row of that step remains."""
    server = {
        "model": "m", "backend": "vllm", "engine_version": "v1", "precision": "fp8", "kv_precision": "none", "batch": 2, "prompt_tokens": 8,
        "million_prompt_tokens_usd": 1.0, "million_output_tokens_usd": 4.0,
    }  # fmt: skip
    rows: list[dict[str, Any]] = [
        server | {"hardware": part, "device_count": devices, "context": context, "scenario_id": number}
        for part in ("a", "b")
        for devices, context, number in ((1, 10, 1), (1, 12, 2), (2, 10, 3), (2, 12, 4))
    ]
    largest = {(number, part): 1000 * number + (part == "b") for part in ("a", "b") for number in (1, 2, 3, 4)}
    found = priced(rows, largest, Mix(8, 4, 10, 12), [2])
    assert [(row["hardware"], row["device_count"], row["most_requests"]) for row in found] == [
        ("a", 1, 2000), ("a", 2, 4000), ("b", 1, 2001), ("b", 2, 4001),
    ]  # fmt: skip
    assert found[0]["million_mixed_tokens_usd"] == 2.0
    assert said(found)[:2] == ["a, fp8: at most 2,000 requests of 12 tokens", "2 a, fp8: at most 4,000 requests of 12 tokens"]


def test_the_smallest_node_that_fits() -> None:
    """One device does not fit a request; two fit one request but not a batch of 32, whose row remains."""
    rows = [
        {"hardware": "a", "precision": "bf16", "device_count": devices, "batch": batch, "fits_device": devices * 20 > batch + 20}
        for devices in (4, 2, 1)
        for batch in (1, 32)
    ]
    assert [(row["device_count"], row["batch"]) for row in first_look.smallest(rows)] == [(2, 1), (2, 32)]


def test_active_parameters_are_counted_on_a_part_of_the_file() -> None:
    """Of 10 billion parameters 8 are experts', of which a token multiplies 2."""
    session: Any = Mock()
    session.connection().execute().fetchall.return_value = [(10e9, 8e9)]
    session.asked().value.return_value = 2e9
    assert first_look._parameters(session, "m", "l40s") == "m: 10.0 B parameters, 4.00 B active"
    assert session.asked.call_args.args[0].hardware == ["l40s"]


def test_llm_tells_requests_and_first_tokens(file: Path) -> None:
    """Requests of a part follow from its memory: a cache of keys and values alone grows with them. `none` is the format that answers name."""
    with charz.open(file) as db:
        rows = db.llm("decoder", on="t4", batch=[1, 8], prompt=64, output=32, kv_precision="none", precision="fp16").to_dicts()
    one, eight = rows
    assert (one["context"], one["request_tokens"], one["kv_precision"]) == (80, 96, "none")
    assert one["most_requests"] == eight["most_requests"] > 8
    assert one["ttft_s"] == one["batch_ttft_s"] == eight["ttft_s"] < eight["batch_ttft_s"]
    for row in rows:
        expected = (64 * row["million_prompt_tokens_usd"] + 32 * row["million_output_tokens_usd"]) / 96
        assert row["million_mixed_tokens_usd"] == pytest.approx(expected)


def test_another_name_of_a_format(file: Path) -> None:
    """AWQ and GPTQ are integers of 4 bits in groups of 128."""
    with charz.open(file) as db:
        found = db.llm("decoder", on="l4", precision="awq,gptq,fp8_block")
        assert set(found["precision"]) == {"w4a16", "fp8_block"}
