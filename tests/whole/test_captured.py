"""Kernels captured into a graph are those of the captured backend, without waits for the host."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import charz

WHERE = "model = 'small' AND hardware = 't4' AND batch = 1"
ASKED = {"on": "t4", "batch": 1, "precision": "torch-fp32"}


@pytest.mark.parametrize("captured", ["eager", "inductor"])
def test_a_graph_runs_the_kernels_that_it_captures(file: Path, captured: str) -> None:
    query = """
        SELECT kernel_id, kernel, kernel_class, operator_count FROM kernel WHERE model = 'small' AND backend = ?
        ORDER BY kernel_id"""
    with duckdb.connect(str(file), read_only=True) as connection:
        of_graph, of_stream = (
            connection.execute(query, [name]).fetchall() for name in (f"{captured}_graph", captured)
        )
    assert of_graph == of_stream and len(of_graph) > 3


@pytest.mark.parametrize(("captured", "call_s"), [("eager", 3e-5), ("inductor", 4e-4)])
def test_a_graph_takes_its_kernels_and_one_call(file: Path, captured: str, call_s: float) -> None:
    """No kernel waits for the host: at batch 1 the run takes the time of the device, with gaps, and one call."""
    with charz.open(file) as db:
        kernels = db.report("small", **ASKED, backend=f"{captured}_graph", section="kernels", top=1000)
        (graph,) = db.report("small", **ASKED, backend=f"{captured}_graph").to_dicts()
        (stream,) = db.report("small", **ASKED, backend=captured).to_dicts()
    assert graph["latency_s"] == pytest.approx(kernels["latency_s"].sum() + call_s, rel=1e-9)
    assert stream["latency_s"] > graph["latency_s"]
