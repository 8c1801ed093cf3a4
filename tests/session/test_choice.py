"""Choices of part, devices, precision and batch within limits, over steps that a test lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import charz
from charz.session import Session
from charz.session.ask import lost, queue, splits
from charz.session.ask.choice import chosen, verdict
from charz.session.ask.load import Curve, Server, at_rate
from charz.session.ask.lost import order
from charz.session.ask.tried import COLUMNS, MEANS, QUEUED, Limits, Tried, _in_chunk, crowded, replayed

OUTPUT = 101
USD_PER_S = 0.001


def rows(
    hardware: str, devices: int, times: dict[int, float], prompt_s: float, split: str = "one", replicas: int = 1, stages: int = 1
) -> list[dict[str, Any]]:
    """Make steps of a split by batch, each through a number of stages, and a prompt alone, with a rent for each device."""
    given = {
        "model": "m", "hardware": hardware, "backend": "vllm", "engine_version": "v0.13", "precision": "bf16", "kv_precision": "none",
        "split": split, "device_count": devices, "context": 1024, "step_limit": "weights",
        "weight_byte": 1.0, "kv_cache_byte": 0.0, "peak_memory_byte": 1.0, "is_simulated": False, "data": replicas, "device_byte": 4 * 2.0**30,
        "free_byte": 2.0**30,
    }  # fmt: skip
    made = []
    for batch, step_s in times.items():
        tokens_per_s = replicas * stages * batch / step_s
        made.append(given | {
            "phase": "decode", "batch": batch, "samples": batch * replicas * stages, "latency_s": step_s, "pass_s": step_s / stages,
            "tokens_per_s": tokens_per_s, "million_tokens_usd": devices * USD_PER_S / tokens_per_s * 1e6,
        })  # fmt: skip
    prompt = {"phase": "prefill", "batch": 1, "samples": replicas * stages, "latency_s": prompt_s, "pass_s": prompt_s / stages}
    return [*made, given | prompt | {"tokens_per_s": 1.0, "million_tokens_usd": 1.0}]


ONE = rows("one", 1, {1: 0.010, 2: 0.012, 4: 0.020}, prompt_s=0.1)


def choose(found: list[dict[str, Any]], **asked: float) -> list[dict[str, Any]]:
    limits = Limits(OUTPUT, asked.get("rate"), asked.get("ttft"), asked.get("tpot"), asked.get("budget"))
    return chosen(found, limits).choices


def test_the_largest_batch_within_the_limits() -> None:
    """A request takes its prompt and half of 100 steps of 12 ms, since two run at a time."""
    (found,) = choose(ONE, ttft=0.2, tpot=0.015)
    assert (found["batch"], found["replicas"], found["devices"]) == (2, 1, 1)
    assert found["requests_per_s"] == pytest.approx(1 / (0.1 + 100 * 0.012 / 2))
    assert found["million_output_tokens_usd"] == pytest.approx(USD_PER_S / (found["requests_per_s"] * OUTPUT) * 1e6)
    assert choose(ONE, tpot=0.009) == choose(ONE, ttft=0.05) == []


@pytest.mark.parametrize("limits", [Limits(OUTPUT, rate=0.5, tpot_s=0.03), Limits(OUTPUT, tpot_s=0.03)])
def test_the_memory_of_a_choice_is_that_of_its_slots(limits: Limits) -> None:
    """A server reserves the cache of four requests, however few of them run."""
    steps = [row | {"kv_cache_byte": 10.0 * row["batch"], "peak_memory_byte": 1.0 + 10.0 * row["batch"]} for row in ONE]
    (found,) = chosen(steps, limits).choices
    assert (found["slots"], found["weight_byte"], found["kv_cache_byte"], found["peak_memory_byte"]) == (4, 1.0, 40.0, 41.0)
    assert limits.rate is None or found["batch"] < 4


def test_the_first_line_names_the_choice() -> None:
    """Two requests run at a time within 15 ms. At a rate the times are those of 99 % of the requests; without a choice the nearest miss is named."""
    limits = Limits(OUTPUT, ttft_s=0.2, tpot_s=0.015)
    found = chosen(ONE, limits)
    usd = found.choices[0]["million_output_tokens_usd"]
    assert verdict(found, limits) == (
        f"cheapest: 1 x one, bf16, one: {usd:.2f} USD a million output tokens, 3.60 USD/h;"
        " a prompt alone and a step of this batch meet TTFT 200 ms and TPOT 15.0 ms"
    )
    assert {"ttft_s", "tpot_s"} < set(found.columns()) and "ttft_mean_s" not in found.columns()
    limits = Limits(OUTPUT, rate=1.0, ttft_s=0.4, usd_per_hour=20.0)
    found = chosen(ONE, limits)
    usd = found.choices[0]["million_output_tokens_usd"]
    assert verdict(found, limits) == (
        f"cheapest: 3 x one, bf16, 3 servers of one: {usd:.1f} USD a million output tokens, 10.8 USD/h at 1 requests/s within 20.0 USD/h;"
        " 99 % of the requests meet TTFT 400 ms"
    )
    named = dict(zip(found.columns(), found.rows[0], strict=True))
    assert not {"ttft_s", "tpot_s"} & set(named) and named["ttft_mean_s"] == found.choices[0]["ttft_s"] < named["ttft_p99_s"]
    limits = Limits(OUTPUT, tpot_s=0.009)
    assert verdict(chosen([*ONE, *(row | {"model": "n"} for row in ONE)], limits), limits) == "\n".join(
        f"{model}: none meets TPOT 9.00 ms; the nearest: one in bf16, TPOT above the limit at batch 1: 10.0 ms a token" for model in "mn"
    )


def test_launches_of_a_prompt_take_no_time_from_steps() -> None:
    """The host launches the kernels of a prompt of 100 ms in 40 of them, while the device works for others. A chunk has room for two prompts."""
    launched = [row | {"launch_s": 0.04} for row in ONE]
    (found,) = choose(launched, ttft=0.2, tpot=0.015)
    assert found["requests_per_s"] == pytest.approx(1 / (0.06 + 100 * 0.012 / 2)) and found["ttft_s"] == 0.1
    assert [_in_chunk(tokens, 1024) for tokens in (2048, 3000, 512, None)] == [2.0, 2.0, 0.5, 1.0]


def test_as_few_replicas_as_keep_the_limits() -> None:
    limits = {"ttft": 0.25, "tpot": 0.03}
    (found,) = choose(ONE, rate=10.0, **limits)
    server = Server(Curve([1.0, 2.0, 4.0], [0.010, 0.012, 0.020]), 100.0, 0.1, 0.1, 4.0)

    def keeps(replicas: int) -> bool:
        load = at_rate(server, 10.0 / replicas)
        return not load.is_saturated and (load.first_s or 9.0) <= limits["ttft"] and load.step_s <= limits["tpot"]

    def meets(replicas: int) -> bool:
        return queue.at_random(server, queue.Lengths([1.0], [OUTPUT]), 10.0 / replicas).met_fraction(*limits.values()) >= 0.99

    # The mean times are within the limits on fewer servers. Their number grows by 10 % until 99 % of the requests are.
    assert keeps(found["replicas"] - 1) and meets(found["replicas"]) and not meets(int(0.9 * found["replicas"]))
    assert found["ttft_s"] < found["ttft_p99_s"] <= limits["ttft"] and found["tpot_s"] < found["tpot_p99_s"] <= limits["tpot"]
    assert found["load_fraction"] == pytest.approx(10.0 / (found["replicas"] * server.capacity))
    assert found["tokens_per_s"] == pytest.approx(10 * OUTPUT)
    assert found["million_output_tokens_usd"] == pytest.approx(found["replicas"] * USD_PER_S / (10 * OUTPUT) * 1e6)
    assert found["price_usd_per_hour"] == pytest.approx(found["replicas"] * 3.6)
    # A saturated server runs four requests: each takes its prompt and a fourth of 100 steps of 20 ms.
    assert found["saturated_million_output_tokens_usd"] == pytest.approx(USD_PER_S * (0.1 + 100 * 0.020 / 4) / OUTPUT * 1e6)


def test_named_devices_bound_the_servers() -> None:
    """A server bears at most 1 / (0.1 + 100 x 20 ms / 4) = 1.67 requests a second: 10 need seven servers or more. Six devices are too few, of
    16 all are used, and without a rate the server of one device is the smallest of those named."""
    found = chosen(ONE, Limits(OUTPUT, rate=10.0, devices=(16,)))
    assert [(row["replicas"], row["devices"]) for row in found.choices] == [(16, 16)]
    none = chosen(ONE, Limits(OUTPUT, rate=10.0, devices=(4, 6)))
    assert none.choices == [] and [(loss.reason, loss.detail) for loss in none.lost] == [(lost.RATE, "4, 6 devices were tried")]
    (two,) = chosen(ONE, Limits(OUTPUT, tpot_s=0.03, devices=(2, 4))).choices
    (one,) = chosen(ONE, Limits(OUTPUT, tpot_s=0.03)).choices
    assert (two["devices"], two["requests_per_s"]) == (2, pytest.approx(2 * one["requests_per_s"]))
    assert two["million_output_tokens_usd"] == pytest.approx(one["million_output_tokens_usd"])


@pytest.mark.parametrize("limits", [Limits(OUTPUT, tpot_s=0.03, devices=(4,)), Limits(OUTPUT, rate=3.0, tpot_s=0.03), Limits(OUTPUT, tpot_s=0.03)])
def test_no_choice_of_a_split_is_below_its_bound(limits: Limits) -> None:
    """A split whose bound is above the best choice so far is not tried further."""
    *steps, prompt = ONE
    tried = Tried.of(steps, prompt, prompt, limits, {})
    assert tried is not None
    choice = tried.choice(limits)
    assert choice is not None and order(tried.best)[0] <= order(choice)[0] * (1 + 1e-9)


def test_a_queue_above_the_limits_gets_more_servers_or_loses() -> None:
    """The mean time to the first token of one server at 60 % of its rate is within 0.4 s, that of 1 % of the requests is not. Further servers keep
    it, and where only one may be had the choice is lost with its numbers."""
    (found,) = chosen(ONE, Limits(OUTPUT, rate=1.0, ttft_s=0.4)).choices
    assert found["replicas"] == 3 and found["million_output_tokens_usd"] == pytest.approx(3 * USD_PER_S / OUTPUT * 1e6)
    alone = chosen(ONE, Limits(OUTPUT, rate=1.0, ttft_s=0.4, devices=(1,)))
    ((reason, detail),) = [(loss.reason, loss.detail) for loss in alone.lost]
    assert alone.choices == [] and reason == lost.LOAD and detail.startswith("p99 ") and detail.endswith(" a token on 1 device")
    dear = chosen(ONE, Limits(OUTPUT, rate=1.0, ttft_s=0.4, usd_per_hour=5.0))
    assert [(loss.reason, loss.detail) for loss in dear.lost] == [(lost.BUDGET, "7.20 USD/h")]


def test_a_choice_of_two_devices_is_compared_with_two_servers_of_one() -> None:
    """A request takes 0.1 s of prompt and 100 steps of a quarter of 20 ms on one device: two of them serve 2 / 0.6 requests a second. On two devices it takes
    0.06 s and 100 quarters of 12 ms: 1 / 0.36. At a rate of 1 a second both have two devices, and tp2 the shorter steps."""
    both = [*ONE, *rows("one", 2, {1: 0.006, 2: 0.008, 4: 0.012}, prompt_s=0.06, split="tp2")]
    limits = Limits(OUTPUT, rate=0.5, devices=(2,))
    found = chosen(both, limits)
    assert [choice["split"] for choice in found.choices] == ["tp2"]
    (line,) = found.alone
    told = "one in bf16: 2 servers of one device, in place of tp2 at the same price, serve at most 3.33 instead of 2.78 requests a second, with "
    assert line.startswith(told)
    server = Server(Curve([1.0, 2.0, 4.0], [0.010, 0.012, 0.020]), 100.0, 0.1, 0.1, 4.0)
    alone = queue.summary(queue.at_random(server, queue.Lengths([1.0], [OUTPUT]), 0.25).tpot())[0]
    assert f"with {1e3 * alone:.1f} ms instead of {1e3 * found.choices[0]['tpot_s']:.2f} ms a token" in line
    (missed,) = chosen(both, Limits(OUTPUT, rate=0.5, tpot_s=0.009, devices=(2,))).alone
    assert missed == "one in bf16: 2 servers of one device, in place of tp2 at the same price, do not meet the limits"
    assert chosen(ONE, Limits(OUTPUT, rate=0.5, devices=(2,))).alone == []
    assert chosen(both[len(ONE):], limits).alone == []


def test_a_listed_choice_meets_the_limits_in_the_replay_of_serve() -> None:
    """At each limit of the first token, also one far above, the requests of as many arrivals as `serve` replays keep it, and the row has their p99;
    512 servers are the most that are tried."""
    *steps, prompt = ONE
    tried = Tried.of(steps, prompt, prompt, Limits(OUTPUT, rate=1.0), {})
    assert tried is not None
    for ttft_s in (0.156, 0.168, 0.3, 0.5, 60.0):
        for found in chosen(ONE, Limits(OUTPUT, rate=1.0, ttft_s=ttft_s)).choices:
            times = queue.at_random(tried.server, queue.Lengths([1.0], [OUTPUT]), 1.0 / found["replicas"])
            assert times.met_fraction(ttft_s, None) >= queue.MET
            assert (found["ttft_p99_s"], found["tpot_p99_s"]) == (queue.summary(times.ttft())[-1], queue.summary(times.tpot())[-1])
    # On 512 servers, 2 % of the requests meet another prompt; half as many would meet one on a thousand.
    found = chosen(ONE, Limits(OUTPUT, rate=100.0, ttft_s=0.11))
    assert found.choices == [] and [loss.reason for loss in found.lost] == [lost.LOAD]


def test_a_server_that_was_not_replayed_costs_at_least_its_bound() -> None:
    better, choice = record("a", 2.31), record("b", 2.5, devices=2)
    told = "a is better than tp2: 2.31 instead of at least 2.50 USD a million tokens, 1 instead of at least 2 devices"
    assert lost.beaten(choice, better, [], is_bound=True).detail == told


def test_what_another_beats_is_left_out() -> None:
    """A slower and dearer choice is left out; one that is faster and dearer stays, as does a dear one that is fastest."""
    slower = rows("slower", 1, {1: 0.012, 2: 0.014, 4: 0.029}, prompt_s=0.15)
    faster = rows("faster", 2, {1: 0.006, 2: 0.007, 4: 0.011}, prompt_s=0.06)
    found = choose([*ONE, *slower, *faster], tpot=0.03)
    assert {row["hardware"] for row in found} == {"one", "faster"}
    loaded = choose([*ONE, *slower, *faster], tpot=0.03, rate=10.0)
    assert loaded[0]["hardware"] == "one" and not any(lost.beats(a, b) for a in loaded for b in loaded)


def test_16_bits_stay_beside_fewer() -> None:
    """A cheaper and faster choice in fp8 does not replace that in 16 bits, which changes no weight; among equal formats it does, and 16 bits replace fp8."""
    faster = rows("faster", 1, {1: 0.006, 2: 0.007, 4: 0.011}, prompt_s=0.06)
    narrow = [row | {"precision": "fp8"} for row in faster]
    assert [row["hardware"] for row in choose([*ONE, *faster], tpot=0.03)] == ["faster"]
    assert [(row["hardware"], row["precision"]) for row in choose([*ONE, *narrow], tpot=0.03)] == [("faster", "fp8"), ("one", "bf16")]
    assert [row["hardware"] for row in choose([*[row | {"precision": "fp8"} for row in ONE], *faster], tpot=0.03)] == ["faster"]


def test_crowded_and_limited_choices_are_told() -> None:
    """One server at 85 % of its largest rate; of two replicas with 64 slots each, the most that was tried, slots limit the full server alone."""
    choice = {"devices": 2, "hardware": "p", "precision": "fp8", "split": "dp2 ep2", "slots": 100, "load_fraction": 0.85}
    limited = [choice | {"load_fraction": None, "slots": 128}, choice | {"load_fraction": 0.8, "slots": 128}]
    assert crowded([choice, *limited], 64) == [
        "above 80 % of the largest rate, where waiting times grow fast: 2 p in fp8 at 85 %; one more server leaves room",
        "64 requests at once in a replica are the most that were tried: so many limit 1 of 3 choices; --batch takes more",
    ]


def test_the_command_of_a_choice_repeats_what_the_user_named() -> None:
    row = {"model": "m", "hardware": "p", "precision": "fp8", "split": "tp2", "replicas": 1, "devices": 2, "slots": 8, "backend": "sglang",
           "engine_version": "v0.5", "kv_precision": "fp8_e4m3"}  # fmt: skip
    degrees = {"tp2": {"tensor": 2, "pipeline": 1, "expert": 1}}
    told = [replayed(row, degrees, Limits(100, rate=2.0), 50, named) for named in ([], ["backend", "version", "kv-precision", "p=0.8", "q=1"])]
    command = "`charz serve m --on p --precision fp8 --tensor 2 --slots 8{} --rate 2 --input 50 --output 100` tells more"
    kept = " --backend sglang --version v0.5 --kv-precision fp8_e4m3 --rent p=0.8"
    assert [line.partition("; ")[2] for line in told] == [command.format(""), command.format(kept)]


def test_replicas_and_stages_of_a_split_run_beside_one_another() -> None:
    """With two replicas of two stages four requests of batch one are in flight; each replica takes a prompt in each 50 ms."""
    (found,) = choose(rows("part", 4, {1: 0.010, 2: 0.012}, 0.1, "pp2 dp2 ep2", replicas=2, stages=2), tpot=0.015)
    assert (found["split"], found["batch"], found["devices"], found["ttft_s"]) == ("pp2 dp2 ep2", 8, 4, 0.1)
    assert found["requests_per_s"] == pytest.approx(1 / (0.05 / 2 + 100 * 0.012 / 8))
    assert found["million_output_tokens_usd"] == pytest.approx(4 * USD_PER_S / (found["requests_per_s"] * OUTPUT) * 1e6)


def test_the_cheapest_split_of_a_part_is_its_choice() -> None:
    """Within the limits, twice the devices are no gain: neither as fast as one device nor faster at more than its cost."""
    wasteful = rows("one", 2, {1: 0.010, 2: 0.012, 4: 0.020}, 0.1, "cp2")
    faster = rows("one", 2, {1: 0.006, 2: 0.007, 4: 0.011}, 0.06, "tp2")
    assert [row["split"] for row in choose([*ONE, *wasteful, *faster], tpot=0.03)] == ["one"]
    assert [row["split"] for row in choose([*ONE, *wasteful, *faster], tpot=0.009)] == ["tp2"]


def test_a_choice_is_the_cheapest_of_the_splits_asked_alone() -> None:
    """Random arrivals need more than ten devices with prompts of 100 ms, and two where two devices share a prompt of 45 ms. Times of splits of
    equal cost decide by the replayed queue."""
    limits = Limits(OUTPUT, rate=2.0, ttft_s=0.15, tpot_s=0.04)
    steps = {1: 0.010, 2: 0.011, 4: 0.013, 8: 0.017, 16: 0.025}
    fast = {batch: 0.9 * step_s for batch, step_s in steps.items()}
    halves = {
        "one": rows("part", 1, steps, 0.1), "tp2": rows("part", 2, steps, 0.045, "tp2"), "pp2": rows("part", 2, steps, 0.045, "pp2", stages=2),
        "tp4": rows("part", 4, fast, 0.03, "tp4"), "dp2": rows("part", 2, fast, 0.045, "dp2 ep2"),
    }  # fmt: skip
    alone = {name: chosen(found, limits).choices[0] for name, found in halves.items()}
    (together,) = chosen([row for found in halves.values() for row in found], limits).choices
    assert alone["one"]["devices"] > 2 * alone["tp2"]["devices"]
    assert order(together) == min(order(choice) for choice in alone.values())
    assert together["devices"] == 2


def test_a_server_that_loses_tells_its_nearest_miss() -> None:
    """Neither split keeps the limits on two devices; the number of the split that more requests find within them is told."""
    limits = Limits(OUTPUT, rate=1.0, ttft_s=0.4, devices=(2,))
    late = rows("one", 2, {1: 0.010, 2: 0.012, 4: 0.020}, 0.2, "tp2")
    (one,), (slow,), (both,) = (chosen(found, limits).lost for found in (ONE, late, [*ONE, *late]))
    assert {one.reason, slow.reason} == {lost.LOAD} and one.miss != slow.miss
    assert both == min(one, slow, key=lambda loss: loss.miss)


def test_a_budget_bounds_the_rent() -> None:
    """One device costs 0.001 dollars a second, 3.6 an hour."""
    (found,) = choose(ONE, budget=3.7)
    assert found["price_usd_per_hour"] == pytest.approx(3.6)
    without = chosen(ONE, Limits(OUTPUT, usd_per_hour=3.5))
    assert without.rows == [] and lost.lines(without.lost, []) == ["one: above the budget: 3.60 USD/h"]


def test_without_a_rate_the_saturated_cost_is_the_cost() -> None:
    """Nor is there a queue."""
    assert set(COLUMNS) - set(chosen(ONE, Limits(OUTPUT, tpot_s=0.03)).columns()) == {"saturated_million_output_tokens_usd", *QUEUED}
    assert set(COLUMNS) - set(chosen(ONE, Limits(OUTPUT, rate=1.0, tpot_s=0.03)).columns()) == set(MEANS)


def test_each_part_that_loses_has_its_reason() -> None:
    """A large model lacks 2 GiB on each of eight devices. The nearest misses come first."""
    slow = rows("slow", 1, {1: 0.061, 2: 0.062}, 0.1)
    late = rows("late", 1, {1: 0.010, 2: 0.012}, 3.0)
    large = [row | {"latency_s": None, "free_byte": -(2.0**31) if devices == 8 else -1e12} for devices in (4, 8)
             for row in rows("large", devices, {1: 0.010}, 0.1)]  # fmt: skip
    beaten = rows("beaten", 1, {1: 0.012, 2: 0.014, 4: 0.029}, 0.15)
    found = chosen([*ONE, *slow, *late, *large, *beaten], Limits(OUTPUT, ttft_s=2.0, tpot_s=0.03))
    assert [row["hardware"] for row in found.choices] == ["one"]
    assert [(loss.server[1], loss.reason, loss.detail) for loss in found.lost][1:] == [
        ("late", lost.TTFT, "3.00 s to the first token"), ("slow", lost.TPOT, "61.0 ms a token"),
        ("large", lost.FIT, "2.00 GiB too much on each of 8 devices of 4.00 GiB"),
    ]  # fmt: skip
    # One runs four requests: 0.1 + 100 * 0.020 / 4 s each at 0.001 USD a second; the beaten part takes 0.15 + 100 * 0.029 / 4 s.
    assert lost.lines(found.lost, found.choices)[0] == (
        "beaten: no gain in cost, devices or times: one is better: 5.94 instead of 8.66 USD a million tokens, 20.0 ms instead of 29.0 ms a token, "
        "100 ms instead of 150 ms to the first token"
    )


def record(hardware: str, usd: float | None, devices: int = 1, tpot_s: float = 0.02, ttft_s: float = 0.1, **more: Any) -> dict[str, Any]:
    """Make a choice with the numbers by which choices are compared."""
    split = {"split": "tp2" if devices == 2 else "one", "device_count": devices}
    return dict.fromkeys(lost.SERVER, "x") | {"hardware": hardware, lost.COST: usd, "devices": devices, "tpot_s": tpot_s, "ttft_s": ttft_s} | split | more


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (record("b", 2.3101, tpot_s=0.03), "a is better: 20.0 ms instead of 30.0 ms a token"),
        (record("b", 2.3101), "a ties in cost, devices and times"),
        (record("b", 2.5, devices=2), "a is better than tp2: 2.31 instead of 2.50 USD a million tokens, 1 instead of 2 devices"),
        (record("b", None), "a is better: b has no known price (--rent states one)"),
    ],
)
def test_a_reason_shows_a_difference(choice: dict[str, Any], told: str) -> None:
    """Costs of 2.31 and 2.3101 dollars are equal in print."""
    better = record("a", 2.31)
    assert lost.beats(better, choice) and not lost.beats(choice, better)
    loss = lost.beaten(choice, better, [])
    assert loss.detail == told and loss.short == ("" if "ties" in told else told.split(",")[0].replace(" is better", "").replace(" than tp2", ""))


def test_another_model_beats_none() -> None:
    assert not lost.beats(record("a", 1.0), record("b", 2.0, model="other"))
    both = [*ONE, *(row | {"model": "other"} for row in rows("two", 1, {1: 0.02, 2: 0.03}, 0.2))]
    assert {row["model"] for row in choose(both, tpot=0.05)} == {"m", "other"}


def test_a_reason_names_a_row_of_the_answer() -> None:
    """Each of three parts beats the next one: the reasons name the first, which is the only choice."""
    parts = [rows(name, 1, {1: s, 2: 1.2 * s}, 10 * s) for name, s in (("a", 0.01), ("b", 0.011), ("c", 0.012))]
    found = chosen([row for part in parts for row in part], Limits(OUTPUT, tpot_s=0.05))
    assert [row["hardware"] for row in found.choices] == ["a"]
    assert [(loss.server[1], loss.detail.split()[0]) for loss in found.lost] == [("b", "a"), ("c", "a")]


def loss(part: str, precision: str, reason: str, miss: float = 1.0) -> lost.Loss:
    return lost.Loss(("m", part, "vllm", "v1", precision, "none"), reason, f"missed by {miss:g}", miss)


def test_many_losers_are_counted_by_reason() -> None:
    """A part counts once, for its nearest miss; a choice in another precision counts not at all."""
    losses = [loss("kept", "bf16", lost.BEATEN)]
    losses += [loss(f"p{i}", "fp8", lost.TPOT, i) for i in range(5)]
    losses += [loss(f"p{i}", "bf16", lost.FIT, i) for i in range(7)]
    lines = lost.lines(losses, [record("kept", 1.0, precision="fp8", model="m")])
    assert lines == [
        "why others lost (--lost lists 13 servers with the numbers that decided):",
        "- TPOT above the limit at batch 1: 5 parts, the nearest p0 fp8 (missed by 0), p1 fp8 (missed by 1), p2 fp8 (missed by 2)",
        "- does not fit: 2 parts: p5 (missed by 5), p6 (missed by 6)",
    ]
    columns, listed = lost.table(losses)
    assert columns == ("model", "hardware", "backend", "precision", "reason", "detail")
    assert listed[1] == ("m", "p0", "vllm", "fp8", lost.TPOT, "missed by 0")
    assert lost.table([*losses, loss("p0", "fp8", lost.FIT)])[0][:6] == lost.SERVER


def test_a_prompt_shorter_than_the_context_of_its_steps() -> None:
    """The steps at a context of 1024 follow the longest prompt within it."""
    prompts = [row | {"context": context, "latency_s": s, "pass_s": s} for row in ONE if row["phase"] == "prefill"
               for context, s in ((500, 0.05), (900, 0.09), (2000, 0.2))]  # fmt: skip
    (found,) = choose([row for row in ONE if row["phase"] == "decode"] + prompts, tpot=0.03)
    assert found["ttft_s"] == 0.09


def test_what_does_not_fit_is_no_choice() -> None:
    steps = [row | ({"latency_s": None} if row["phase"] == "decode" else {}) for row in ONE]
    prompts = [row | ({"latency_s": None} if row["phase"] == "prefill" else {}) for row in ONE]
    assert choose(steps, tpot=1.0) == choose(prompts, tpot=1.0) == []


def test_splits_of_a_server() -> None:
    """Replicas are as many as the devices that share experts, without those that share a context; at most eight devices."""
    found = {made.split: made for made in splits.served(splits.Degrees([1, 2], [1, 2], [1, 4], [1, 2], most=8))}
    assert set(found) == {
        "one", "dp4 ep4", "cp2", "cp2 dp2 ep4", "pp2", "pp2 dp4 ep4", "pp2 cp2", "pp2 cp2 dp2 ep4", "tp2", "tp2 dp4 ep4", "tp2 cp2",
        "tp2 cp2 dp2 ep4", "tp2 pp2", "tp2 pp2 cp2",
    }  # fmt: skip
    made = found["tp2 cp2 dp2 ep4"]
    assert (made.tensor, made.pipeline, made.context, made.data, made.expert) == (2, 1, 2, 2, 4)


def test_named_devices_are_those_of_all_degrees_together() -> None:
    """Four devices are two stages of two devices, or two replicas of two devices. Three stages divide neither one device nor four."""
    found = {made.split: made.tensor for made in splits.served(splits.Degrees([1, 2, 3], [1], [1, 2], devices=[1, 4]))}
    assert found == {"one": 1, "tp4": 4, "tp2 pp2": 2, "tp2 dp2 ep2": 2, "pp2 dp2 ep2": 1}
    shared = splits.served(splits.Degrees([1, 2], [1], [1], [1, 2, 4, 8], devices=[4], is_shared=True))
    assert [made.split for made in shared] == ["one", "tp2", "tp4", "pp2", "tp2 pp2"]


@pytest.mark.slow
class TestAsked:
    MODEL = "served"

    @pytest.fixture(scope="class")
    def db(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
        pytest.importorskip("transformers")
        settings = ["num_hidden_layers=2", "hidden_size=256", "intermediate_size=512", "num_attention_heads=4", "num_key_value_heads=2"]
        with charz.open(tmp_path_factory.mktemp("choice") / "c.duckdb") as db:
            db.ingest(["hf:mixtral-8x7b"], settings=[*settings, "vocab_size=1024"], no_answers=True, name=self.MODEL)
            yield db

    def test_prompts_and_steps_of_a_split(self, db: Session) -> None:
        frame = db.llm([self.MODEL], on=["h100_sxm5_80"], batch=8, context=256, devices="4,8,16", pipeline="1,2", expert=4)
        assert set(frame["split"]) == {"dp4 ep4", "pp2 dp4 ep4", "tp2 dp4 ep4", "tp2 pp2 dp4 ep4", "tp4 dp4 ep4"}
        assert set(frame["phase"]) == {"prefill", "decode"}
        devices = dict(zip(frame["split"], frame["device_count"], strict=True))
        assert devices == {"dp4 ep4": 4, "pp2 dp4 ep4": 8, "tp2 dp4 ep4": 8, "tp2 pp2 dp4 ep4": 16, "tp4 dp4 ep4": 16}

    def test_choices_among_all_splits(self, db: Session) -> None:
        frame = db.llm([self.MODEL], on=["h100_sxm5_80"], context=256, ttft="1s", tpot="50ms", rate=5.0)
        assert len(frame) > 0
        assert (frame["ttft_p99_s"] <= 1).all() and (frame["tpot_p99_s"] <= 0.05).all()
        assert (frame["devices"] == frame["replicas"] * frame["device_count"]).all()


@pytest.mark.parametrize("ratio", [1.0 - 1e-15, 1.0 + 1e-15])
def test_the_order_of_a_sum_decides_nothing(ratio: float) -> None:
    """At equal cost and as many devices the faster part remains, whatever the last digit of the cost."""
    slow = [row | {"million_tokens_usd": row["million_tokens_usd"] * ratio} for row in rows("slow", 1, {1: 0.010, 2: 0.018, 4: 0.030}, prompt_s=0.2)]
    found = choose([*rows("fast", 1, {1: 0.005, 2: 0.009, 4: 0.015}, prompt_s=0.1), *slow], rate=1.0, tpot=0.05)
    assert [choice["hardware"] for choice in found] == ["fast"]


def test_of_equal_costs_the_replayed_times_decide() -> None:
    """The closed form finds two servers of one device faster by the mean time of a token. In the replay prompts of 100 ms interrupt their steps for
    longer than those of 60 ms on two devices."""
    both = [*ONE, *rows("one", 2, {1: 0.0104, 2: 0.0107, 4: 0.0112}, 0.06, "tp2")]
    limits = Limits(OUTPUT, rate=0.5, devices=(2,))
    closed = {
        one.allowed[0]["split"]: one.choice(limits)
        for steps in (both[: len(ONE)], both[len(ONE) :])
        if (one := Tried.of(steps[:-1], steps[-1], steps[-1], limits, {}))
    }
    assert closed["one"] and closed["tp2"] and order(closed["one"]) < order(closed["tp2"])
    (found,) = chosen(both, limits).choices
    assert (found["split"], found["replicas"]) == ("tp2", 1)
    (alone,) = chosen(ONE, limits).choices
    assert found["tpot_s"] < alone["tpot_s"] and found["tpot_p99_s"] < alone["tpot_p99_s"]
