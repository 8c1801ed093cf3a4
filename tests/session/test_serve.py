"""Rows of `serve`: loads of one server, with percentiles and goodput."""

from __future__ import annotations

from typing import Any

import pytest

from charz.schema.errors import CharzError
from charz.session.ask import serve, trace
from charz.session.ask.load import Curve, Server
from charz.session.axes import numbers

SERVER = Server(Curve([1.0, 101.0], [0.011, 0.111]), steps=100.0, prompt_s=0.05, first_s=0.05, most=50.0)
COSTS = {"prompt_j": 2.0, "step_j": Curve([1.0], [0.5]), "static_w": 10.0, "usd_per_hour": 3.6, "is_simulated": False}


def row(rate: float | None = None, flight: int | None = None, server: Server = SERVER, accepted: float = 1.0, **objectives: float) -> dict[str, Any]:
    plan = serve.plan_of(
        "m", trace.Trace([1000], [101], []), 50, 0.0, accepted, 0, 1, (objectives.get("ttft"), objectives.get("tpot"))
    )
    asked = serve._of_rate(server, plan, rate) if rate is not None else serve._of_flight(server, plan, flight or 1)
    names = serve.COLUMNS[serve.COLUMNS.index("rate_per_s") :]
    return dict(zip(names, serve.row_of(server, plan, asked, COSTS), strict=True))


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


def test_costs_of_a_rate() -> None:
    """101 tokens a second cost 3.6 USD an hour. A request takes 2 J, its share of 100 steps of 0.5 J, and the idle time at 10 W."""
    found = row(1.0)
    assert found["million_tokens_usd"] == pytest.approx(0.001 / 101 * 1e6)
    steps_j = 100 * 0.5 / max(found["running_batch"], 1.0)
    assert found["token_j"] == pytest.approx((2.0 + steps_j + (1 - found["busy_fraction"]) * 10.0) / 101)


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
