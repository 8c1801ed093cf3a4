"""Verdicts on limits."""

from __future__ import annotations

from pathlib import Path

import pytest

import charz
from charz.cli import dispatch
from charz.schema.errors import CharzError

OPTIONS = {
    "latency": "latency_s",
    "memory": "peak_memory_byte",
    "energy": "energy_per_sample_j",
    "power": "average_power_w",
}


@pytest.fixture(scope="module")
def run(file: Path) -> dict[str, float]:
    with charz.open(file) as db:
        (row,) = db.report("small", on="t4", batch=8).to_dicts()
        (memory,) = db.report("small", on="t4", batch=8, section="memory").to_dicts()
    return {**row, **memory}


@pytest.mark.parametrize("option", OPTIONS)
def test_a_limit_passes_above_and_fails_below_what_the_run_takes(
    option: str, file: Path, run: dict[str, float]
) -> None:
    value = run[OPTIONS[option]]
    with charz.open(file) as db:
        above, below = (
            db.assert_("small", on="t4", batch=8, **{option: value * factor}).to_dicts() for factor in (1.01, 0.99)
        )
    assert [(row["limit"], row["verdict"]) for row in above] == [(option, "PASS")]
    assert [(row["limit"], row["verdict"]) for row in below] == [(option, "FAIL")]
    assert above[0]["value"] == pytest.approx(value, rel=1e-12)
    assert above[0]["most_value"] == pytest.approx(value * 1.01, rel=1e-12)


def test_the_command_ends_with_one_where_a_limit_fails(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["assert", "small", "--on", "t4", "--db", str(file), "--latency"]
    assert dispatch.run([*line, "10s"]) == 0
    assert "PASS" in capsys.readouterr().out
    assert dispatch.run([*line, "1ns"]) == 1
    assert "FAIL" in capsys.readouterr().out


def test_it_holds_the_backend_that_answers_assume(file: Path) -> None:
    with charz.open(file) as db:
        (row,) = db.assert_("small", on="t4", latency=1.0).to_dicts()
        (other,) = db.assert_("small", on="t4", latency=1.0, backend="tensorrt").to_dicts()
        (assumed,) = db.report("small", on="t4").to_dicts()
    assert row["backend"] == assumed["backend"] != "tensorrt"
    assert other["backend"] == "tensorrt"
    assert other["value"] != row["value"]


def test_what_does_not_fit_fails(file: Path) -> None:
    with charz.open(file) as db:
        found = db.assert_("small", on="t4", batch=10**7, latency=1e9).to_dicts()
    assert [(row["limit"], row["verdict"]) for row in found] == [
        ("fits the part's memory", "FAIL"),
        ("latency", "PASS"),
    ]


def test_no_limit_is_an_error(file: Path) -> None:
    with charz.open(file) as db, pytest.raises(CharzError, match="no limit to check"):
        db.assert_("small", on="t4")
