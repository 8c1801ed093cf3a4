"""Requests that a server runs at once, the cost of prompts and outputs together, and the smallest node of a part."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import charz
from charz.schema.errors import CharzError
from charz.session.ask import mix, nodes
from charz.session.ask.mix import (
    Mix,
    apart,
    by_load,
    is_tight,
    mixed_usd,
    mixes,
    priced,
    runs,
    said,
    server,
    smallest,
    tight,
    unfit,
)
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
        "million_prompt_tokens_usd": 1.0, "million_decode_tokens_usd": 4.0,
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
    assert said([found[0] | {"most_requests": 0}]) == ["a, fp8: no request of 12 tokens fits"]


def fitting(part: str, most: dict[int, int], peak_byte: float = 1.0) -> list[dict[str, Any]]:
    """Return rows of numbers of devices, on which so many requests fit."""
    return [
        {
            "hardware": part, "backend": "v", "precision": "bf16", "device_count": devices, "batch": batch, "fits_device": batch <= fits,
            "peak_memory_byte": peak_byte,
        }
        for devices, fits in most.items()
        for batch in (1, 32)
    ]  # fmt: skip


def test_a_share_of_a_node_has_both_prices() -> None:
    """A million tokens at 2 USD take 1e4 seconds at 100 tokens a second: 0.72 USD an hour, for 3 devices of nodes of 8. The cheapest row without a
    margin is not named first."""
    row = {"hardware": "p", "precision": "bf16", "split": "tp3", "device_count": 3, "million_decode_tokens_usd": 2.0, "tokens_per_s": 100.0}
    assert mix.hourly(row, 8) == pytest.approx({"price_usd_per_hour": 0.72, "whole_usd_per_hour": 0.72 / 3 * 8})
    assert mix.hourly(row, 2)["whole_usd_per_hour"] == pytest.approx(0.72 / 3 * 4) and mix.hourly(row, 1)["whole_usd_per_hour"] == pytest.approx(0.72)
    assert set(mix.hourly(row | {"million_decode_tokens_usd": None}, 8).values()) == {None}
    share = row | mix.hourly(row, 8) | {"nodes": "3 of 8 devices of a node", "most_requests": 9, "million_mixed_tokens_usd": 1.5}
    tight, unpriced = share | {"most_requests": 1, "million_mixed_tokens_usd": 1.0}, share | {"million_mixed_tokens_usd": None}
    told = "cheapest: 3 x p, bf16, tp3: 1.50 USD a million mixed tokens, 0.720 USD/h"
    assert mix.verdict([tight, unpriced, share]) == f"{told} as 3 of 8 devices of a node, which is rented whole at 1.92 USD/h"
    assert mix.verdict([share | {"whole_usd_per_hour": 0.72}]) == told and mix.verdict([unpriced]) == ""


def test_the_smallest_node_that_fits() -> None:
    """The smallest node of every batch; where none fits 32 requests, the smallest that fits one, and no row of the larger batch."""
    found = first_look.smallest([*fitting("a", {4: 99, 2: 40, 1: 3}), *fitting("b", {8: 9, 4: 5, 2: 0}), *fitting("c", {8: 0})])
    assert [(row["hardware"], row["device_count"], row["batch"]) for row in found] == [("a", 2, 1), ("a", 2, 32), ("b", 4, 1)]


def test_parts_whose_node_is_too_small_are_left_out_with_the_reason() -> None:
    """Servers use 576 GiB of eight devices of a, 1152 of b. Weights of 628 GiB fit b, c, d and e; f would be a fifth."""
    room = {"a": 72 * 2.0**30, **dict.fromkeys("bcdef", 144 * 2.0**30)}
    parts, small = first_look.chosen("abcdef", room, {"bf16": 1256 * 2.0**30, "fp8": 628 * 2.0**30})
    assert parts == ["b", "c", "d", "e"]
    assert small == ["a: too small: the weights in fp8 need 628 GiB, a server on 8 devices uses at most 576 GiB"]
    assert first_look._tried(["b"], room, {"fp8": 628 * 2.0**30}) == (8,)
    assert first_look._tried(["b"], room, {"fp8": 576 * 2.0**30}) == (4, 8)


def test_a_precision_that_fits_no_node_is_told_with_its_memory() -> None:
    """Each of eight devices needs 100 GiB and has 80."""
    rows = [*fitting("a", {4: 0, 8: 0}, 100 * 2.0**30), *fitting("b", {8: 40})]
    found = first_look.reasons(rows, first_look.smallest(rows), {("a", "v"): 80 * 2.0**30, ("b", "v"): 1.0})
    assert found == ["a, bf16: a request needs 800 GiB on 8 devices, which have 640 GiB"]


def test_the_next_command_names_a_row_that_fits() -> None:
    """The cheapest of the largest batch; without rows, larger nodes."""
    rows = [
        row | {"million_decode_tokens_usd": {("a", 1): 1.0, ("b", 1): 9.0, ("b", 32): 2.0, ("c", 32): 3.0}.get((row["hardware"], row["batch"]))}
        for row in first_look.smallest([*fitting("a", {8: 9}), *fitting("b", {2: 40}), *fitting("c", {1: 40})])
    ]
    assert first_look.following("m", rows) == "next: charz llm m --on b --precision bf16 --devices 2 --prompt 2000 --output 500"
    assert first_look.following("m", rows[-1:]) == "next: charz llm m --on c --precision bf16 --prompt 2000 --output 500"
    assert first_look.following("m", []) == "next: charz llm m --smallest --prompt 2000 --output 500"


def test_the_fewest_devices_that_fit() -> None:
    """A batch of 32 needs three of the numbers of devices; another part has none, which a line tells."""
    server = {"model": "m", "backend": "vllm", "engine_version": "v1", "precision": "fp8", "kv_precision": "none", "context": 8}
    rows: list[dict[str, Any]] = [
        server | {"hardware": part, "device_count": devices, "batch": batch, "fits_device": part == "a" and devices * 20 > batch + 20}
        for part in ("a", "b")
        for devices in (4, 1, 2, 3)
        for batch in (1, 32)
    ]
    found, left = smallest(rows)
    assert [(row["hardware"], row["batch"], row["device_count"]) for row in found] == [("a", 1, 2), ("a", 32, 3)]
    assert unfit(left) == ["4 b, fp8, batch 1: does not fit", "4 b, fp8, batch 32: does not fit"]
    many = [row | {"hardware": f"{row['hardware']}{i}", "fits_device": False} for i in range(4) for row in rows]
    assert unfit(smallest(many)[1]) == ["does not fit: 8 parts, among them a0, a1, a2; --on names those that you mean"]


def test_a_pipeline_over_two_nodes() -> None:
    """Stages of batch 4 leave 4 byte free, of batch 2 8: a further request takes 2 byte, so that 6 fit, and 12 in two stages. A batch of 8 is 4 in each
    stage, of which a step takes 0.02 s for 8 tokens. Four devices cost 0.001 USD a second each."""
    kept = dict.fromkeys(("model", "backend", "engine_version", "precision", "kv_precision", "step_limit", "weight_byte", "kv_cache_byte", "is_simulated"), 1)
    every = kept | {"hardware": "p", "split": "tp2 pp2", "pipeline": 2, "device_count": 4, "price_usd_per_hour": 3.6, "peak_memory_byte": 1.0}
    steps = [
        every | {"phase": "decode", "batch": batch, "context": 100, "sequence": 1, "latency_s": 0.01 + batch / 400, "free_byte": 12.0 - 2 * batch}
        for batch in (2, 4)
    ]  # fmt: skip
    prompts = [
        every | {"phase": "prefill", "batch": batch, "context": 100, "sequence": 100, "latency_s": 0.5 * batch, "million_tokens_usd": 2.0 / batch}
        for batch in (1, 2)
    ]  # fmt: skip
    one = Mix.of_context(100, 25)
    (found,) = nodes._served([*steps, *prompts], one, [4, 8, 16], True)
    assert (found["batch"], found["most_requests"], found["ttft_s"], found["tpot_s"]) == (8, 12, 0.5, 0.02)
    assert found["tokens_per_s"] == pytest.approx(400.0) and found["million_decode_tokens_usd"] == pytest.approx(0.004 / 400 * 1e6)
    assert found["million_mixed_tokens_usd"] == pytest.approx((100 * 1.0 + 25 * 10.0) / 125)
    assert [row["batch"] for row in nodes._served([*steps, *prompts], one, [4, 8, 16], False)] == [4, 8]
    late = [prompts[0] | {"latency_s": None}, prompts[1]]
    assert list(nodes._served([*steps, *late], one, [4], False)) == [] and nodes._fewest([*steps, *late], [one], [4], False) == []


def test_servers_of_one_device_are_compared() -> None:
    """Two servers of batch 8 have as many requests as one server of batch 16. Without that batch, batch 8 of both is compared."""
    row = {"model": "m", "hardware": "p", "backend": "v", "engine_version": "v1", "precision": "fp8", "kv_precision": "none", "context": 8}
    rows: list[dict[str, Any]] = [
        row | {"device_count": devices, "batch": batch, "tpot_s": tpot_s, "tokens_per_s": batch / tpot_s}
        for devices, batch, tpot_s in ((1, 8, 0.02), (2, 8, 0.01), (2, 16, 0.0125), (1, 16, 0.025))
    ]
    assert apart(rows) == [
        "p in fp8: 2 servers of one device at batch 8 generate 800 tokens a second (20.0 ms a token), one server of 2 at batch 16 1280 (12.5 ms); the price is "
        "the same"
    ]
    (line,) = apart([rows[0], rows[1]])
    assert "at batch 8 generate 800" in line and "one server of 2 at batch 8 800 (10.0 ms)" in line
    assert apart([rows[0], rows[3]]) == apart([rows[0], rows[1] | {"tokens_per_s": None}]) == []


def test_the_smallest_node_is_loaded() -> None:
    """A node that keeps 20 requests gets the batch of 16 among 1, 4, 16 and 32. A node that keeps one request, and one that keeps none, get batch 1."""
    made = {"model": "m", "backend": "vllm", "engine_version": "v1", "precision": "fp8", "kv_precision": "none", "context": 8, "request_tokens": 9}
    rows: list[dict[str, Any]] = [
        made | {"hardware": part, "device_count": devices, "most_requests": most}
        for part, devices, most in (("a", 2, 20), ("b", 1, 1), ("c", 4, 0), ("d", 1, 32))
    ]
    found = by_load(rows, (1, 4, 16, 32))
    assert {size: [row["hardware"] for row in group] for size, group in found.items()} == {16: ["a"], 1: ["b", "c"], 32: ["d"]}
    assert server(rows[0]) != server(rows[0] | {"device_count": 4}) and server(rows[0]) == server(rows[0] | {"batch": 4})
    assert [is_tight(row) for row in rows[:2]] == [False, True] and not is_tight({"most_requests": None})
    assert tight(rows[:2], True) == [
        "batch: the largest of 1, 4, 16, 32 that these devices run, at which the costs are; --batch names another",
        "no margin, so last in order: b in fp8 (at most 1 of 9 tokens); the next number of devices has one",
    ]
    assert tight(rows[:1], False) == []


def test_the_next_command_of_a_training() -> None:
    """8 billion parameters of 0.8 bytes fit 80 % of 24 GB, 70 billion need 80 GB. With 18 bytes each, 144 GB fit a node, 1,260 GB need 20 of 64 GB."""
    memory = {"rtx4090": 24e9, "h100_sxm5_80": 80e9}
    small, large = (first_look.training("m,train", count, memory) for count in (8e9, 70e9))
    assert small[0].startswith("next: charz train m --on rtx4090 --adapter 16") and "--devices 8 --zero 3" in small[1]
    assert large[0].startswith("next: charz train m --on h100_sxm5_80 --adapter 16") and "--devices 32 --zero 3" in large[1]
    assert len(first_look.training("m", 670e9, memory)) == 1 and first_look.training("m", 8e9, {}) == []


def test_active_parameters_leave_out_experts_that_a_token_does_not_choose() -> None:
    """Of 10 billion parameters 8 are experts', of which a token multiplies 2."""
    session: Any = Mock()
    session.connection().execute().fetchall.side_effect = [[(10e9, 8e9)], [(1,), (2,)]]
    scoped: Any = Mock()
    scoped.execute().fetchall.return_value = [(1, 1.5e9), (2, 0.5e9), (3, 9e9)]
    assert first_look._parameters(session, "m", scoped) == "m: 10.0 B parameters, 4.00 B active"
    session.connection().execute().fetchall.side_effect = [[(999_885_952, None)]]
    assert first_look._parameters(session, "m", scoped) == "m: 1.00 B parameters, all active"


def test_llm_tells_requests_and_first_tokens(file: Path) -> None:
    """Requests of a part follow from its memory: a cache of keys and values alone grows with them. `none` is the format that answers name."""
    with charz.open(file) as db:
        rows = db.llm("decoder", on="t4", batch=[1, 8], prompt=64, output=32, kv_precision="none", precision="fp16").to_dicts()
    one, eight = rows
    assert (one["context"], one["request_tokens"], one["kv_precision"]) == (80, 96, "none")
    assert one["most_requests"] == eight["most_requests"] > 8
    assert one["ttft_s"] == one["batch_ttft_s"] == eight["ttft_s"] < eight["batch_ttft_s"]
    for row in rows:
        expected = (64 * row["million_prompt_tokens_usd"] + 32 * row["million_decode_tokens_usd"]) / 96
        assert row["million_mixed_tokens_usd"] == pytest.approx(expected)


def test_another_name_of_a_format(file: Path) -> None:
    """AWQ and GPTQ are integers of 4 bits in groups of 128."""
    with charz.open(file) as db:
        found = db.llm("decoder", on="l4", precision="awq,gptq,fp8_block")
        assert set(found["precision"]) == {"w4a16", "fp8_block"}
