"""Efficiencies of depthwise convolutions that were fitted to single operators of an H200, computed again from the measured rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import polars as pl
import pytest
from benchmarks.makers import timm

from charz.hardware_catalog import loader
from charz.schema.catalog.efficiency import Efficiency

Record = dict[str, Any]
FILE = Path(__file__).parents[2] / "benchmarks/measured/h200_operators.parquet"
PEAK = 66.9e12
"""Operations a second of the vector units: 132 multiprocessors, 128 lanes, two operations, 1.98 GHz."""


@pytest.fixture(scope="module")
def rows() -> list[Record]:
    """Return measured rows with their sizes."""
    return [{**row, **json.loads(row["sizes"] or "{}")} for row in pl.read_parquet(FILE).iter_rows(named=True)]


@pytest.fixture(scope="module")
def share() -> Callable[..., float]:
    """Return the shipped share of the vector peak for a layout, by backend."""
    found = {
        (row.backend, row.memory_format): row.maximum_fraction
        for row in loader.load().rows[Efficiency]
        if row.source_id == "charz_h200_operators" and row.scope == "family:gpu" and row.resource == "vector"
    }

    def of(backend: str, memory_format: str) -> float:
        return found[backend, memory_format]

    return of


def depthwise(rows: list[Record], kernel: str, kept: Callable[[Record], bool]) -> float:
    """Compute the mean share of the vector peak of the cases of 32 samples that a kernel ran: two operations a tap and result."""
    return geometric_mean(
        2 * row["n"] * row["c_out"] * (row["h"] // row["stride"]) ** 2 * row["k"] ** 2 / row["time_s"] / PEAK
        for row in rows
        if row["group"] == "depthwise" and row["n"] == 32 and kernel in row["kernels"][0] and kept(row)
    )


@pytest.mark.parametrize(
    ("memory_format", "kernel", "kept"),
    [
        ("nchw_own", "conv_depthwise2d_forward_kernel", lambda row: row["k"] == 3),
        ("nchw_wide", "conv_depthwise2d_forward_kernel", lambda row: 5 <= row["k"] <= min(11, row["h"])),
        ("nhwc_wide", "conv2d_grouped_direct_kernel", lambda row: row["k"] <= 11 and row["h"] <= 14),
    ],
)
def test_depthwise_kernels(
    rows: list[Record], share: Callable[..., float], memory_format: str, kernel: str, kept: Callable[[Record], bool]
) -> None:
    """Both backends call the same library, and fits to networks start with these values."""
    shipped = share("eager", memory_format)
    assert shipped == share("inductor", memory_format)
    assert shipped == pytest.approx(depthwise(rows, kernel, kept), rel=0.02)
    assert timm.OF_LIBRARY[memory_format] == shipped


def test_attention_under_a_mask(rows: list[Record]) -> None:
    """cuDNN takes longer with a mask; both backends call it."""
    cases = [row for row in rows if row["group"] == "attention" and row["path"] == "default" and row["precision"] == "fp16"]
    plain = {
        tuple(row["shape"]): row["time_s"] for row in cases if row["mask"] == "none" and not row["causal"] and not row["strided"]
    }
    longer = geometric_mean(row["time_s"] / plain[tuple(row["shape"])] for row in cases if row["mask"] != "none")
    shipped = {
        (row.scope, row.backend, row.operator_name): row.maximum_fraction
        for row in loader.load().rows[Efficiency]
        if row.kernel_class == "attention" and row.resource == "matrix" and row.memory_format == "*"
    }
    masked = "aten.scaled_dot_product_attention_masked"
    own = shipped["hardware:h200_sxm_141", "eager", "*"] / longer
    assert shipped["hardware:h200_sxm_141", "eager", masked] == pytest.approx(own, rel=0.02)
    assert shipped["architecture:Hopper GH100", "inductor", masked] == shipped["hardware:h200_sxm_141", "eager", masked]
