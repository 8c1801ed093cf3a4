"""A server under load, computed by hand: steps of 10 ms and 1 ms a request, prompts of 50 ms, 100 steps."""

from __future__ import annotations

import math

import pytest

from charz.session.ask.load import Curve, Server, at_concurrency, at_rate, saturated

SERVER = Server(Curve([1.0, 101.0], [0.011, 0.111]), steps=100.0, prompt_s=0.05, first_s=0.05, most=50.0)


def test_at_a_rate() -> None:
    """batch = 100 (0.01 + 0.001 batch) / 0.95: 1 / 0.85. A prompt waits 0.05 * 0.05 / 1.9 s for others, and half a step for
    0.95 of the time."""
    load = at_rate(SERVER, 1.0)
    assert load.batch == pytest.approx(1 / 0.85)
    step = 0.01 + 0.001 / 0.85
    assert load.step_s == pytest.approx(step / 0.95)
    assert load.first_s == pytest.approx(0.05 + 0.05 * 0.05 / 1.9 + 0.5 * 0.95 * step)
    assert load.busy_fraction == pytest.approx(1.0 - math.exp(-(1 / 0.85 + 0.05)))
    assert load.residual_fraction < 1e-12
    assert not load.is_saturated


def test_a_rate_that_leaves_the_device_idle() -> None:
    """One request in ten seconds: 50 ms of prompt and 1.1 s of its steps, seen as requests that do not wait (M/G/infinity)."""
    load = at_rate(SERVER, 0.1)
    assert load.batch == pytest.approx(0.1 * 1.1 / 0.995)
    assert load.busy_fraction == pytest.approx(1.0 - math.exp(-0.1 * (0.05 + 1.1 / 0.995)))


def test_saturation() -> None:
    """50 requests run: 50 ms of prompt and 100 * 60 / 50 ms of steps a request."""
    load = saturated(SERVER)
    assert load.rate_per_s == SERVER.capacity == pytest.approx(1 / 0.17)
    assert (load.batch, load.first_s, load.is_saturated) == (50.0, None, True)
    assert load.step_s == pytest.approx(0.06 / (1 - 0.05 / 0.17))
    assert at_rate(SERVER, 5.9) == load
    assert at_rate(SERVER, 5.8).batch < 50.0


def test_one_request_in_flight() -> None:
    """No request waits: a prompt, then steps of 11 ms."""
    load = at_concurrency(SERVER, 1)
    assert load.rate_per_s == pytest.approx(1 / 1.15)
    assert (load.first_s, load.step_s) == (pytest.approx(0.05), pytest.approx(0.011))
    assert load.batch == pytest.approx(1.1 / 1.15)
    assert load.residual_fraction < 1e-12


def test_requests_in_flight() -> None:
    """The requests are those that decode, and those that wait for their first token."""
    load = at_concurrency(SERVER, 16)
    assert load.batch + load.rate_per_s * (load.first_s or 0.0) == pytest.approx(16.0)
    assert load.batch < 16.0
    # 100 do not fit: 50 run, the others wait.
    more = at_concurrency(SERVER, 100)
    assert (more.batch, more.is_saturated) == (50.0, True)
    assert more.first_s == pytest.approx(50.0 / more.rate_per_s)


def test_prompts_that_share_a_chunk() -> None:
    """Each chunk takes 30 ms, and each prompt 20 ms more. 10 run for 5 steps, so two end in a step: 20 + 30 / 2 ms a prompt; chunks of one leave it
    at 50."""
    shared = Server(SERVER.step_s, 5.0, prompt_s=0.02, first_s=0.05, most=10.0, chunk_s=0.03, most_prompts=8.0)
    assert shared.taken_s(10.0) == pytest.approx(0.035)
    assert shared.taken_s(5.0) == pytest.approx(0.05)
    assert shared.capacity == pytest.approx(1 / (0.035 + 5 * 0.02 / 10))
    alone = Server(SERVER.step_s, 5.0, prompt_s=0.02, first_s=0.05, most=10.0, chunk_s=0.03)
    assert alone.taken_s(10.0) == pytest.approx(0.05)


def test_the_burst_of_a_benchmark() -> None:
    """16 requests begin at once: the last waits for 15 prompts of 50 ms. They are a tenth of all, so 1 % of all wait for more than nine tenths
    of that."""
    load = at_concurrency(SERVER, 16)
    assert load.first_s is not None
    last = 0.05 + 15 * 0.05
    assert load.mean_first_s == pytest.approx(0.9 * load.first_s + 0.1 * (0.05 + last) / 2)
    assert load.late_first_s == pytest.approx(0.05 + 0.9 * 15 * 0.05)
    assert at_rate(SERVER, 1.0).mean_first_s is None


def test_prompts_on_parts_of_their_own() -> None:
    """Steps are not interrupted; ten prompts a second are the maximum."""
    apart = Server(SERVER.step_s, 100.0, prompt_s=0.0, first_s=0.15, most=50.0, prompts_per_s=10.0)
    load = at_rate(apart, 1.0)
    # batch = 100 (0.01 + 0.001 batch): 1 / 0.9.
    assert load.batch == pytest.approx(1 / 0.9)
    assert load.step_s == pytest.approx(0.01 + 0.001 / 0.9)
    assert load.first_s == pytest.approx(0.15 + 0.15 * 0.15 / (2 * 0.85))
    assert apart.capacity == pytest.approx(50 / 6.0)
    assert Server(SERVER.step_s, 100.0, 0.0, 0.15, 50.0, prompts_per_s=2.0).capacity == 2.0


@pytest.mark.parametrize("steps", [100.0, 40.0])
def test_fewer_steps_with_accepted_tokens(steps: float) -> None:
    """2.5 tokens a step: 40 steps instead of 100."""
    server = Server(SERVER.step_s, steps, 0.05, 0.05, 50.0)
    assert server.capacity == pytest.approx(1 / (0.05 + steps * 0.06 / 50))


def test_a_curve() -> None:
    curve = Curve([1.0, 2.0, 4.0], [3.0, 4.0, 8.0])
    assert [curve(x) for x in (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)] == [3.0, 3.0, 3.5, 4.0, 6.0, 8.0, 10.0]
