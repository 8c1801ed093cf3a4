"""Predictions of measured operators and graph nodes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from benchmarks.makers import operator_times

from charz.ingest.measurements import collection, store
from charz.schema.catalog.source import Source
from charz.schema.scenario import OperatorMeasurement
from charz.session import workspace

PART = "Tesla V100-PCIE-32GB"


def node(
    name: str, op: str, target: str, inputs: str, output: str, milliseconds: float, dtype: str | None = "torch.float32"
):  # type: ignore[no-untyped-def]  # a row
    """Write a row of a node file."""
    return {
        "hardware": PART, "model": "m", "mode": "inf", "node_name": name, "op": op, "target": target, "input_shapes": inputs,
        "output_shape": output, "dtype": dtype, "latency_ms": milliseconds, "fw_ms": milliseconds,
    }  # fmt: skip


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Database with three nodes and single operators of the same laboratory."""
    path = tmp_path_factory.mktemp("nodes") / "t.duckdb"
    nodes = collection.fx_nodes(
        pl.DataFrame(
            [
                node("q", "call_module", "layer.0.query", "[[16, 512, 1024]]", "(16, 512, 1024)", 1.4),
                node("v", "call_method", "view", "[[16, 512, 1024], [1]]", "(16, 512, 16, 64)", 0.01),
                node("d", "call_module", "layer.0.dropout", "[[16, 512, 1024]]", "(16, 512, 1024)", 0.01),
            ]
        )
    )
    singles = pl.DataFrame(
        {
            "source_repo": ["lab"] * 10, "op": ["relu"] * 10, "shape": [f"B={n} H=4096" for n in range(4096, 14336, 1024)],
            "precision": ["fp32"] * 10, "hardware": [PART] * 10,
            # Half of the peak bandwidth of 900 GB/s.
            "latency_ms": [2 * 4 * n * 4096 / 4.5e8 for n in range(4096, 14336, 1024)],
        }
    )  # fmt: skip
    workspace.read(path, create=True).close()
    with workspace.change(path) as connection:
        for frame in (nodes, collection.operators(singles)):
            (name,) = frame["source_id"].unique()
            source = Source(source_id=name, kind="measurement", locator="t", licence=None, what="t")
            store.store(connection, frame, OperatorMeasurement, [source])
    return path


def test_a_view_costs_host_time_and_a_kernel_device_time_too(database: Path) -> None:
    with workspace.read(database) as connection:
        rows = operator_times.predicted(connection, "source_id LIKE '%fx_nodes%'", host_factor_by_machine=False)
    by_name = {row["operator"].split(":")[1]: row for row in rows.iter_rows(named=True)}
    assert by_name["view"]["latency_s"] == by_name["view"]["host_view_s"] == by_name["layer.0.dropout"]["latency_s"]
    linear = by_name["layer.0.query"]
    assert linear["latency_s"] == pytest.approx(linear["host_kernel_s"] + linear["device_s"])
    # 17.2 GFLOP at 14 TFLOP/s at best.
    assert linear["device_s"] > 2 * 16 * 512 * 1024 * 1024 / 14.2e12


def test_efficiencies_are_the_share_of_the_ideal_time(database: Path) -> None:
    with workspace.read(database) as connection:
        efficiency = connection.sql("SELECT * FROM efficiency").pl()
        (row,) = operator_times.efficiencies(connection, "source_id LIKE 'lab%'", efficiency, "t")
    assert (row.scope, row.kernel_class, row.resource) == ("hardware:v100_pcie_32", "activation", "memory")
    assert row.maximum_fraction == pytest.approx(0.5, abs=0.03)
