"""The clock that a run sustains under its power limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SHAPE: dict[str, Any] = {
    "kernel_count": 2, "view_count": 0,
    "compute_s": 4.0, "memory_s": 0.0, "clocked_memory_s": 0.0, "overlap_fraction": 1.0, "exposed_s": 0.0,
    "kernel_gap_s": 0.0, "unlimited_s": 4.0, "dynamic_energy_j": 400.0, "clocked_energy_j": 400.0, "compute_energy_j": 400.0,
    "memory_energy_j": 0.0, "cache_energy_j": 0.0, "reload_energy_j": 0.0, "stream_energy_j": 0.0, "feed_s": 0.0,
    "product_energy_j": 400.0, "vector_energy_j": 0.0, "fault": None,
}  # fmt: skip
PART: dict[str, Any] = {
    "host_kernel_s": 0.0, "host_view_s": 0.0, "call_s": 0.0, "dispatch": "graph", "static_w": 20.0, "tdp_w": 200.0, "clocking_w": 0.0,
    "standby_w": 0.0, "reference_fraction": 1.0, "default_clock_fraction": 1.0, "voltage_slope": 0.5, "voltage_ceiling": 1.25,
    "voltage_floor": 0.7, "clock_floor": 0.03125,
}  # fmt: skip
RUN: dict[str, Any] = {"host_factor": 1.0, "power": "default", "power_w": None}


def clocked(
    evaluate: Callable[..., list[dict[str, Any]]], *modes: dict[str, Any], run: Any = None, **numbers: Any
) -> Any:
    """Return a shape, twice in its run, at the clock of the run; numbers are of the shape or, if the part has such a column, of the part."""
    part = {name: numbers.pop(name) for name in PART.keys() & numbers.keys()}
    rows = evaluate(
        "clock_step",
        shape_cost=[SHAPE | numbers],
        part_support=[PART | part],
        run=[RUN | (run or {})],
        hardware_power=list(modes),
    )
    if not rows:
        return None
    rows = evaluate("step_power", clock_step=rows)
    rows = evaluate("run_clock", step_power=rows)
    (row,) = evaluate("clocked_shape", run_clock=rows)
    return row


def test_below_the_limit(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """800 J in 8 s and a further 20 W are 120 of 200 W."""
    row = clocked(evaluate)
    assert (row["clock_fraction"], row["busy_s"], row["is_power_bound"], row["power_s"]) == (1.0, 4.0, False, 0.0)
    assert (row["static_w"], row["dynamic_energy_j"]) == (20.0, 400.0)


def test_a_step_is_met_exactly(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """At half the clock (a step: 0.03125^(1/5)) the voltage is 0.75: 800 J * 0.5625 in 16 s and 20 W * 0.5625 make 39.375 W."""
    row = clocked(evaluate, tdp_w=39.375)
    assert row["clock_fraction"] == pytest.approx(0.5)
    assert row["busy_s"] == pytest.approx(8.0)
    assert row["dynamic_energy_j"] == pytest.approx(225.0)
    assert row["static_w"] == pytest.approx(11.25)
    assert row["is_power_bound"]
    assert 2 * row["dynamic_energy_j"] / 16 + row["static_w"] == pytest.approx(39.375)


@pytest.mark.parametrize("limit", [100.0, 70.0, 45.0, 25.0, 15.0, 10.0])
def test_the_average_is_the_limit(evaluate: Callable[..., list[dict[str, Any]]], limit: float) -> None:
    """Between steps, and below the slowest clock, where units pause: a fifth, at which 800 J * 0.49 in 40 s and 9.8 W flow."""
    row = clocked(evaluate, tdp_w=limit, clock_floor=0.2)
    power = row["dynamic_energy_j"] / row["busy_s"] + row["static_w"]
    assert power <= limit * (1 + 1e-12)
    assert power == pytest.approx(limit, rel=0.01)
    assert (row["pause_ratio"] > 1.001) == (limit < 19.6)


def test_main_memory_keeps_its_clock(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Only traffic: a lower clock does not reduce it, so at the slowest clock units pause until 800 J last 40 s."""
    memory = {
        "compute_s": 0.0,
        "memory_s": 4.0,
        "memory_energy_j": 400.0,
        "compute_energy_j": 0.0,
        "clocked_energy_j": 0.0,
    }
    row = clocked(evaluate, tdp_w=29.8, product_energy_j=0.0, **memory)
    # At the floor of the voltage, 0.7, static power is 20 * 0.49 = 9.8 W; 20 W are left.
    assert row["clock_fraction"] == pytest.approx(0.03125)
    assert row["dynamic_energy_j"] == 400.0
    assert row["busy_s"] == pytest.approx(20.0)


