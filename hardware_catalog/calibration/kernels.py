"""Every kernel's times before efficiency, from the cost model, as arrays to fit.

The SQL is evaluated twice with the same neutral efficiency rows: with half_work 0 and with 1. Every kernel time is affine in half_work
/ maximum_fraction, so the two answers give its ideal time and its slope, whatever the views' formulas for work, tiles and traffic are.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

from charz.schema.catalog.efficiency import Efficiency

from .workbench import Workbench

Floats = NDArray[np.float64]

TIMES = ("matrix", "vector", "dram")
"""Terms with an ideal time and a slope."""

_CLASS_FLAGS = ["is_single_algorithm", "varies_by_format", "varies_by_strides"]
"""Flags of `operator_class` that decide which kernels of a class may share a parameter."""

NATIVE = "aten._slow_conv2d_forward"
"""Convolution of a small image that PyTorch on a processor does not leave to oneDNN."""

_SHAPE = ["hardware", "backend", "memory_format", "kernel_class", "operator_name"]


@dataclass
class Kernels:
    """Distinct kernels of a set of cases: one entry per group of equal kernels of a case, with its count."""

    case: NDArray[np.int64]
    """Row of `cases` of each kernel."""
    count: Floats
    """Number of equal kernels in the run."""
    group: pl.DataFrame
    """Columns `hardware, backend, memory_format, kernel_class, operator_name` of every distinct combination, and the class's
    `is_single_algorithm, varies_by_format, varies_by_strides` (`operator_class`). The format is the kernel's own layout, the operator
    the anchor's ATen operator, `*` for inserted conversions."""
    group_of: NDArray[np.int64]
    """Row of `group` of each kernel."""
    ideal: dict[str, Floats]
    """Time at full efficiency by term. [s]"""
    slope: dict[str, Floats]
    """Time added by each unit of half_work, by term. [s]"""
    naive_s: Floats
    """Time at the peak of all units, a lower bound. [s]"""
    cache_s: Floats
    """Time of the last-level cache at full efficiency. [s]"""
    reload_s: Floats
    """Time of the memories next to the units, with the first level as one of them, or of sequential accesses. [s]"""
    feed_s: Floats
    """Time in which the first level feeds the arithmetic, a lower bound. [s]"""
    reorder_s: Floats
    """Time of a library's reordering before it computes, at peak bandwidth. [s]"""
    paging_s: Floats
    """Time in which the system hands out fresh pages, at peak bandwidth. [s]"""
    block_s: Floats
    """Time of the blocks of threads for the rows of a normalization, which adds to main memory's."""
    thread_s: Floats
    """Time of all traffic at one unit's own bandwidth if a single thread moves it; else 0. [s]"""
    team_s: Floats
    """Time in which the part's thread team starts and finishes, if a team runs the kernel; else 0. [s]"""
    gap_s: Floats
    """Device time between kernels. [s]"""
    host_s: Floats
    """Host time of all kernels of each case. [s]"""
    first_s: Floats
    """Host time until the first kernel of each case is issued. [s]"""
    is_serial: NDArray[np.bool_]
    """True for the cases in which host and device time add."""
    cases: pl.DataFrame
    """The cases, with `measured_s`."""

    def __len__(self) -> int:
        return len(self.case)

    def share_of_time(self) -> pl.DataFrame:
        """Add to each kernel group its share of the ideal time over all cases of the same part and backend. Each case has the same weight."""
        time = self.count * np.maximum(np.maximum(self.ideal["matrix"], self.ideal["vector"]), self.ideal["dram"])
        total = np.bincount(self.case, time, len(self.cases))
        weight = time / np.maximum(total[self.case], 1e-30)
        share = np.bincount(self.group_of, weight, len(self.group))
        return self.group.with_columns(weight=pl.Series(share)).with_columns(
            share=pl.col("weight") / pl.col("weight").sum().over(["hardware", "backend"])
        )


def neutral(half_work: float, kept: pl.DataFrame) -> pl.DataFrame:
    """Make efficiency rows under which every kernel runs at its peak and its team at the part's; the `kept` rows of the database are added."""
    first = int(kept["efficiency_id"].max() or 0) + 1  # type: ignore[arg-type]  # an integer column
    # An operator without rows takes its class's.
    resources = ("matrix", "vector", "memory", "thread", "overlap", "reorder", "paging")
    places = [*(("*", "*", resource) for resource in resources), ("conv", NATIVE, "memory")]
    works = {"matrix": half_work, "vector": half_work, "memory": half_work, "thread": 1.0}
    rows = [
        {
            "efficiency_id": first + i, "scope": "*", "backend": "*", "kernel_class": kernel_class, "operator_name": name,
            "precision_class": "*", "memory_format": "*", "resource": resource, "maximum_fraction": 1.0,
            "half_work": works.get(resource, 0.0), "source_id": "neutral", "confidence": "assumed", "note": None,
        }
        for i, (kernel_class, name, resource) in enumerate(places)
    ]  # fmt: skip
    return pl.concat([pl.DataFrame(rows, schema=kept.schema), kept])


