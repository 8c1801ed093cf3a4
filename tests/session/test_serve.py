"""Rows of `serve`: loads of one server, with percentiles and goodput."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import charz
from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.ask import lost, plans, serve, server_rows, trace
from charz.session.ask.load import Curve, Server
from charz.session.axes import numbers
from charz.session.messages import Messages

SERVER = Server(Curve([1.0, 101.0], [0.011, 0.111]), steps=100.0, prompt_s=0.05, first_s=0.05, most=50.0)
NO_MEMORY: dict[str, Any] = {"weight_byte": None, "cache_byte": None, "peak_byte": None, "prompt_byte": 0.0}
COSTS = {"prompt_j": 2.0, "step_j": Curve([1.0], [0.5]), "static_w": 10.0, "usd_per_hour": 3.6, "is_simulated": False, **NO_MEMORY}


def row(rate: float | None = None, flight: int | None = None, server: Server = SERVER, accepted: float = 1.0, **objectives: float) -> dict[str, Any]:
    plan = plans.plan_of(
        "m", trace.Trace([1000], [101], []), 50, 0.0, plans.Speculation(accepted), (1, 1), (objectives.get("ttft"), objectives.get("tpot"))
    )
    asked = serve._of_rate(server, plan, rate) if rate is not None else serve._of_flight(server, plan, flight or 1)
    names = serve.COLUMNS[serve.COLUMNS.index("rate_per_s") :]
    return dict(zip(names, serve.row_of(server, plan, asked, COSTS), strict=True))


def names(count: int, has_experts: bool = False, **named: Any) -> list[str]:
    plan = plans.plan_of("m", trace.Trace([1000], [101], []), 50, 0.0, plans.Speculation(), (1, 1), (None, None))
    return [found.name for found in plans.over(plan, plans.Named([count], **named), has_experts)]


def test_devices_are_those_of_all_servers() -> None:
    """Eight devices are one server of eight, or several that share the requests. Named stages leave tensor parallel the rest; a named degree of
    tensor parallel leaves it to further servers. Experts add ten splits in all: the pairs of powers of two whose product divides eight."""
    assert names(8) == ["8 x one", "4 x tp2", "2 x tp4", "tp8"]
    assert names(6) == ["6 x one", "3 x tp2"]
    assert names(16) == ["16 x one", "8 x pp2", "8 x tp2", "4 x tp2 pp2", "4 x tp4", "2 x tp4 pp2", "2 x tp8", "tp8 pp2"]
    assert len(names(8, has_experts=True)) == 10 and "tp2 dp4 ep4" in names(8, has_experts=True)
    assert names(8, tensors=[2]) == ["4 x tp2"] and names(8, tensors=[2], stages=[2]) == ["2 x tp2 pp2"]
    assert names(8, stages=[1, 2]) == ["tp8", "tp4 pp2"] and names(8, experts=[8]) == ["dp8 ep8"]
    with pytest.raises(CharzError, match="no split: --devices 3"):
        names(3, stages=[2])


def test_servers_share_a_rate() -> None:
    """Four servers at 4 a second are four times one at 1 a second: rates, running requests and price add up, times do not."""
    plan = plans.plan_of("m", trace.Trace([1000], [101], []), 50, 0.0, plans.Speculation(), (1, 1), (1.0, None))
    columns = serve.COLUMNS[serve.COLUMNS.index("rate_per_s") :]
    one, four = (
        dict(zip(columns, serve.row_of(SERVER, each, serve._of_rate(SERVER, each, rate), COSTS), strict=True))
        for each, rate in ((plan, 1.0), (replace(plan, servers=4), 4.0))
    )
    for name in ("requests_per_s", "saturation_per_s", "goodput_per_s", "tokens_per_s", "running_batch", "most_batch"):
        assert four[name] == pytest.approx(4 * one[name])
    for name in ("load_fraction", "ttft_p99_s", "tpot_p99_s", "token_j", "million_output_tokens_usd", "busy_fraction"):
        assert four[name] == pytest.approx(one[name])
    assert (one["price_usd_per_hour"], four["price_usd_per_hour"]) == (3.6, 14.4)
    half = serve._of_flight(SERVER, replace(plan, servers=4), 2)
    assert (half.servers, half.load.batch) == (2.0, pytest.approx(1.0, rel=0.1))


def test_goodput_at_two_loads() -> None:
    """A request in 1,000 s meets nobody: 50 ms, then steps of 11 ms. Above 1 / 0.17 a second the queue grows, so all first tokens are late, and
    each step takes 85 ms."""
    alone = row(0.001, ttft=0.051, tpot=0.0111)
    assert alone["met_fraction"] == pytest.approx(1.0, abs=0.01)
    assert alone["goodput_per_s"] == pytest.approx(0.001, rel=0.01)
    assert [alone[f"ttft_{n}_s"] for n in ("p50", "p90")] == pytest.approx([0.05, 0.05])
    assert alone["ttft_s"] == alone["ttft_p50_s"] and alone["tpot_s"] == alone["tpot_p50_s"] == pytest.approx(0.011)
    assert alone["request_p50_s"] == pytest.approx(0.05 + 1.1)
    assert row(0.001, ttft=0.049)["goodput_per_s"] == row(0.001, tpot=0.0109)["goodput_per_s"] == 0.0
    full = row(6.0, ttft=10.0)
    assert (full["is_saturated"], full["met_fraction"], full["ttft_p99_s"]) == (True, 0.0, None)
    assert full["requests_per_s"] == full["saturation_per_s"] == pytest.approx(1 / 0.17)
    assert row(6.0, tpot=0.086)["goodput_per_s"] == pytest.approx(1 / 0.17)
    assert row(6.0, tpot=0.084)["goodput_per_s"] == 0.0
    assert row(1.0)["goodput_per_s"] is None


def test_the_opening_burst_misses_no_objective() -> None:
    """The last of 20 prompts of 50 ms waits for 19 others, so half of the burst is later than 0.5 s, and p99 tells that. The later requests take at
    most 150 ms; some of them exceed 120 ms."""
    found = row(flight=20, ttft=0.5)
    assert found["met_fraction"] == 1.0 and found["goodput_per_s"] == found["requests_per_s"] and found["ttft_p99_s"] > 0.85
    assert 0.0 < row(flight=20, ttft=0.12)["met_fraction"] < 1.0


def test_costs_of_a_rate() -> None:
    """101 tokens a second cost 3.6 USD an hour. A request takes 2 J, its share of 100 steps of 0.5 J, and the idle time at 10 W."""
    found = row(1.0)
    assert found["million_output_tokens_usd"] == pytest.approx(0.001 / 101 * 1e6) and found["price_usd_per_hour"] == 3.6
    steps_j = 100 * 0.5 / max(found["running_batch"], 1.0)
    assert found["token_j"] == pytest.approx((2.0 + steps_j + (1 - found["busy_fraction"]) * 10.0) / 101)


def test_the_first_line_names_the_server() -> None:
    """The line names the server of the largest stated load that meets the objectives. Without stated loads it names the cheapest one. It leaves
    out a server whose queue grows without bound."""
    plan = plans.plan_of("m", trace.Trace([1000], [101], []), 50, 0.0, plans.Speculation(), (1, 1), (1.0, 0.03))
    one = {
        "hardware": "p", "precision": "bf16", "split": "one", "replicas": 1, "devices": 1, "rate_per_s": 1.0, "concurrency": None, "requests_per_s": 1.0,
        "is_saturated": False, "met_fraction": 1.0, "million_output_tokens_usd": 2.0, "load_fraction": 0.5, "tpot_p99_s": 0.02, "tpot_s": 0.02, "ttft_s": 0.5,
    }  # fmt: skip
    two = one | {"devices": 2, "replicas": 2, "rate_per_s": 2.0, "requests_per_s": 2.0, "million_output_tokens_usd": 3.0}
    late = two | {"rate_per_s": 4.0, "met_fraction": 0.98}
    price = "3.00 USD a million output tokens at 2.00 requests/s"
    told = f"cheapest: 2 x p, bf16, 2 servers of one: {price}; 100 % of the requests meet TTFT 1.00 s and TPOT 30.0 ms"
    assert serve.verdict([one, two, late], plan, is_loaded=True) == (f"{told}; none meets them at 4", True)
    assert serve.verdict([one, two, late], plan, is_loaded=False)[0].startswith("cheapest: 1 x p, bf16, one: 2.00 USD")
    assert [sorted([one, two, late], key=lambda row: serve.preference(row, loaded))[0] for loaded in (True, False)] == [two, one]
    missed = "none meets TTFT 1.00 s and TPOT 30.0 ms: at best 98 % of the requests do, on 2 x p, bf16, 2 servers of one"
    assert serve.verdict([late, one | {"is_saturated": True}], plan, is_loaded=True) == (missed, False)
    assert serve.verdict([], plan, is_loaded=False) == ("none meets TTFT 1.00 s and TPOT 30.0 ms", False)
    free = replace(plan, ttft_s=None, tpot_s=None)
    assert serve.verdict([one | {"is_saturated": True}], free, is_loaded=True) == ("none bears these rates", True)
    flight = one | {"rate_per_s": None, "concurrency": 8, "is_saturated": True, "million_output_tokens_usd": None}
    assert serve.verdict([flight], plan, is_loaded=True)[0].endswith("; 100 % of the requests after the opening burst of 8 meet TTFT 1.00 s and TPOT 30.0 ms")
    assert serve.verdict([flight], free, is_loaded=True) == ("cheapest: 1 x p, bf16, one: of unknown price at 1.00 requests/s", True)


def test_saturated_servers_share_a_line() -> None:
    """Two rows of one server above its largest rate are named once; a busy server is told apart."""
    one = {
        "hardware": "p", "precision": "bf16", "split": "one", "replicas": 1, "devices": 1, "rate_per_s": 3.0, "is_saturated": True, "load_fraction": 1.0,
        "saturation_per_s": 2.5,
    }  # fmt: skip
    full = one | {"rate_per_s": 2.2, "is_saturated": False, "load_fraction": 0.88}
    assert serve.crowded([one, one | {"rate_per_s": 4.0}, full, full | {"rate_per_s": 1.0, "load_fraction": 0.4}]) == [
        "waiting times grow fast above 80 % of the largest rate: 1 x p, bf16, one at 88 %",
        "saturated rows, whose queue grows without bound: 1 x p, bf16, one serves at most 2.50 a second",
    ]


def test_equal_prices_leave_the_server_with_the_most_room() -> None:
    """Splits of eight devices cost the same at a rate, but for the last digits of a sum. One above 80 % of its largest rate comes last, however
    short its times are; of the others the least p99 of a later token decides."""
    plan = plans.plan_of("m", trace.Trace([1000], [101], []), 50, 0.0, plans.Speculation(), (1, 1), (1.0, 0.04))
    base = {
        "hardware": "p", "precision": "fp8", "devices": 8, "rate_per_s": 40.0, "concurrency": None, "requests_per_s": 40.0, "is_saturated": False,
        "met_fraction": 1.0, "tpot_s": 0.01, "ttft_s": 0.1,
    }  # fmt: skip
    numbers = [("tp2", 4, 0.81, 0.01, 0.7), ("tp8", 1, 0.74, 0.0203, 0.7 + 1e-15), ("tp4", 2, 0.5, 0.0303, 0.7), ("pp8", 1, 0.1, 0.01, 0.71)]
    named = ("split", "replicas", "load_fraction", "tpot_p99_s", "million_output_tokens_usd")
    found = [base | dict(zip(named, each, strict=True)) for each in numbers]
    assert serve.verdict(found, plan, is_loaded=True)[0].startswith("cheapest: 8 x p, fp8, tp8:")
    assert [row["split"] for row in sorted(found, key=lost.order)] == ["tp8", "tp4", "tp2", "pp8"]
    # On a node that costs its owner nothing, the server of the largest rate comes first.
    owned = [row | {"million_output_tokens_usd": 0.0, "requests_per_s": 20.0 + i} for i, row in enumerate(found)]
    assert [row["split"] for row in sorted(owned, key=lost.order)] == ["pp8", "tp4", "tp8", "tp2"]


def test_speculation_at_a_rate() -> None:
    """Each step accepts two tokens, so a token takes half a step."""
    two = Server(SERVER.step_s, 50.0, 0.05, 0.05, 50.0, steps_per_token=0.5)
    assert row(0.001, server=two, accepted=2.0)["tpot_s"] == pytest.approx(0.0055)


def test_a_closed_loop_has_both() -> None:
    found = row(flight=1)
    assert (found["rate_per_s"], found["concurrency"], found["busy_fraction"]) == (None, 1, 1.0)
    assert found["tpot_p50_s"] == pytest.approx(0.011)


@pytest.mark.parametrize("given", ["2,x", "0", "-1", "nan", "inf", "", [1.0, None]])
def test_wrong_rates(given: Any) -> None:
    with pytest.raises(CharzError, match="not a number above 0: --rate"):
        numbers(given, "--rate")


def test_rates() -> None:
    assert numbers("2, 0.5,2", "--rate") == numbers([2.0, 0.5], "--rate") == [0.5, 2.0]
    assert (numbers(3, "--rate"), numbers(None, "--rate")) == ([3.0], [])


def test_speculation_by_hand() -> None:
    """A step verifies two draft tokens, each of which is accepted half of the time. It accepts 1 + 1/2 + 1/4 tokens on average."""
    assert plans.speculation(None, 2, "draft", 0.5) == plans.Speculation(1.75, 2, "draft")
    assert plans.speculation(None, 3, "draft", 1.0).accepted == 4.0
    assert plans.speculation(1.5, 2, None, None) == plans.Speculation(1.5, 2)
    assert plans.speculation(None, 0, None, None) == plans.Speculation()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ((1.5, 2, None, 0.5), "two statements"),
        ((1.5, 0, None, None), "without draft tokens"),
        ((None, 0, "draft", 0.5), "without draft tokens"),
        ((None, 2, "draft", None), "without its acceptance"),
        ((3.5, 2, None, None), "more tokens accepted than verified"),
    ],
)
def test_speculation_that_cannot_be(options: tuple[Any, ...], error: str) -> None:
    with pytest.raises(CharzError, match=error):
        plans.speculation(*options)


def run(batch: int, sequence: int, latency_s: float, **other: Any) -> dict[str, Any]:
    base = {
        "batch": batch, "sequence": sequence, "context": 600, "phase": "decode" if sequence == 1 else "prefill", "latency_s": latency_s,
        "energy_j": 10 * latency_s, "largest_batch": 10, "sample_byte": 1e9, "held_byte": 2e9, "chunk_tokens": 500, "prompt_launch_s": 0.0,
        "static_w": 100.0, "device_count": 2, "price_usd_per_hour": 3.0, "is_simulated": False,
    }  # fmt: skip
    return base | other


def test_a_draft_takes_time_energy_and_memory() -> None:
    """Before each step of 20 ms the draft does three of 2 ms, and its prompt of 4 ms follows that of 50 ms. Ten requests of 1 GB fit; with the
    draft's 2 GB, and 0.6 GB for each request, five do."""
    rows = [run(1, 4, 0.02), run(1, 500, 0.05, context=500)]
    drafts = [run(1, 1, 0.002, sample_byte=6e8), run(1, 500, 0.004, context=500, sample_byte=6e8)]
    step, prompt = server_rows.with_draft(rows, drafts, 3)
    assert (step["latency_s"], prompt["latency_s"]) == pytest.approx((0.026, 0.054))
    assert (step["energy_j"], prompt["energy_j"]) == pytest.approx((0.26, 0.54))
    assert step["largest_batch"] == prompt["largest_batch"] == 5
    on_two, _ = server_rows.with_draft(rows, drafts, 3, replicas=2)
    assert (on_two["latency_s"], on_two["energy_j"]) == pytest.approx((0.026, 0.2 + 2 * 0.06))


