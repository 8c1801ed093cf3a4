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


def marks(chart: dict[str, Any]) -> list[str]:
    return [layer["mark"]["type"] for layer in chart["layer"]]


def values(chart: dict[str, Any], layer: int) -> Any:
    return chart["layer"][layer]["data"]["values"]


def test_layers_of_memory() -> None:
    """Weights take 16 of 30 GB, the cache 4, and the reserve 8, a tenth of 80. Activations take the other 2."""
    assert answered.layers(ROW, (80e9, 0.1)) == pytest.approx({"weights": 16e9, "KV cache": 4e9, "activations": 2e9, "reserve": 8e9})
    trained = {"weight_byte": 1.0, "gradient_byte": 2.0, "optimizer_byte": 4.0, "activation_byte": 8.0, "scratch_byte": 16.0, "peak_memory_byte": 31.0}
    assert answered.layers(trained, (80e9, 0.1)) == {"weights": 1, "gradients": 2, "optimizer": 4, "activations": 8, "scratch": 16}
    assert answered.layers({"peak_memory_byte": 5.0}, (None, None)) == {"in use": 5.0}


def test_a_picture_of_speed_with_objectives() -> None:
    found = answered._speed([ROW, LARGE], {"tpot_s": 0.015, "ttft_s": None})
    assert found is not None
    assert found.finding == "p batch 8 generates most: 400 tokens a second at 20.0 ms a token. Dashed: the objectives TPOT 15.0 ms."
    tpot, ttft = found.charts
    assert [(point["x"], point["y"], point["series"]) for point in tpot["data"]["values"]] == [(0.01, 100.0, "p"), (0.02, 400.0, "p")]
    assert marks(tpot) == ["line", "point", "rule"] and values(tpot, 2) == [{"x": 0.015}]
    assert marks(ttft) == ["line", "point"]
    assert answered._speed([{"hardware": "p"}], {"tpot_s": None, "ttft_s": None}) is None


def test_a_picture_of_loads() -> None:
    """Median and 99th percentile at two rates, the objective, and the rate at which the server saturates."""
    rows = [ROW | {"rate_per_s": r, "concurrency": None, "ttft_p50_s": r, "ttft_p99_s": 2 * r, "saturation_per_s": 5.0} for r in (1.0, 2.0)]
    found = answered._load(rows, {"tpot_s": None, "ttft_s": 3.0})
    assert found is not None and found.finding == "p saturates at 5.00 requests a second."
    (chart,) = found.charts
    drawn = [(point["series"], point["x"], point["y"]) for point in chart["data"]["values"]]
    assert drawn == [("p p50", 1.0, 1.0), ("p p50", 2.0, 2.0), ("p p99", 1.0, 2.0), ("p p99", 2.0, 4.0)]
    assert values(chart, 2) == [{"y": 3.0}] and values(chart, 3) == [{"x": 5.0}]


def test_pictures_of_cost() -> None:
    """Bars for one number of devices, the cheapest first; for several, a line through the cheapest row of each number."""
    alone = answered._cost([ROW, LARGE])
    assert alone is not None and alone.finding == "p batch 8 is the cheapest: 0.750 USD a million tokens."
    assert [bar["value"] for bar in alone.charts[0]["data"]["values"]] == [0.75, 3.0]
    two = answered._cost([ROW, LARGE, ROW | {"device_count": 2}])
    assert two is not None
    assert [(p["series"], p["name"], p["x"], p["y"]) for p in two.charts[0]["data"]["values"]] == [
        ("p", "p x1 batch 8", 1, 0.75), ("p", "p x2 batch 1", 2, 3.0),
    ]  # fmt: skip


def test_devices_have_lines_of_their_own() -> None:
    found = answered._speed([ROW, LARGE, ROW | {"device_count": 2}], {"tpot_s": None, "ttft_s": None})
    assert found is not None and [p["series"] for p in found.charts[0]["data"]["values"]] == ["p x1", "p x1", "p x2"]


def test_a_picture_of_memory_marks_the_limit() -> None:
    found = answered._memory([ROW], {("p", "vllm"): (80e9, 0.1)})
    assert found is not None and found.finding == "p takes the largest share: 27.9 GiB of 74.5 GiB (red)."
    assert values(found.charts[0], 1) == [{"name": "p", "value": 80e9}]
    assert sum(bar["value"] for bar in values(found.charts[0], 0)) == pytest.approx(30e9)


def test_the_command_of_a_page() -> None:
    asked = {"models": "a,b", "on": ["t4", "l4"], "batch": 8, "is_open": True, "kv_precision": "fp8"}
    assert answered._command("llm", asked) == "charz llm a b --on t4,l4 --batch 8 --is-open --kv-precision fp8"
    assert answered._command("serve", {"model": "a", "lengths": "my requests.csv"}) == "charz serve a --lengths 'my requests.csv'"


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