def extract(
    connection: duckdb.DuckDBPyConnection,
    cases: pl.DataFrame,
    efficiency: pl.DataFrame,
    overrides: dict[str, pl.DataFrame] | None = None,
) -> Kernels:
    """Extract the kernels of the cases. `efficiency` are the current rows, of which residency and loads in flight are kept; `overrides`
    replaces whole tables by name."""
    kept = efficiency.select(list(Efficiency.model_fields)).filter(pl.col("resource").is_in(["residency", "flight"]))
    with Workbench(connection, cases, neutral(0.0, kept), overrides) as bench:
        ideal = _terms(bench)
        bench.replace("efficiency", neutral(1.0, kept))
        sloped = _terms(bench).select(
            "model",
            "scenario_id",
            "hardware",
            "kernel_id",
            *(pl.col(f"{t}_s").alias(f"{t}_at_one") for t in TIMES),
        )
        dispatch = bench.sql("SELECT DISTINCT backend, hardware, dispatch FROM part_support")
        keys = ["model", "scenario_id", "hardware"]
        joined = ideal.join(sloped, on=[*keys, "kernel_id"]).with_columns(
            pl.col(f"{t}_at_one") - pl.col(f"{t}_s") for t in TIMES
        )
        query = f"SELECT operator_class AS kernel_class, {', '.join(_CLASS_FLAGS)} FROM operator_class"
        flags = bench.connection.sql(query).pl()
        numbered = bench.cases.with_row_index("case_row")
    return _arrays(joined, numbered.join(dispatch, on=["backend", "hardware"], how="left"), flags, keys)


def _terms(bench: Workbench) -> pl.DataFrame:
    return bench.sql(
        """
        SELECT c.run.model, c.run.scenario_id, c.hardware, c.kernel_id, c.position, c.kernel_class,
            CASE
                WHEN c.operator_name <> '*' THEN c.operator_name
                WHEN c.kernel_class = o.operator_class
                    THEN CONCAT(SPLIT_PART(o.aten_operator, '.', 1), '.', SPLIT_PART(o.aten_operator, '.', 2))
                ELSE '*'
            END AS operator_name,
            c.layout AS memory_format, c.matrix_s, c.vector_s, c.naive_s, c.dram_s, c.cache_s,
            GREATEST(c.reload_s, c.fetch_s, c.staged_stream_s, c.latency_bound_s, c.flight_s) AS reload_s, c.feed_s, c.reorder_s, c.paging_s,
            c.thread_s, c.team_s, c.kernel_gap_s, c.host_issue_s,
            CASE WHEN c.row_s > 0 THEN c.block_s ELSE 0 END AS block_s
        FROM kernel_cost AS c
        INNER JOIN operator AS o ON o.model = c.run.model AND o.operator_id = c.anchor_operator_id
        """
    )


def _arrays(terms: pl.DataFrame, cases: pl.DataFrame, flags: pl.DataFrame, keys: list[str]) -> Kernels:
    """Count equal kernels of a case together, as arrays."""
    columns = [
        "matrix_s",
        "vector_s",
        "dram_s",
        *(f"{t}_at_one" for t in TIMES),
        "naive_s",
        "cache_s",
        "reload_s",
        "feed_s",
        "reorder_s",
        "paging_s",
        "block_s",
        "thread_s",
        "team_s",
        "kernel_gap_s",
    ]
    issued = pl.col("host_issue_s")
    host = terms.group_by(keys).agg(
        issued.sum().alias("host_s"), issued.sort_by("position", "kernel_id").first().alias("first_s")
    )
    cases = cases.join(host, on=keys, how="left").sort("case_row").filter(pl.col("host_s").is_not_null())
    cases = cases.drop("case_row").with_row_index("case_row")
    # Several measurements of one case share its kernels; each counts as its own case.
    kernels = (
        terms.group_by([*keys, "kernel_class", "operator_name", "memory_format", *columns])
        .len("count")
        .join(cases.select("case_row", *keys, "backend"), on=keys)
    )
    group = kernels.select(_SHAPE).unique().sort(_SHAPE)
    kernels = kernels.join(group.with_row_index("group_row"), on=_SHAPE).sort("case_row")
    value = {c: kernels[c].to_numpy().astype(np.float64) for c in columns}
    return Kernels(
        case=kernels["case_row"].to_numpy().astype(np.int64),
        count=kernels["count"].to_numpy().astype(np.float64),
        group=group.join(flags, on="kernel_class", how="left", maintain_order="left"),
        group_of=kernels["group_row"].to_numpy().astype(np.int64),
        ideal={t: value[f"{t}_s"] for t in TIMES},
        slope={t: value[f"{t}_at_one"] for t in TIMES},
        naive_s=value["naive_s"],
        cache_s=value["cache_s"],
        reload_s=value["reload_s"],
        feed_s=value["feed_s"],
        reorder_s=value["reorder_s"],
        paging_s=value["paging_s"],
        block_s=value["block_s"],
        thread_s=value["thread_s"],
        team_s=value["team_s"],
        gap_s=value["kernel_gap_s"],
        host_s=cases["host_s"].to_numpy(),
        first_s=cases["first_s"].to_numpy(),
        is_serial=(cases["dispatch"] == "serial").to_numpy(),
        cases=cases,
    )
