"""The predicted execution as a Chrome trace."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import charz

PARTS = {"t4": "async_queue", "i7_13700k": "serial", "kpu_t64": "graph"}
"""Parts by the dispatch of their default backend."""


@pytest.mark.parametrize("part", PARTS)
def test_spans_follow_one_another_and_add_up_to_the_run(part: str, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    with charz.open(file) as db:
        db.report("small", on=part, batch=4, trace=out)
        (run,) = db.report("small", on=part, batch=4).to_dicts()
        kernels = db.report("small", on=part, batch=4, section="kernels", top=1000)
    events = json.loads(out.read_text())["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            spans[tracks[event["tid"]]].append((event["ts"], event["dur"]))
    for track, found in spans.items():
        found.sort()
        for (start, length), (following, _) in itertools.pairwise(found):
            assert start + length <= following + 1e-6, track
    latency_us = run["latency_s"] * 1e6
    assert spans["run"] == [(0.0, pytest.approx(latency_us, abs=2e-3))]
    assert sum(length for _, length in spans["kernels, waiting included"]) == pytest.approx(latency_us, abs=2e-3)
    assert len(spans["kernels, waiting included"]) == len(spans["host"]) == kernels.height + 1  # the call of the run
    assert len(spans["device"]) == kernels.height
    if PARTS[part] == "serial":
        assert _overlap(spans["host"], spans["device"]) == pytest.approx(0.0, abs=2e-3 * kernels.height)


def _overlap(left: list[Any], right: list[Any]) -> float:
    return sum(max(0.0, min(a + b, c + d) - max(a, c)) for a, b in left for c, d in right)


def test_counters_hold_memory_and_power(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    with charz.open(file) as db:
        db.report("small", on="t4", trace=out)
        peak = db.report("small", on="t4", section="memory").item(0, "peak_memory_byte")
        energy = db.report("small", on="t4", section="energy", top=1000)
    counters = [e for e in json.loads(out.read_text())["traceEvents"] if e["ph"] == "C"]
    memory = [value for e in counters for name, value in e["args"].items() if name == "memory [MiB]"]
    assert max(memory) <= peak / 2**20 * (1 + 1e-12)
    assert len(memory) == energy.height
    power = sorted(value for e in counters for name, value in e["args"].items() if name == "power [W]")
    assert power == pytest.approx(sorted(energy["power_w"]), rel=1e-9)


def test_a_kernel_that_the_backend_inserts_holds_the_memory_of_the_one_it_is_made_for(file: Path, tmp_path: Path) -> None:
    """Conversions of mixed precision have numbers after those of the graph's own kernels."""
    out = tmp_path / "trace.json"
    asked = {"on": "t4", "backend": "eager", "precision": "amp-fp16", "batch": 4}
    with charz.open(file) as db:
        db.report("small", **asked, trace=out)
        kernels = db.report("small", **asked, section="kernels", top=1000)
        steps = db.report("small", **asked, section="timeline", top=1000)
        peak = db.report("small", **asked, section="memory").item(0, "activation_byte")
        graph = db.graph("small", **asked)
    assert "cast" in set(kernels["kernel"])
    counted = [e for e in json.loads(out.read_text())["traceEvents"] if e["ph"] == "C" and e["name"] == "memory [MiB]"]
    assert len(counted) == kernels.height == steps.height == len(graph)
    assert sum(node["latency_s"] for _, node in graph.nodes(data=True)) == pytest.approx(kernels["latency_s"].sum())
    assert sorted(e["args"]["memory [MiB]"] for e in counted) == pytest.approx(sorted(steps["total_byte"] / 2**20))
    assert steps["live_byte"].max() == peak
    casts = [number for number, node in graph.nodes(data=True) if node["kernel"] == "cast"]
    for number in casts:
        (made_for,) = graph.successors(number)
        assert graph.nodes[made_for]["operator"] == graph.nodes[number]["operator"]
