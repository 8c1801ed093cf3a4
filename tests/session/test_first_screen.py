"""The plain report answers on one screen: words, shares and the slowest kernels; sections tell the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import charz
from charz.cli import dispatch
from charz.session.answer import Rows
from charz.session.ask import first_screen

RUN: dict[str, Any] = {
    "model": "m", "hardware": "p", "latency_s": 10e-3, "p10_s": 8e-3, "p90_s": 20e-3, "band_basis": "measured", "throughput_per_s": 100.0,
    "bottleneck": "compute", "compute_s": 6e-3, "memory_s": 3e-3, "power_s": 0.0, "team_s": 0.0, "overhead_s": 1e-3, "energy_j": 2.0,
    "energy_per_sample_j": 2.0, "average_power_w": 200.0, "energy_scope": "board", "compute_energy_j": 0.5, "memory_energy_j": 0.5,
    "static_energy_j": 1.0, "macs": 3e9, "kernel_count": 2, "utilization_fraction": 0.25, "is_simulated": False,
    "flops": 6e9, "naive_s": 4e-3, "host_issue_s": 1e-3, "run_call_s": 1e-3,
}  # fmt: skip
MEMORY = {"fits_device": True, "peak_memory_byte": 2**30, "device_byte": 16 * 2**30}


def test_the_answer_in_words() -> None:
    told = dict(first_screen.answer(RUN, MEMORY).fetch())
    assert told["time"] == "10.0 ms a run, 100 samples a second; four of five such runs are between 8.00 ms and 20.0 ms (measured)"
    assert told["bottleneck"] == "arithmetic sets the pace (60 % of the time), memory does for 30 %"
    assert told["change"].count(";") == 1
    assert told["energy"] == "2.00 J a sample, 200 W on average, 100 W of it static at the clock of the run (board)"
    assert told["memory"] == "takes 1.00 GiB of 16.0 GiB"
    assert told["work"] == (
        "3.00 GMAC in 2 kernels; shapes and waves allow 25 % of the peak of the units in use, on average 1.50 TOP/s, before efficiency"
    )
    assert dict(first_screen.answer({**RUN, "naive_s": 0.0}, MEMORY).fetch())["work"].endswith("25 % of the peak of the units in use, before efficiency")
    assert "silicon" not in told
    changed = {**RUN, "is_simulated": True, "energy_j": None, "p10_s": None}
    told = dict(first_screen.answer(changed, {**MEMORY, "fits_device": False}).fetch())
    assert told["time"] == "10.0 ms a run, 100 samples a second"
    assert told["memory"].startswith("does not fit: 1.00 GiB")
    assert told["energy"].startswith("not known") and "simulated" in told["silicon"]
    assert first_screen.answer({**RUN, "latency_s": None}, MEMORY).fetch() == [("time", "m has no time on p")]


def test_a_peak_above_the_limit_is_that_of_one_kernel() -> None:
    """750 W of one kernel against a limit of 450 W; a peak below the limit, or an unknown one, needs no sentence."""
    run = RUN | {"peak_power_w": 750.0, "tdp_w": 450.0}
    (told,) = first_screen.peak_power(run)
    assert told == "the peak power of 750 W is that of one kernel; the limit of 450 W applies to the run's average, 200 W"
    for other in ({"peak_power_w": 449.0}, {"peak_power_w": None}, {"tdp_w": None}):
        assert first_screen.peak_power(run | other) == []


def test_the_shares_of_time_and_energy() -> None:
    """6, 3 and 1 of 10 ms; a quarter, a quarter and a half of 2 J. Power limit and thread teams take nothing."""
    assert first_screen.shares(RUN).fetch() == [
        ("arithmetic", 6e-3, pytest.approx(0.6), 0.5, 0.25), ("memory", 3e-3, pytest.approx(0.3), 0.5, 0.25),
        ("overhead", 1e-3, pytest.approx(0.1), None, None), ("static power", None, None, 1.0, 0.5),
    ]  # fmt: skip


def test_the_slowest_kernels_have_their_share_of_the_run() -> None:
    kernels = Rows(("kernel_id", "kernel", "module", "latency_s", "bottleneck"), [(7, "conv", "a.b", 4e-3, "compute")])
    assert first_screen.slowest(RUN, kernels).fetch() == [(7, "conv", "a.b", 4e-3, pytest.approx(0.4), "compute")]


def test_the_first_screen_is_short(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("CHARZ_DB", str(file))
    assert dispatch.run(["report", "small", "--on", "t4"]) == 0
    done = capsys.readouterr()
    assert len(done.out.splitlines()) <= 60
    assert [line for line in done.out.splitlines() if line in ("Answer", "Shares", "Slowest", "Run")] == ["Answer", "Shares", "Slowest"]
    assert "next: charz explain small --on t4" in done.err
    assert "--section NAME prints more, --full all: run, memory, mapping" in done.err
    assert "left out" not in done.err
    assert dispatch.run(["report", "small", "--on", "t4", "--format", "csv"]) == 0
    assert "clock_fraction" in capsys.readouterr().out
    assert dispatch.run(["report", "small", "--on", "t4", "--top", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) < len(done.out.splitlines())


def test_a_section_of_the_first_screen_is_a_frame(file: Path) -> None:
    with charz.open(file) as db:
        run = db.report("small", on="t4").row(0, named=True)
        shares = db.report("small", on="t4", section="shares")
        assert shares["latency_s"].sum() == pytest.approx(run["latency_s"])
        assert shares["energy_j"].sum() == pytest.approx(run["energy_j"])
        slowest = db.report("small", on="t4", section="slowest").row(0, named=True)
        assert slowest["run_fraction"] == pytest.approx(slowest["latency_s"] / run["latency_s"])


def test_a_model_split_over_devices_has_no_kernels_on_the_first_screen(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARZ_DB", str(file))
    assert dispatch.run(["report", "decoder", "--on", "h100_sxm5_80", "--context", "64", "--devices", "2"]) == 0
    done = capsys.readouterr()
    assert [line for line in done.out.splitlines() if line in ("Answer", "Shares", "Slowest")] == ["Answer", "Shares"]
    assert "device_count" not in done.err and "--section NAME prints more" in done.err
    assert dispatch.run(["report", "decoder", "--on", "h100_sxm5_80", "--context", "64"]) == 0
    assert "Slowest" in capsys.readouterr().out
