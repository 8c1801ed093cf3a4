"""Pages of answers: pictures with their numbers, messages and the table, in one file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import charz
from charz.schema.errors import CharzError
from charz.session.page import answered, pictures, series

ROW: dict[str, Any] = {
    "hardware": "p", "backend": "vllm", "device_count": 1, "batch": 1, "tpot_s": 0.01, "ttft_s": 0.1, "tokens_per_s": 100.0,
    "million_mixed_tokens_usd": 3.0, "weight_byte": 16e9, "kv_cache_byte": 4e9, "peak_memory_byte": 30e9,
}  # fmt: skip
LARGE = ROW | {"batch": 8, "tpot_s": 0.02, "tokens_per_s": 400.0, "million_mixed_tokens_usd": 0.75}

def points(chart: dict[str, Any]) -> Any:
    """Return the points of a chart, which its layers share where it has no rules."""
    return (chart if "data" in chart else chart["layer"][0])["data"]["values"]


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
    near = answered._speed([ROW, ROW | {"hardware": "q", "tpot_s": 0.005, "tokens_per_s": 99.5}, LARGE | {"tokens_per_s": 50.0}], NONE)
    assert near is not None and near.finding.startswith("q batch 1 generates most within 1 %: 99.5 tokens a second at 5.00 ms")
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
    assert alone is not None and alone.finding == (
        "p batch 8 is the cheapest: 0.750 USD a million mixed tokens. Mixed tokens are those of a request: its prompt and its output, at this batch, all of "
        "the time busy."
    )
    assert [bar["value"] for bar in alone.charts[0]["data"]["values"]] == [0.75, 3.0]
    two = answered._cost([ROW, LARGE, ROW | {"device_count": 2}], NONE)
    assert two is not None
    assert [(p["series"], p["name"], p["x"], p["y"]) for p in two.charts[0]["data"]["values"]] == [
        ("p", "p x1 batch 8", 1, 0.75), ("p", "p x2 batch 1", 2, 3.0),
    ]  # fmt: skip


def test_costs_of_stated_loads_are_those_of_the_largest() -> None:
    """A small load on the cheaper server is not what the page's first line names; the rates of an answer without stated loads differ anyway."""
    rows = [ROW | {"rate_per_s": 1.0, "million_mixed_tokens_usd": 0.5}, ROW | {"hardware": "q", "rate_per_s": 2.0}]
    stated, free = answered._cost(rows, NONE, is_loaded=True), answered._cost(rows, NONE)
    assert stated is not None and stated.finding.startswith("At 2, the largest load, q 2/s is the cheapest: 3.00 USD")
    assert free is not None and free.finding.startswith("p 1/s is the cheapest: 0.500 USD")
    within = answered._cost(rows, {"tpot_s": 0.015, "ttft_s": None}, is_loaded=True)
    assert within is not None and within.finding.startswith("At 2, the largest load within the objectives, q 2/s is")


def test_of_equal_costs_the_chosen_server_is_the_cheapest() -> None:
    """Two splits of two devices cost the same, but for the last digit of a sum: the page names the one with more room, as the choice does."""
    one = {"hardware": "p", "devices": 2, "requests_per_s": 2.0, "load_fraction": 0.9, "tpot_p99_s": 0.02, "tpot_s": 0.01, "ttft_s": 0.1, "phase": "decode"}
    rows = [one | {"split": "dp2", "million_output_tokens_usd": 3.0 - 1e-13}, one | {"split": "tp2", "load_fraction": 0.4, "million_output_tokens_usd": 3.0}]
    found = answered._cost(rows, NONE)
    assert found is not None and found.finding.startswith("p tp2 is the cheapest: 3.00 USD")


def test_the_best_row_meets_the_objectives() -> None:
    """The larger batch is cheaper and later than 15 ms a token; a saturated row meets nothing; where no row does, the sentence tells it."""
    limits = {"tpot_s": 0.015, "ttft_s": None}
    found = answered._cost([ROW, LARGE], limits)
    assert found is not None and found.finding.startswith("Within the objectives p batch 1 is the cheapest: 3.00 USD a million mixed tokens.")
    assert [bar["value"] for bar in found.charts[0]["data"]["values"]] == [3.0]
    assert answered._within([ROW, ROW | {"is_saturated": True}], "ab", limits) == (["a"], "Within the objectives ")
    assert answered._within([ROW], "a", {"tpot_s": 0.015, "ttft_s": 0.05}) == ("a", "No row meets the objectives. ")
    assert answered._within([ROW | {"ttft_s": None}], "a", {"tpot_s": None, "ttft_s": 0.2})[1] == "No row meets the objectives. "
    assert answered._within([ROW], "a", NONE) == ("a", "")
    # In a queue, 99 % of the requests meet the objectives, not the mean or the median.
    assert answered._meets(ROW | {"tpot_p99_s": 0.015}, limits) and not answered._meets(ROW | {"tpot_p99_s": 0.016}, limits)
    assert answered._meets(ROW | {"tpot_p99_s": 0.016, "met_fraction": 0.99}, limits) and not answered._meets(ROW | {"met_fraction": 0.98}, limits)