def test_a_draft_breaks_even() -> None:
    """A step of 20 ms makes a token. With three drafts of 2 ms it verifies four in 26 ms: it gains from 1.3 accepted tokens on."""

    def token_s(acceptance: float) -> float:
        guess = plans.speculation(None, 3, "draft", acceptance)
        (step, prompt) = server_rows.with_draft([run(1, 4, 0.02), run(1, 500, 0.05)], [run(1, 1, 0.002), run(1, 500, 0.0)], 3)
        made = server_rows.served([step, prompt], 600, 500, None, 1)
        assert made is not None
        return made[0].step_s(1.0) / guess.accepted

    even = 0.233  # the root of a + a^2 + a^3 = 0.3
    assert token_s(even - 0.01) > 0.02 > token_s(even + 0.01)


def test_replicas_by_hand() -> None:
    """On each of four replicas a step of 20 ms serves two requests, and a prompt takes 50 ms. The server makes steps of eight requests, takes
    four prompts in a chunk, and has room for 40 requests."""
    rows = [run(1, 1, 0.01, device_count=8), run(2, 1, 0.02, device_count=8), run(1, 500, 0.05, context=500, device_count=8)]
    made = server_rows.served(rows, 600, 500, None, 1, replicas=4)
    assert made is not None
    server, costs = made
    assert (server.step_s(4.0), server.step_s(8.0), server.most) == pytest.approx((0.01, 0.02, 40.0))
    assert (server.prompt_s, server.chunk_s, server.first_s, server.most_prompts) == pytest.approx((0.0125, 0.0, 0.05, 4.0))
    assert (costs["prompt_j"], costs["static_w"], costs["usd_per_hour"]) == pytest.approx((0.5 / 4, 800.0, 24.0))
    assert costs["step_j"](8.0) == pytest.approx(0.2)


