"""The family rules, each against a calculation by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from charz.hardware_catalog import derive, loader
from charz.hardware_catalog.loader import Catalog
from charz.schema.catalog import HardwarePeak, HardwareProvenance


def test_half_known_gpu(catalog: Catalog, write_part: Callable[..., Path]) -> None:
    rows = loader.load_part(write_part(), catalog)
    numbers = {row.field: row for row in rows[HardwareProvenance] if isinstance(row, HardwareProvenance)}

    # L2: 10 units * 32 byte * 1 GHz
    assert numbers["memory.l2.bandwidth_byte_per_s"].catalog_value == pytest.approx(3.2e11)
    assert numbers["memory.l2.bandwidth_byte_per_s"].formula == "10 units * 32 byte * 1 GHz"
    # vector: 10 units * 128 lanes * 2 * 1 GHz
    assert numbers["peak.fp32.vector.fp32.peak_ops_per_s"].catalog_value == pytest.approx(2.56e12)
    assert numbers["overhead.launch.overhead_s"].catalog_value == pytest.approx(3e-6)
    for place in ("memory.l2.bandwidth_byte_per_s", "overhead.kernel_gap.overhead_s"):
        assert numbers[place].source_id == derive.RULE
        assert numbers[place].confidence in ("derived", "assumed")
        assert numbers[place].formula


def test_a_derived_vector_rate_keeps_the_precision_of_its_matrix_rate(
    catalog: Catalog, write_part: Callable[..., Path]
) -> None:
    rows = loader.load_part(write_part({"family: gpu": "family: npu", "precision: fp16": "precision: bf16"}), catalog)
    peaks = {(row.precision, row.unit): row for row in rows[HardwarePeak] if isinstance(row, HardwarePeak)}

    # 1.024e13 / 16; no fp16 on a part without it
    assert peaks.keys() == {("bf16", "matrix"), ("bf16", "vector")}
    assert peaks["bf16", "vector"].peak_ops_per_s == pytest.approx(6.4e11)


def test_a_stated_number_is_never_overwritten(catalog: Catalog, write_part: Callable[..., Path]) -> None:
    launch = "overhead_s: {value: 9.0e-6, unit: s, source: assumption, confidence: assumed}"
    stated = f"overhead:\n  launch:\n    {launch}\npower:\n"
    rows = loader.load_part(write_part({"power:\n": stated}), catalog)
    numbers = {row.field: row for row in rows[HardwareProvenance] if isinstance(row, HardwareProvenance)}
    assert numbers["overhead.launch.overhead_s"].catalog_value == pytest.approx(9e-6)
    assert numbers["overhead.launch.overhead_s"].source_id == "assumption"


@pytest.mark.parametrize(
    ("part", "place", "value"),
    [
        ("t4", "memory.scratchpad.capacity_byte", 65536.0),  # compute capability 7.5
        ("t4", "memory.scratchpad.bandwidth_byte_per_s", 128 * 1.59e9),
        ("rtx4090", "memory.l2.bandwidth_byte_per_s", 128 * 16 * 2.52e9),
        ("tpu_v4", "memory.scratchpad.bandwidth_byte_per_s", 22 * 1.2e12),
        ("i9_10940x", "memory.l1.bandwidth_byte_per_s", 32 * 6 * 3.1e9),  # two loads and a store of 64 byte
        ("i9_10940x", "memory.l2.bandwidth_byte_per_s", 64 * 3.1e9),
        ("i9_10940x", "memory.dram.unit_bandwidth_byte_per_s", 2.398 * 93.856e9 / 14),
        ("i9_10940x", "overhead.team.overhead_s", 172300 * 14 / 93.856e9),
        ("kpu_t64", "memory.l1.bandwidth_byte_per_s", (32 + 32) * 2 * 475e6),
        ("kpu_t64", "energy.op.int8.matrix", 0.05e-12),
        ("gaudi2", "peak.bf16.vector.fp32.peak_ops_per_s", 432e12 / 16),
        ("gaudi2", "peak.fp16.vector.fp32.peak_ops_per_s", 108e12 / 16),
        ("hailo8", "peak.int8.vector.int32.peak_ops_per_s", 26e12 / 16),
        ("hexagon698", "memory.scratchpad.bandwidth_byte_per_s", 8 * 44e9),
        ("hexagon698", "memory.l2.bandwidth_byte_per_s", 4 * 44e9),
    ],
)
def test_rules_on_shipped_parts(catalog: Catalog, part: str, place: str, value: float) -> None:
    numbers = {
        row.field: row.catalog_value
        for row in catalog.rows[HardwareProvenance]
        if isinstance(row, HardwareProvenance) and row.hardware == part
    }
    assert numbers[place] == pytest.approx(value, rel=1e-4)
