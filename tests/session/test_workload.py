"""Several runs on one part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import charz
from charz.cli import dispatch
from charz.schema.errors import CharzError
from charz.session.ask import plans, serve, trace
from charz.session.ask.load import Curve, Server

TEXT = """\
workload: camera
rate_per_s: 30
runs:
  - {model: small, count: 3, batch: 2}
  - {model: other, precision: int8, backend: tensorrt}
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    path = tmp_path / "camera.yaml"
    path.write_text(TEXT)
    return path


@pytest.mark.default
def test_runs_add_up(file: Path, work: Path) -> None:
    """Times and energies are weighted by their counts; memory is the weights of both and the activations of the larger run; rest
    fills the period."""
    with charz.open(file) as db:
        (total,) = db.workload(work, on="t4").to_dicts()
        runs = db.workload(work, on="t4", section="runs").to_dicts()
        asked = [("small", {"batch": 2}), ("other", {"precision": "int8", "backend": "tensorrt"})]
        reports = [db.report(model, on="t4", **given).row(0, named=True) for model, given in asked]
        memories = [db.report(model, on="t4", section="memory", **given).row(0, named=True) for model, given in asked]
        ((static_w,),) = db.sql("SELECT static_w FROM part WHERE hardware = 't4'").rows()
    time_s = 3 * reports[0]["latency_s"] + reports[1]["latency_s"]
    energy_j = 3 * reports[0]["energy_j"] + reports[1]["energy_j"]
    kept = [row["weight_byte"] + row["buffer_byte"] for row in memories]
    most = max(row["peak_memory_byte"] - own for row, own in zip(memories, kept, strict=True))
    assert [(run["model"], run["count"], run["batch"]) for run in runs] == [("small", 3.0, 2), ("other", 1.0, 1)]
    assert sum(run["time_fraction"] for run in runs) == pytest.approx(1.0)
    assert total["workload"] == "camera" and total["run_count"] == 4.0 and total["fits_device"]
    assert total["time_s"] == pytest.approx(time_s, rel=1e-9)
    assert total["energy_j"] == pytest.approx(energy_j, rel=1e-9)
    assert total["peak_memory_byte"] == pytest.approx(sum(kept) + most)
    assert total["duty_fraction"] == pytest.approx(30 * time_s)
    assert total["most_per_s"] == pytest.approx(1 / time_s)
    assert total["average_power_w"] == pytest.approx(30 * energy_j + static_w * (1 - 30 * time_s))


def test_a_part_that_cannot_keep_up_fails(file: Path, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["workload", str(work), "--on", "t4", "--db", str(file)]
    assert dispatch.run(line) == 0
    work.write_text(TEXT.replace("rate_per_s: 30", "rate_per_s: 1000000"))
    assert dispatch.run(line) == 1
    assert "duty" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("runs:", "run:", "not a workload.*no list `runs`"),
        ("count: 3", "count: 0", "not a number above 0: .*run 1: count 0"),
        ("count: 3", "times: 3", "unknown key of a run: times"),
        ("batch: 2", "batch: two", "not a condition: .*run 1: batch two"),
        ("workload:", "title:", "unknown key of a workload: title"),
        ("model: other, ", "", "a run without a model: .*run 2"),
        ("rate_per_s: 30", "rate_per_s: .inf", "not a number above 0"),
    ],
)
def test_what_is_no_workload_is_told_with_its_place(file: Path, work: Path, old: str, new: str, said: str) -> None:
    work.write_text(TEXT.replace(old, new, 1))
    with charz.open(file) as db, pytest.raises(CharzError, match=said):
        db.workload(work, on="t4")


REQUESTS = "arrival,prompt,output\n7,100,1\n5,100,11\n"


def test_a_trace_is_replayed() -> None:
    """A request of one token and one of 11 arrive 2 s apart: 50 ms of prompt each, and ten steps of 11 ms. Half a request a second arrives."""
    given = trace.Trace([100, 100], [11, 1], [0.0, 2.0])
    plan = plans.plan_of("m", given, 50, 0.0, plans.Speculation(), (1, 1), (0.06, 0.01))
    server = Server(Curve([1.0, 101.0], [0.011, 0.111]), 5.0, prompt_s=0.05, first_s=0.05, most=50.0)
    asked = serve.of_trace(server, plan, given)
    unknown = ("prompt_j", "step_j", "static_w", "weight_byte", "cache_byte", "peak_byte")
    costs: dict[str, Any] = {**dict.fromkeys(unknown), "usd_per_hour": 3600.0, "is_simulated": False}
    found = dict(zip(serve.COLUMNS[serve.COLUMNS.index("rate_per_s") :], serve.row_of(server, plan, asked, costs), strict=True))
    assert (found["rate_per_s"], found["concurrency"], found["is_saturated"]) == (0.5, None, False)
    assert [found[f"request_{name}_s"] for name in ("mean", "p50", "p99")] == pytest.approx([0.105, 0.05, 0.16])
    assert found["requests_per_s"] == pytest.approx(2 / 2.05)
    assert found["busy_fraction"] == pytest.approx(0.21 / 2.05)
    # The first takes 11 ms a token, the other has one token.
    assert (found["met_fraction"], found["goodput_per_s"]) == (0.5, pytest.approx(1 / 2.05))
    crowd = trace.Trace([100, 100, 100], [1, 1, 1], [0.0, 0.01, 0.02])
    load = serve.of_trace(server, plans.plan_of("m", crowd, 50, 0.0, plans.Speculation(), (1, 1), (None, None)), crowd).load
    # No request has a later token, so the time per token is that of a step.
    assert (load.is_saturated, load.step_s) == (True, pytest.approx(0.011))


def test_a_trace_needs_a_model(file: Path, work: Path, tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text(REQUESTS)
    with charz.open(file) as db:
        with pytest.raises(CharzError, match="A file of requests names none. Add --model"):
            db.workload(path, on="t4")
        with pytest.raises(CharzError, match="options of a file of requests"):
            db.workload(work, on="t4", model="small")
        with pytest.raises(CharzError, match="nothing to serve"):
            db.workload(path, on="t4", model="small")
        assert not len(db.workload(path, on="t4", model="small", section="runs"))