def test_a_row_of_replicas_by_hand() -> None:
    """Four replicas make two tokens each at 3 J. A request's cache of 8 bytes is on one replica; `served` multiplies by the devices of all four."""
    row = server_rows._of_replica({"batch": 2, "sequence": 1, "data": 4, "token_j": 3.0, "kv_cache_byte": 8.0}, 5, 1.0)
    assert (row["energy_j"], row["kv_cache_byte"], row["largest_batch"], row["sample_byte"]) == (24.0, 2.0, 5, 1.0)


def test_a_graph_verifies_drafts() -> None:
    """The host launches the kernels of a prompt one by one, those of a step at once."""
    rows = [run(1, 4, 0.05, prompt_launch_s=0.03), run(1, 500, 0.05, context=500, prompt_launch_s=0.02)]
    made = server_rows.served(rows, 600, 500, None, 1)
    assert made is not None and made[0].step_s(1.0) == pytest.approx(0.02)
    assert (made[0].first_s, made[0].prompt_s) == pytest.approx((0.05, 0.03))


def test_the_largest_batch_by_what_is_left() -> None:
    """After one request there is memory for 70 more; the straight line ends at 71. Where two are too many, none fits or one does."""
    assert server_rows.largest_of({1: 70.0, 8: 63.0}) == (71, 1.0)
    assert server_rows.largest_of({1: 0.5, 2: -0.5}) == (1, 1.0)
    assert server_rows.largest_of({1: -0.5, 2: -1.5})[0] == 0
    assert server_rows.largest_of({1: 5.0}) == (1, None)
    assert server_rows.largest_of({1: None}) == (None, None)


