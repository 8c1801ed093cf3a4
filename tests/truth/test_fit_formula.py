"""The time that a fit computes over arrays equals that of the views, for every class of kernels: `sql/` is the only source of the
formula, and this test compares its copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from benchmarks.makers import bare

from charz.hardware_catalog.calibration import fit, kernels

TARGETS = [
    # Kernels of few tiles may take other tiles at other efficiencies, which a fit does not model: none does here.
    ("rtx4090", "inductor", "fp32", 0.2),
    ("i9_10940x", "eager", "fp32", 0.2),
    ("i9_10940x", "eager", "fp32", 0.98),
    ("tpu_v4", "xla", "bf16", 0.2),
    ("kpu_t64", "kpu", "int8", 0.2),
]


@pytest.fixture(scope="module")
def connection(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(file), read_only=True) as made:
        yield made


def _operators(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Each class has one operator bound by arithmetic, one by memory, and one too small for either."""
    classes = connection.sql("SELECT operator_class, is_matrix FROM operator_class ORDER BY operator_class").fetchall()
    rows = []
    for name, is_matrix in classes:
        for m, n, k in ((4096, 1024, 2048), (65536, 64, 8), (64, 16, 16)):
            macs = float(m * n * k) if is_matrix else 0.0
            rows.append(
                {
                    "operator_id": len(rows), "operator_class": name, "step_class": "gemm" if is_matrix else "vector",
                    "macs": macs, "flops": 2 * macs or 7.0 * m * n, "threads": float(m * n), "m": float(m) if is_matrix else None,
                    "n": float(n) if is_matrix else None, "k": float(k) if is_matrix else None,
                    "groups": 1.0 if is_matrix else None, "read_elements": float(m * k), "weight_elements": float(n * k),
                    "written_elements": float(m * n),
                }
            )  # fmt: skip
    return pl.DataFrame(rows)


@pytest.mark.parametrize(("hardware", "backend", "precision", "least"), TARGETS)
def test_a_fit_computes_the_time_of_the_views(
    connection: duckdb.DuckDBPyConnection, hardware: str, backend: str, precision: str, least: float
) -> None:
    """Every parameter is drawn between `least` and 1."""
    operators = _operators(connection)
    shipped = connection.sql("SELECT * FROM efficiency").pl()
    tables = bare.tables(operators, precision, backend)
    cases = pl.DataFrame({
        "hardware": [hardware], "model": [bare.MODEL], "backend": [backend], "precision": [precision], "memory_format": ["nchw"],
        "batch": [1], "sequence": pl.Series([None], dtype=pl.Int64), "host_factor": [1.0], "cache_state": ["warm"],
    })  # fmt: skip
    seen = kernels.extract(connection, cases, shipped, tables)
    residency = shipped.filter(pl.col("resource") == "residency")
    rows = kernels.neutral(0.0, residency)
    generator = np.random.default_rng(7)
    drawn: dict[fit.Key, float] = {}
    own = []
    for name in operators["operator_class"].unique().sort():
        for resource in fit.RESOURCES:
            fraction = float(generator.uniform(least, 1.0))
            half_work = float({"matrix": 1e5, "vector": 1e3, "memory": 2e3, fit.THREAD: 1.5}.get(resource, 0.0))
            drawn[name, "*", resource, "maximum_fraction"] = fraction
            if half_work:
                drawn[name, "*", resource, "half_work"] = half_work
            row = rows.filter((pl.col("resource") == resource) & (pl.col("kernel_class") == "*")).with_columns(
                kernel_class=pl.lit(name), maximum_fraction=pl.lit(fraction), half_work=pl.lit(half_work)
            )
            own.append(row)
    efficiency = pl.concat([rows, *own])
    efficiency = efficiency.with_columns(efficiency_id=pl.int_range(1, len(efficiency) + 1, dtype=pl.Int64))
    found = bare.operator_times(connection, operators, [hardware], precision, backend, efficiency)
    expected = dict(
        found.join(operators.select("operator_id", "operator_class"), on="operator_id")
        .group_by("operator_class")
        .agg(pl.col("device_s").sum())
        .iter_rows()
    )
    times = fit._kernel_time(seen, fit._by_group(seen, fit.Fit(drawn)))
    summed = np.bincount(seen.group_of, times, len(seen.group))
    of_class: dict[str, float] = {}
    for name, time_s in zip(seen.group["kernel_class"], summed.tolist(), strict=True):
        of_class[name] = of_class.get(name, 0.0) + time_s
    assert of_class == pytest.approx(expected, rel=1e-9)
    # A bias that the library adds has no kernel of its own.
    assert {*operators["operator_class"]} - of_class.keys() <= {"bias"}