@pytest.mark.parametrize(("column", "word"), [("ttft_mean_s", "mean time"), ("ttft_p50_s", "median time"), ("ttft_s", "time")])
def test_the_axes_of_times_name_their_statistic(column: str, word: str) -> None:
    found = answered._speed([row | {column: 0.1} for row in (ROW, LARGE)], NONE)
    assert found is not None
    titles = json.dumps(found.charts)
    assert f'"{word} of a later token [s]"' in titles and f'"{word} to the first token [s]"' in titles


def test_devices_have_lines_of_their_own() -> None:
    found = answered._speed([ROW, LARGE, ROW | {"device_count": 2}], {"tpot_s": None, "ttft_s": None})
    assert found is not None and [p["series"] for p in found.charts[0]["data"]["values"]] == ["p x1", "p x1", "p x2"]


@pytest.mark.parametrize(("more", "is_told"), [({"slots": 8}, True), ({"most_batch": 8}, True), ({}, False)])
def test_a_picture_of_memory_tells_the_requests(more: dict[str, Any], is_told: bool) -> None:
    found = answered._memory([ROW | more], {("p", "vllm"): (80e9, 0.1)})
    assert found is not None and ("as many requests as the server lets run at once" in found.finding) == is_told


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
    assert series.labels(rows) == ["p", "p tp8"]


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


def servers(count: int) -> list[dict[str, Any]]:
    """Return two servers of each part: the one with more devices is faster and dearer, and later parts are slower."""
    return [
        ROW | {"hardware": f"p{i}", "precision": precision, "tokens_per_s": 1000.0 - 10 * i + fast, "tpot_s": 0.01 * (1 + i), "million_mixed_tokens_usd": usd}
        for i in range(count)
        for precision, fast, usd in (("bf16", 0, 2.0 + i), ("fp8", 50, 1.0 + i))
    ]  # fmt: skip


def test_a_picture_draws_the_best_series_of_each_part() -> None:
    """Twelve parts have 24 servers. The picture has the faster one of each of the ten fastest parts, and its sentence tells the rule."""
    found = answered._speed(servers(12), NONE)
    assert found is not None
    assert found.finding.endswith(" Drawn: 10 of 24 servers, the fastest of each part first; the other 14 are only in the table.")
    shown = points(found.charts[0])
    assert [point["series"] for point in shown] == [f"p{i} fp8" for i in range(10)]
    assert len({point["color"] for point in shown}) == 10


def test_a_picture_of_few_parts_draws_the_next_best_series() -> None:
    """Four parts have eight servers, of which all are drawn; of six parts' twelve, the six fastest of a part come first, then four others."""
    four = answered._speed(servers(4), NONE)
    assert four is not None and "Drawn" not in four.finding and len(points(four.charts[0])) == 8
    chosen, told = series.drawn(servers(6), ("tokens_per_s",), lambda row: -row["tokens_per_s"], "fastest")
    assert chosen == {f"p{i} fp8" for i in range(6)} | {f"p{i} bf16" for i in range(4)}
    assert told == " Drawn: 10 of 12 servers, the fastest of each part first; the other 2 are only in the table."


def test_a_part_has_one_color_and_a_precision_one_marker() -> None:
    """The same ones in each picture of the page; with one part, a precision has a color."""
    found = answered._speed(servers(4), NONE)
    assert found is not None
    looks = [{(point["part"], point["kind"]): (point["color"], point["shape"]) for point in points(chart)} for chart in found.charts]
    assert looks[0] == looks[1] and len(looks[0]) == 8
    assert all(color == looks[0][part, "bf16"][0] for (part, _), (color, _) in looks[0].items())
    assert {(kind, shape) for (_, kind), (_, shape) in looks[0].items()} == {("bf16", "circle"), ("fp8", "triangle-up")}
    encoded = found.charts[0]["layer"][1]["encoding"]
    assert encoded["color"]["scale"]["domain"] == ["p0", "p1", "p2", "p3"] and encoded["shape"]["scale"]["domain"] == ["bf16", "fp8"]
    alone = series.placed(servers(1), "tpot_s", "tokens_per_s")
    assert [(point["part"], point["color"], point["shape"]) for point in alone] == [
        ("bf16", series.COLORS[0], "circle"), ("fp8", series.COLORS[1], "circle"),
    ]  # fmt: skip


