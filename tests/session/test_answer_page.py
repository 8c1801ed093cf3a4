"""Pages of answers: pictures with their numbers, messages and the table, in one file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import charz
from charz.schema.errors import CharzError
from charz.session.page import answered, pictures

ROW: dict[str, Any] = {
    "hardware": "p", "backend": "vllm", "device_count": 1, "batch": 1, "tpot_s": 0.01, "ttft_s": 0.1, "tokens_per_s": 100.0,
    "million_mixed_tokens_usd": 3.0, "weight_byte": 16e9, "kv_cache_byte": 4e9, "peak_memory_byte": 30e9,
}  # fmt: skip
LARGE = ROW | {"batch": 8, "tpot_s": 0.02, "tokens_per_s": 400.0, "million_mixed_tokens_usd": 0.75}

NONE = {"tpot_s": None, "ttft_s": None}


def marks(chart: dict[str, Any]) -> list[str]:
    return [layer["mark"]["type"] for layer in chart["layer"]]


def values(chart: dict[str, Any], layer: int) -> Any:
    return chart["layer"][layer]["data"]["values"]


def test_layers_of_memory() -> None:
    """Weights take 16 of 30 GB, the cache 4, and the reserve 8, a tenth of 80. Activations take the other 2."""
    assert answered.layers(ROW, (80e9, 0.1)) == pytest.approx({"weights": 16e9, "KV cache": 4e9, "activations": 2e9, "reserve": 8e9})
    trained = {"weight_byte": 1.0, "gradient_byte": 2.0, "optimizer_byte": 4.0, "activation_byte": 8.0, "scratch_byte": 16.0, "peak_memory_byte": 31.0}
    assert answered.layers(trained, (80e9, 0.1)) == {"weights": 1, "gradients": 2, "optimizer": 4, "activations": 8, "scratch": 16}
    assert answered.layers(trained | {"context_byte": 3.0}, (80e9, 0.1))== answered.layers(trained, (80e9, 0.1)) | {"context": 3}
    assert answered.layers({"peak_memory_byte": 5.0}, (None, None)) == {"in use": 5.0}


def test_a_picture_of_speed_with_objectives() -> None:
    found = answered._speed([ROW, LARGE], {"tpot_s": 0.015, "ttft_s": None})
    assert found is not None
    assert found.finding == "Within the objectives p batch 1 generates most: 100 tokens a second at 10.0 ms a token. Dashed: the objectives TPOT 15.0 ms."
    tpot, ttft = found.charts
    assert [(point["x"], point["y"], point["series"]) for point in tpot["data"]["values"]] == [(0.01, 100.0, "p"), (0.02, 400.0, "p")]
    assert marks(tpot) == ["line", "point", "rule"] and values(tpot, 2) == [{"x": 0.015}]
    assert marks(ttft) == ["line", "point"]
    assert answered._speed([{"hardware": "p"}], {"tpot_s": None, "ttft_s": None}) is None
    prompts = answered._speed([ROW | {"batch_ttft_s": 0.1}, LARGE | {"batch_ttft_s": 0.8}], {"tpot_s": None, "ttft_s": None})
    assert prompts is not None and [point["x"] for point in prompts.charts[1]["data"]["values"]] == [0.1, 0.8]


def test_equal_throughputs_have_no_best() -> None:
    """Three rows that generate 100 tokens a second are told apart by their times, with both objectives."""
    rows = [ROW, ROW | {"hardware": "q", "tpot_s": 0.005, "ttft_s": 0.3}, ROW | {"hardware": "r", "tokens_per_s": 99.5}]
    found = answered._speed(rows, {"tpot_s": 0.02, "ttft_s": 1.0})
    assert found is not None and found.title == "Times"
    assert found.finding.startswith("All rows generate 100 tokens a second. q takes the least time of a later token: 5.00 ms.")
    (chart,) = found.charts
    assert [(point["x"], point["y"]) for point in chart["data"]["values"]] == [(0.01, 0.1), (0.005, 0.3), (0.01, 0.1)]
    assert marks(chart) == ["line", "point", "rule", "rule"]
    two = answered._speed([ROW, ROW | {"hardware": "q", "tpot_s": 0.005}, LARGE | {"tokens_per_s": 50.0}], {"tpot_s": None, "ttft_s": None})
    assert two is not None and two.finding.startswith("q batch 1 generates most: 100 tokens a second at 5.00 ms")


def test_a_picture_of_training() -> None:
    """The fastest of thirty splits is named with its whole training, and the sentence tells that the picture has 24."""
    rows = [{"hardware": "p", "split": f"dp{i}", "step_s": 2.0, "tokens_per_s": float(i), "whole_s": 7200.0, "whole_usd": 3.0} for i in range(1, 31)]
    found = answered._training(rows)
    assert found is not None
    assert found.finding == (
        "p dp30 is the fastest: 30.0 tokens a second, 2.00 s a step. The whole training takes 2.00 h and 3.00 USD."
        " The picture has 24 of 30 rows, the table all."
    )
    assert [bar["value"] for bar in found.charts[0]["data"]["values"]] == [float(i) for i in range(30, 6, -1)]
    assert answered._training([ROW]) is None and answered._training([]) is None


def test_a_picture_of_loads() -> None:
    """Median and 99th percentile at two rates, the objective, and the rate at which the server saturates."""
    rows = [ROW | {"rate_per_s": r, "concurrency": None, "ttft_p50_s": r, "ttft_p99_s": 2 * r, "saturation_per_s": 5.0} for r in (1.0, 2.0)]
    found = answered._load(rows, {"tpot_s": None, "ttft_s": 3.0})
    assert found is not None and found.finding == "p saturates at 5.00 requests a second (red lines)."
    (chart,) = found.charts
    drawn = [(point["series"], point["x"], point["y"]) for point in chart["data"]["values"]]
    assert drawn == [("p p50", 1.0, 1.0), ("p p50", 2.0, 2.0), ("p p99", 1.0, 2.0), ("p p99", 2.0, 4.0)]
    assert values(chart, 2) == [{"y": 3.0}] and values(chart, 3) == [{"x": 5.0}]


def test_pictures_of_cost() -> None:
    """Bars for one number of devices, the cheapest first; for several, a line through the cheapest row of each number."""
    alone = answered._cost([ROW, LARGE], NONE)
    assert alone is not None and alone.finding == "p batch 8 is the cheapest: 0.750 USD a million tokens."
    assert [bar["value"] for bar in alone.charts[0]["data"]["values"]] == [0.75, 3.0]
    two = answered._cost([ROW, LARGE, ROW | {"device_count": 2}], NONE)
    assert two is not None
    assert [(p["series"], p["name"], p["x"], p["y"]) for p in two.charts[0]["data"]["values"]] == [
        ("p", "p x1 batch 8", 1, 0.75), ("p", "p x2 batch 1", 2, 3.0),
    ]  # fmt: skip


def test_the_best_row_meets_the_objectives() -> None:
    """The larger batch is cheaper and later than 15 ms a token; a saturated row meets nothing; where no row does, the sentence tells it."""
    limits = {"tpot_s": 0.015, "ttft_s": None}
    found = answered._cost([ROW, LARGE], limits)
    assert found is not None and found.finding == "Within the objectives p batch 1 is the cheapest: 3.00 USD a million tokens."
    assert [bar["value"] for bar in found.charts[0]["data"]["values"]] == [3.0]
    assert answered._within([ROW, ROW | {"is_saturated": True}], "ab", limits) == (["a"], "Within the objectives ")
    assert answered._within([ROW], "a", {"tpot_s": 0.015, "ttft_s": 0.05}) == ("a", "No row meets the objectives. ")
    assert answered._within([ROW | {"ttft_s": None}], "a", {"tpot_s": None, "ttft_s": 0.2})[1] == "No row meets the objectives. "
    assert answered._within([ROW], "a", NONE) == ("a", "")


def test_devices_have_lines_of_their_own() -> None:
    found = answered._speed([ROW, LARGE, ROW | {"device_count": 2}], {"tpot_s": None, "ttft_s": None})
    assert found is not None and [p["series"] for p in found.charts[0]["data"]["values"]] == ["p x1", "p x1", "p x2"]


def test_a_picture_of_memory_marks_the_limit() -> None:
    found = answered._memory([ROW], {("p", "vllm"): (80e9, 0.1)})
    assert found is not None and found.finding == "Every row fits. p takes the largest share: 27.9 GiB of 74.5 GiB (line: the capacity)."
    assert values(found.charts[0], 1) == [{"name": "p", "value": 80e9, "fits": "yes"}]
    assert sum(bar["value"] for bar in values(found.charts[0], 0)) == pytest.approx(30e9)


def test_what_does_not_fit_is_red() -> None:
    """One of two rows does not fit; loads of one server are drawn once; a small share of the capacity has no line."""
    both = answered._memory([ROW, ROW | {"batch": 8, "fits_device": False}], {("p", "vllm"): (80e9, 0.1)})
    assert both is not None and both.finding.startswith("1 of 2 rows do not fit (red line).")
    assert [layer["mark"].get("color") for layer in both.charts[0]["layer"]] == [None, "#222", "#b00"]
    loads = answered._memory([ROW | {"rate_per_s": rate} for rate in (1.0, 2.0)], {("p", "vllm"): (80e9, 0.1)})
    assert loads is not None and [mark["name"] for mark in values(loads.charts[0], 1)] == ["p"]
    small = answered._memory([ROW], {("p", "vllm"): (800e9, 0.0)})
    assert small is not None and small.finding.endswith("27.9 GiB of 745 GiB.") and "layer" not in small.charts[0]


def test_names_of_splits_tell_their_devices() -> None:
    rows = [{"hardware": "p", "split": split, "device_count": count} for split, count in (("one", 1), ("tp8", 8))]
    assert answered._labels(rows) == ["p", "p tp8"]


def test_the_command_of_a_page() -> None:
    asked = {"models": "a,b", "on": ["t4", "l4"], "batch": 8, "is_open": True, "kv_precision": "fp8"}
    assert answered._command("llm", asked) == "charz llm a b --on t4,l4 --batch 8 --is-open --kv-precision fp8"
    assert answered._command("serve", {"model": "a", "lengths": "my requests.csv"}) == "charz serve a --lengths 'my requests.csv'"
    assert answered._command("train", {"models": "a", "tokens": 1e8}) == "charz train a --tokens 1e+08"


PAGES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "llm": ("decoder", {"batch": "1,8", "context": 64, "launch": "vllm"}, ["speed", "memory", "launch", "remarks", "table"]),
    "serve": ("decoder", {"input": 64, "output": 16, "rate": "1,2"}, ["speed", "load", "memory", "table"]),
    "compare": ("small", {"batch": "1,8"}, ["time", "memory", "table"]),
    "recommend": ("small", {"batch": "1,8"}, ["time", "memory", "table"]),
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_of_commands(name: str, file: Path, tmp_path: Path) -> None:
    model, options, expected = PAGES[name]
    out = tmp_path / "page.html"
    with charz.open(file) as db:
        found = getattr(db, name)(model, on="t4", html=out, **options)
        assert len(found) and {"model", "hardware"} <= set(found.columns)
        with pytest.raises(CharzError, match="nothing"):
            getattr(db, name)("nothing", on="t4", html=out)
    page = out.read_text()
    sections = re.findall(r'<section id="(\w+)">', page)
    assert [section for section in sections if section in expected] == expected
    assert not re.findall(r'(?:src|href)="(?!#)', re.sub(r"<script.*?</script>", "", page, flags=re.S))
    charts = json.loads(re.findall(r'id="charts">(.*?)</script>', page, re.S)[0])
    assert len(charts) == page.count('<div class="chart"') >= 1
    assert f"charz {name} {model} --on t4 " in page


def test_rules_alone_have_no_line() -> None:
    assert marks(pictures.against([{"series": "a", "name": "a", "x": 1.0, "y": 2.0}], "x", "y")) == ["line", "point"]
