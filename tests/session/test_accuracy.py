"""Sentences about the distance of measured servers from predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import charz
from charz.session.ask import accuracy
from charz.session.messages import Messages

TPOT: dict[str, Any] = {"low_factor": 0.9, "high_factor": 1.25, "median_error_fraction": 0.064, "row_count": 760, "part_count": 4}
TTFT = TPOT | {"low_factor": 0.8, "high_factor": 2.0, "median_error_fraction": 0.25, "row_count": 291, "part_count": 3}


def test_a_band_becomes_times_of_an_answer() -> None:
    """0.9 and 1.25 times 20 ms are 18 and 25 ms."""
    assert accuracy.sentence("vllm", {"ttft": TTFT, "tpot": TPOT}, 0.02) == (
        "accuracy under vllm: TPOT of 760 loads on 4 parts 6 % off in the median, four fifths 0.9 to 1.25 times the predicted; median TTFT of "
        "291 loads on 3 parts 25 %, 0.8 to 2; so a TPOT of 20.0 ms means 18.0 ms to 25.0 ms"
    )
    assert accuracy.sentence("vllm", {"tpot": TPOT}, None).endswith("times the predicted")
    late = "; of p99 no errors are known: this band does not apply to it, and a limit on it leaves no margin"
    for bands, tpot_s in (({"tpot": TPOT}, 0.02), ({"tpot": TPOT}, None), ({"latency": TPOT | {"part_count": 1}}, None)):
        assert accuracy.sentence("vllm", bands, tpot_s, has_late=True) == accuracy.sentence("vllm", bands, tpot_s) + late


def test_parts_without_measured_loads_are_named() -> None:
    bands = {"tpot": TPOT | {"parts": "h100,h200"}, "ttft": TTFT | {"parts": "h100"}}
    assert accuracy.unmeasured(bands, ["h200", "a40", "l4", "a40"]) == "; measured on h100, h200, not on a40, l4"
    assert accuracy.unmeasured(bands, ["h100"]) == accuracy.unmeasured({"latency": TPOT}, ["a40"]) == ""


def test_a_server_without_measured_loads_has_the_band_of_batches() -> None:
    told = accuracy.sentence("llama_cpp", {"latency": TPOT}, 0.02)
    assert told == "accuracy: four fifths of 760 measured batches on 4 parts under llama_cpp took 0.9 to 1.25 times the predicted time"


@pytest.mark.costly("asks three commands for pages")
def test_answers_of_servers_tell_their_accuracy(file: Path, tmp_path: Path) -> None:
    """The numbers are those of the rows of the file, and an impossible one tells nothing."""
    said: list[str] = []
    out = tmp_path / "page.html"
    with charz.open(file) as db:
        db.messages = Messages(remark=said.append)
        query = "SELECT low_factor FROM prediction_band WHERE scope = '*' AND backend = 'vllm' AND quantity = 'tpot'"
        (low,) = db.sql(query)["low_factor"]
        for ask, options in ((db.llm, {"prompt": 64, "output": 32}), (db.llm, {"tpot": "1s", "devices": 1}), (db.serve, {"rate": "1"})):
            said.clear()
            found = ask("decoder", on="l4", precision="fp16", html=out, force=True, **options)
            (line,) = [line for line in said if line.startswith("accuracy under vllm")]
            assert f"four fifths {low:.3g} to " in line and " so a TPOT of " in line and " parts " in line
            assert ("of p99 no errors are known" in line) == any(name.endswith("_p99_s") for name in found.columns)
            assert line.split(";")[0] in out.read_text().replace("&#x27;", "'")
        assert set(found["backend"]) == {"vllm"}
        assert accuracy.lines(db.connection(), [{"backend": "eager", "hardware": "l4"}]) == []


def test_a_band_of_measured_loads() -> None:
    """Eleven loads took 1, 1.1, …, 2 times the predicted time: percentiles are 1.1 and 1.9, and the median error is that of 1.5, a third."""
    served = pytest.importorskip("benchmarks.makers.served")
    rows = pl.DataFrame(
        [
            {"hardware": "p", "backend": "trt", "quantity": quantity, "predicted": 1.0, "measured": 1.0 + i / 10}
            for quantity in ("TPOT", "power of a device")
            for i in range(11)
        ]
    )
    (band,) = served.bands(rows)
    assert (band.backend, band.quantity, band.row_count, band.part_count) == ("tensorrt_llm", "tpot", 11, 1)
    assert (band.low_factor, band.high_factor, band.median_error_fraction) == (1.1, 1.9, 0.333)