def test_more_parts_than_colors_take_the_colors_of_a_picture() -> None:
    assert series._looks(["a", "b", "c"], ["c"], ("red", "blue")) == {"c": "red"}
    assert series._looks(["a", "b"], ["b"], ("red", "blue")) == {"a": "red", "b": "blue"}


def test_a_legend_has_two_columns_of_short_names() -> None:
    point = {"series": "a", "name": "a", "x": 1.0, "y": 2.0}
    assert pictures.against([point], "x", "y")["usermeta"] == {"columns": 2}
    assert pictures.against([point | {"series": "a" * 22}], "x", "y")["usermeta"] == {"columns": 2}
    assert pictures.against([point | {"series": "a" * 23}], "x", "y")["usermeta"] == {"columns": 1}


def test_ticks_of_devices_are_their_numbers() -> None:
    two = answered._cost([ROW, ROW | {"device_count": 4}], NONE)
    assert two is not None and two.charts[0]["layer"][0]["encoding"]["x"]["axis"]["values"] == [1, 4]


def test_versions_name_a_row_only_where_a_part_has_several() -> None:
    rows = [{"hardware": part, "backend": backend} for part, backend in (("p", "vllm"), ("q", "llama_cpp"))]
    assert series.labels(rows) == ["p", "q"]
    assert series.labels([*rows, {"hardware": "q", "backend": "vllm"}]) == ["p vllm", "q llama_cpp", "q vllm"]


def test_a_picture_of_loads_has_five_servers() -> None:
    """The cheapest of six is the last one, which saturates first; each has two lines, and the red lines are those of the drawn ones."""
    rows = [
        ROW | {"hardware": f"p{i}", "rate_per_s": 1.0, "ttft_p50_s": 1.0, "ttft_p99_s": 2.0, "saturation_per_s": 11.0 - i, "million_output_tokens_usd": 9.0 - i}
        for i in range(6)
    ]  # fmt: skip
    found = answered._load(rows, NONE)
    assert found is not None and found.finding.endswith("Drawn: 5 of 6 servers, the cheapest of each part first; the other one is only in the table.")
    assert {point["part"] for point in points(found.charts[0])} == {f"p{i}" for i in range(1, 6)}
    assert [rule["x"] for rule in values(found.charts[0], 2)] == [10.0, 9.0, 8.0, 7.0, 6.0]
    dashes = found.charts[0]["layer"][0]["encoding"]["strokeDash"]["scale"]
    assert dashes == {"domain": ["p50", "p99"], "range": [[1, 0], [6, 4]]}


def test_costs_of_steps_alone_are_compared() -> None:
    rows = [{"hardware": "p", "phase": phase, "million_tokens_usd": usd, "device_count": 1} for phase, usd in (("prefill", 0.1), ("decode", 3.0))]
    found = answered._cost(rows, NONE)
    assert found is not None and found.finding.startswith("p is the cheapest: 3.00 USD a million decode tokens.")


@pytest.mark.filterwarnings("ignore")
def test_a_page_of_serve_shows_both_precisions_apart(file: Path, tmp_path: Path) -> None:
    """An L4 computes in fp8 too: both precisions have their lines, their bars and their rows."""
    out = tmp_path / "page.html"
    with charz.open(file) as db:
        found = db.serve("decoder", on="l4", input=64, output=16, rate="1,2", html=out)
    assert set(found["precision"]) == {"fp16", "fp8"}
    charts = json.loads(re.findall(r'id="charts">(.*?)</script>', out.read_text(), re.S)[0])
    drawn = [{point["part"] for point in points(chart)} for chart in charts if "x" in points(chart)[0]]
    assert len(drawn) >= 3 and all(parts == {"fp16", "fp8"} for parts in drawn)
    *_, memory = charts
    assert {bar["name"] for bar in points(memory)} == {"l4 fp16", "l4 fp8"}


def test_rules_alone_have_no_line() -> None:
    assert marks(pictures.against([{"series": "a", "name": "a", "x": 1.0, "y": 2.0}], "x", "y")) == ["line", "point"]