@pytest.fixture(scope="module")
def experts(few_parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File of a small mixture of experts."""
    path = Path(shutil.copy(few_parts, tmp_path_factory.mktemp("experts") / "experts.duckdb"))
    with charz.open(path) as db:
        db.ingest("hf:olmoe-1b-7b", settings=["num_hidden_layers=2"], name="moe", no_answers=True)
    return path


def test_experts_over_replicas(experts: Path) -> None:
    """Four replicas read a quarter of the experts each and share nothing else: a step of as many requests is faster, and four devices are paid.
    One replica's requests are those of a server alone."""
    asked: dict[str, Any] = {"on": "h100_sxm5_80", "backend": "vllm", "precision": "fp16", "input": 64, "output": 64, "concurrency": "4,64"}
    with charz.open(experts) as db:
        one, four = (db.serve("moe", expert=count, **asked) for count in (1, 4))
        alone = db.llm("moe", on="h100_sxm5_80", backend="vllm", precision="fp16", devices=4, expert=4, batch=1, context=96, output=64)
    assert one["device_count"].to_list() == [1, 1] and four["device_count"].to_list() == [4, 4]
    assert all(four["tpot_s"] < one["tpot_s"]) and all(four["requests_per_s"] > one["requests_per_s"])
    step = alone.filter(phase="decode", split="dp4 ep4")["latency_s"].item()
    assert four["tpot_p50_s"][0] == pytest.approx(step, rel=0.1)


def test_load_and_memory_of_a_row() -> None:
    """At half of the largest rate the load is a half. Fifty requests of 10 bytes of cache need 100 + 500 bytes and 7 more; a prompt needs 700."""
    memory: dict[str, Any] = {
        "weight_byte": Curve([1.0, 2.0], [100.0, 100.0]), "cache_byte": Curve([1.0, 2.0], [10.0, 20.0]),
        "peak_byte": Curve([1.0, 2.0], [117.0, 127.0]), "prompt_byte": 0.0,
    }  # fmt: skip
    assert serve.memory_of(SERVER, memory) == {"weight_byte": 100.0, "kv_cache_byte": 500.0, "peak_memory_byte": 607.0}
    assert serve.memory_of(SERVER, memory | {"prompt_byte": 700.0})["peak_memory_byte"] == 700.0
    assert row(SERVER.capacity / 2)["load_fraction"] == pytest.approx(0.5)
    closed = row(flight=1)
    assert closed["load_fraction"] == pytest.approx(closed["requests_per_s"] / closed["saturation_per_s"])


def test_a_pipeline_by_hand() -> None:
    """Each of two stages has a batch of its own: steps of 20 ms serve 2 and 4 requests, of which 20 fit. A prompt is there after 50 ms, and keeps a
    stage for 25; a step of both stages takes twice the energy of a batch."""
    rows = [run(1, 1, 0.01, pass_s=0.005), run(2, 1, 0.02, pass_s=0.01), run(1, 500, 0.05, context=500, pass_s=0.025)]
    made = server_rows.served(rows, 600, 500, None, 1, stages=2)
    assert made is not None
    server, costs = made
    assert (server.step_s(2.0), server.step_s(4.0), server.most) == pytest.approx((0.01, 0.02, 20.0))
    assert (server.first_s, server.prompt_s, server.most_prompts) == pytest.approx((0.05, 0.025, 1.0))
    assert (costs["step_j"](4.0), costs["prompt_j"]) == pytest.approx((0.4, 0.5))


def test_prompts_that_do_not_fit_together_need_no_memory() -> None:
    """A chunk of 1,000 tokens takes two prompts of 500, which need 90 bytes. A server that has room for one request runs one, which needs 70."""
    for most, byte in ((10, 90.0), (2, 90.0), (1, 70.0)):
        prompts = [run(n, 500, 0.05, context=500, largest_batch=most, peak_memory_byte=50.0 + 20 * n) for n in (1, 2)]
        made = server_rows.served([run(1, 1, 0.01, largest_batch=most), *prompts], 600, 500, None, 1, chunk=1000)
        assert made is not None and made[1]["prompt_byte"] == byte


def test_a_prompt_in_chunks_by_hand() -> None:
    """A prompt of 500 tokens takes five chunks of 100 tokens, of 12 ms each; a step takes one of them."""
    rows = [run(1, 1, 0.01), run(1, 100, 0.012, context=300), run(1, 500, 0.05, context=500)]
    made = server_rows.served(rows, 600, 500, None, 1, chunk=100)
    assert made is not None
    assert (made[0].first_s, made[0].prompt_s, made[0].most_prompts) == pytest.approx((0.06, 0.06, 0.2))
    assert made[1]["prompt_j"] == pytest.approx(0.6)
    larger = server_rows.served([run(1, 1, 0.01), run(1, 500, 0.05, context=500), run(2, 500, 0.08, context=500)], 600, 500, None, 1, chunk=1000)
    assert larger is not None and (larger[0].prompt_s, larger[0].chunk_s, larger[0].most_prompts) == pytest.approx((0.03, 0.02, 2.0))


def test_rows_of_a_split() -> None:
    alone, pair = {"device_count": 1}, {"device_count": 4, "tensor": 2, "pipeline": 2, "expert": 1}
    assert server_rows.of_split([alone, pair], 1) == [alone]
    assert server_rows.of_split([alone, pair], 2, 2) == [pair] and server_rows.of_split([alone, pair], 4) == []


def test_slots_are_counted_for_each_replica(experts: Path) -> None:
    """Two slots on each of four replicas: the server runs eight requests, and a remark names slots as the limit."""
    said: list[str] = []
    with Session(experts, messages=Messages(warn=said.append, remark=said.append)) as db:
        asked: dict[str, Any] = {"on": "h100_sxm5_80", "precision": "fp16", "input": 64, "output": 64, "rate": 1, "slots": 2, "expert": 4}
        found = db.serve("moe", backend="vllm", **asked)
        command = db.serve("moe", launch="vllm", **asked)
    assert found["most_batch"].to_list() == [8.0]
    assert sum(line.startswith("--launch lists commands") for line in said) == 1
    (line,) = {line for line in said if line.startswith("slots limit")}
    assert line.startswith("slots limit h100_sxm5_80 in fp16, dp4 ep4, to 8 of ") and line.endswith("--slots takes more")
    assert "--max-num-seqs 2 " in command["launch"][0]


def test_eight_bits_are_tried_beside_16(file: Path) -> None:
    """An L4 computes in fp8, an A10 does not. The smaller weights raise the rate; several limited splits are one remark, and so are several
    rates near the largest one."""
    said: list[str] = []
    fast = "waiting times grow fast above 80 % of the largest rate"
    with Session(file, messages=Messages(warn=said.append, remark=said.append)) as db:
        asked: dict[str, Any] = {"on": "l4,a10", "input": 64, "output": 16, "slots": 4}
        found = db.serve("decoder", **asked)
        said.clear()
        most = found.filter(hardware="l4", precision="fp16")["saturation_per_s"].item()
        for shares, told in (((0.85, 0.9), [f"{fast}: 1 x l4, fp16, one at 85 %, 1 x l4, fp16, one at 90 %"]), ((0.5,), [])):
            said.clear()
            db.serve("decoder", **(asked | {"on": "l4", "precision": "fp16", "rate": [share * most for share in shares]}))
            assert [line for line in said if line.startswith(fast)] == told
    assert sorted(zip(found["hardware"], found["precision"], strict=True)) == [("a10", "fp16"), ("l4", "fp16"), ("l4", "fp8")]


def test_splits_are_compared_and_started(file: Path) -> None:
    """Two devices halve the large weights of each. Two stages cost twice as much for the same rate. One command has a
    flag for each degree, and for the chunk."""
    asked: dict[str, Any] = {"on": "h100_sxm5_80", "backend": "vllm", "precision": "fp16", "input": 64, "output": 16, "rate": 1}
    with charz.open(file) as db:
        found = db.serve("decoder", tensor="1,2", chunk=32, **asked)
        pair = db.serve("decoder", devices=2, **(asked | {"rate": None, "ttft": "1s", "tpot": "1s"}))
        staged = db.serve("decoder", pipeline="1,2", **asked)
        command = db.serve("decoder", pipeline=2, chunk=32, launch="vllm", **(asked | {"backend": None}))
    assert found["split"].to_list() == ["one", "tp2"] and found["device_count"].to_list() == [1, 2]
    assert pair["replicas"].to_list() == [2, 1] and pair["devices"].to_list() == [2, 2]
    usd, most = pair["million_output_tokens_usd"].to_list(), pair["rate_per_s"].to_list()
    assert usd == sorted(usd) and most == sorted(most, reverse=True) and min(pair["met_fraction"]) >= 0.99
    weights = found["weight_byte"].to_list()
    assert 0.4 < weights[1] / weights[0] < 0.8
    assert staged["split"].to_list() == ["one", "pp2"] and staged["device_count"].to_list() == [1, 2]
    assert staged["million_output_tokens_usd"].to_list() == pytest.approx([staged["million_output_tokens_usd"][0], 2 * staged["million_output_tokens_usd"][0]])
    (words,) = command["launch"]
    assert "--pipeline-parallel-size 2" in words and "--max-num-batched-tokens 32" in words and "--max-model-len 256" in words


def test_a_server_that_does_not_fit_tells_the_devices_that_may() -> None:
    """A request needs 170 GiB of each of two devices of 80: four devices would need 85, eight 43."""
    rows = [{"peak_memory_byte": peak * 2.0**30, "device_byte": 80 * 2.0**30} for peak in (190, 170)]
    assert server_rows.lacking(rows, 2) == "where a request needs at least 170 GiB on each device of 80.0 GiB; try --devices 8 or more"
    assert server_rows.lacking(rows, None) == "where a request needs at least 170 GiB on each device of 80.0 GiB"
    assert server_rows.lacking(rows, 8).endswith("try --devices 32 --pipeline 4 or more")
    assert server_rows.lacking([{"peak_memory_byte": 1.0, "device_byte": 2.0}], 1) == "where no request fits or the step has no time"
    assert server_rows.lacking([], 1) == "where no request fits or the step has no time"
    assert (server_rows.least_byte(rows), server_rows.least_byte([])) == (170 * 2.0**30, float("inf"))