def test_a_cache_slows_with_the_clock(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """The slower of 3 s of main memory and, at half the clock, 2 s of the cache."""
    row = clocked(evaluate, tdp_w=39.375, memory_s=3.0, clocked_memory_s=2.0, overlap_fraction=0.5)
    # 8 s of arithmetic and half of 4 s of the cache, a little faster than half the clock: the run is longer.
    assert row["busy_s"] == pytest.approx((4.0 + 0.5 * 2.0) / row["clock_fraction"])


def test_the_first_level_slows_with_the_clock(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Fed in 6 s at full clock, in 12 at half of it, at which 800 J * 0.5625 in 24 s and 20 W * 0.5625 make 30 W."""
    row = clocked(evaluate, tdp_w=30.0, feed_s=6.0, unlimited_s=6.0)
    assert row["clock_fraction"] == pytest.approx(0.5)
    assert row["busy_s"] == pytest.approx(12.0)
    assert row["is_power_bound"]


def test_energy_of_the_first_level_and_of_fetches_falls_with_the_voltage(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """100 of 400 J at half the clock: both fall by 0.75 squared."""
    row = clocked(evaluate, tdp_w=39.375, compute_energy_j=300.0, memory_energy_j=100.0, stream_energy_j=60.0, fetch_energy_j=40.0)
    assert row["stream_energy_j"] + row["fetch_energy_j"] == pytest.approx(row["memory_energy_j"]) == pytest.approx(56.25)
    assert row["dynamic_energy_j"] == pytest.approx(225.0)


def test_clock_trees_follow_the_clock_and_standby_neither(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """12 of 20 W are of clocks and 4 of memory in standby: at half the clock (4 + 6) * 0.5625 + 4, and 28.125 W of work."""
    row = clocked(evaluate, tdp_w=28.125 + 9.625, clocking_w=12.0, standby_w=4.0)
    assert row["clock_fraction"] == pytest.approx(0.5)
    assert row["static_w"] == pytest.approx(9.625)


def test_a_clock_above_the_reference_takes_a_voltage_up_to_the_ceiling(
    evaluate: Callable[..., list[dict[str, Any]]],
) -> None:
    """At 1.2 times the reference clock the voltage is 1.1, at twice at most 1.25; both squared."""
    for reference, square in ((1.2, 1.21), (2.0, 1.5625)):
        row = clocked(evaluate, tdp_w=None, reference_fraction=reference)
        assert row["voltage_square"] == pytest.approx(square)
        assert row["dynamic_energy_j"] == pytest.approx(400.0 * square)


def test_nothing_known_no_limit(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Neither without a limit nor without an energy."""
    assert clocked(evaluate, tdp_w=None)["busy_s"] == 4.0
    assert clocked(evaluate, tdp_w=30.0, dynamic_energy_j=None, clocked_energy_j=None)["busy_s"] == 4.0


def test_static_power_above_the_limit_has_no_answer(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """At the floor of the voltage 9.8 W flow without work."""
    assert clocked(evaluate, tdp_w=9.0)["busy_s"] is None


def test_modes(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """A mode of the part sets limit and clock, watts only a limit; a part without the mode is left out."""
    mode = {"mode": "15w", "tdp_w": 150.0, "clock_fraction": 0.5}
    row = clocked(evaluate, mode, run={"power": "15w", "power_w": 15.0})
    assert (row["clock_fraction"], row["busy_s"], row["tdp_w"]) == (0.5, 8.0, 150.0)
    assert clocked(evaluate, run={"power": "39.375w", "power_w": 39.375})["clock_fraction"] == pytest.approx(0.5)
    assert clocked(evaluate, mode, run={"power": "quiet"}) is None


def test_waiting_for_the_host_draws_less(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """The limit acts on the whole run: 800 J in 20 s of a host that issues two kernels are 60 W with the static 20."""
    host = {"dispatch": "async_queue", "host_kernel_s": 10.0}
    assert clocked(evaluate, tdp_w=60.0, **host)["clock_fraction"] == 1.0
    assert clocked(evaluate, tdp_w=59.0, **host)["clock_fraction"] < 1.0
