"""Contents of every shipped part: closed peaks, complete rows, energy that fits its power, facts as cited."""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pytest

from charz.hardware_catalog.loader import Catalog
from charz.schema.catalog.part import Hardware, HardwareCluster, HardwareMemory, HardwarePeak
from charz.schema.catalog.provenance import HardwareConflict, HardwareProvenance
from charz.schema.errors import CharzError
from charz.schema.row import Row

FACTS = Path(__file__).parents[3] / "shared/hardware_facts"

FACT_FIELDS = {
    "memory.dram.capacity_byte": ("mem_bytes",),
    "memory.dram.bandwidth_byte_per_s": ("mem_bw", "mem_bw_device"),
    "memory.l1.capacity_byte": ("l1_bytes_per_unit",),
    "memory.l2.capacity_byte": ("l2_bytes_total", "l2_bytes_per_unit"),
    "memory.l3.capacity_byte": ("l3_bytes_total", "l3_bytes_per_unit"),
    "memory.scratchpad.capacity_byte": ("scratchpad_bytes_per_unit", "scratchpad_bytes_total"),
    "memory.register.capacity_byte": ("regfile_bytes_per_unit",),
    "power.default.tdp_w": ("tdp_w",),
    "power.default.idle_w": ("idle_w",),
    "cluster.sm.unit_count": ("compute_units",),
    "cluster.cu.unit_count": ("compute_units",),
    "cluster.core.unit_count": ("compute_units",),
    "cluster.p_core.unit_count": ("p_cores",),
    "cluster.e_core.unit_count": ("e_cores",),
    "cluster.mxu.unit_count": ("matrix_units",),
    "cluster.sm.lanes": ("fp32_lanes_per_unit",),
    "cluster.cu.lanes": ("fp32_lanes_per_unit",),
    "cluster.sm.clock_base_hz": ("clock_base_hz",),
    "cluster.sm.clock_boost_hz": ("clock_boost_hz",),
    "cluster.sm.clock_matrix_hz": ("clock_matrix_hz",),
    "cluster.cu.clock_boost_hz": ("clock_boost_hz",),
}
"""Fields of the facts by the place in the catalog that they state."""


def rows_by_part(catalog: Catalog, row_type: type[Row]) -> dict[str, list[Any]]:
    """Group the rows of a table by part."""
    found: dict[str, list[Any]] = defaultdict(list)
    for row in catalog.rows[row_type]:
        found[row.hardware].append(row)  # type: ignore[attr-defined]
    return found


def test_at_least_eighty_parts_of_six_families(catalog: Catalog) -> None:
    assert len(catalog.parts()) >= 80
    assert {part.family for part in catalog.parts()} == {"cpu", "gpu", "tpu", "kpu", "npu", "dsp"}


def test_every_peak_closes_or_says_why(catalog: Catalog) -> None:
    clusters = {
        (row.hardware, row.cluster): row for rows in rows_by_part(catalog, HardwareCluster).values() for row in rows
    }
    explained = {(row.hardware, row.field) for row in catalog.rows[HardwareConflict]}  # type: ignore[attr-defined]
    checked = 0
    for peak in (row for rows in rows_by_part(catalog, HardwarePeak).values() for row in rows):
        cluster = clusters.get((peak.hardware, peak.cluster))
        if cluster is None or None in (peak.ops_per_clock_per_unit, peak.peak_ops_per_s, cluster.clock_boost_hz):
            continue
        clocks = [
            cluster.clock_boost_hz,
            cluster.clock_matrix_hz or cluster.clock_boost_hz,
        ]  # fp64 runs at the boost clock
        products = [cluster.unit_count * peak.ops_per_clock_per_unit * clock for clock in clocks]
        product = min(products, key=lambda product: abs(product - peak.peak_ops_per_s))
        place = f"peak.{peak.precision}.{peak.unit}.{peak.accumulator}.peak_ops_per_s"
        checked += 1
        assert abs(peak.peak_ops_per_s / product - 1.0) <= 0.02 or (peak.hardware, place) in explained, (
            peak.hardware, place, peak.peak_ops_per_s, product,
        )  # fmt: skip
    assert checked > 400


def test_every_part_can_be_costed(catalog: Catalog, shipped: duckdb.DuckDBPyConnection) -> None:
    rows = {
        view: shipped.sql(f"SELECT * FROM {view}").pl()
        for view in ("part_peak", "part_memory", "hardware_power", "part_overhead", "part_energy")
    }
    for part in catalog.parts():
        name = part.hardware
        peaks, memory, power, overheads, energy = (
            list(frame.filter(hardware=name).iter_rows(named=True)) for frame in rows.values()
        )
        assert any(peak["unit"] == "vector" for peak in peaks), name
        (dram,) = [level for level in memory if level["level"] == "dram"]
        assert dram["capacity_byte"] and dram["bandwidth_byte_per_s"], name
        assert sum(mode["is_default"] for mode in power) == 1, name
        assert all(mode["tdp_w"] is None or mode["tdp_w"] > 0 for mode in power), name
        wanted = {"kernel_gap", "launch"} | {"gpu": {"memory_latency", "norm_block"}, "cpu": {"team"}}.get(part.family, set())
        assert {row["overhead"] for row in overheads} == wanted, name
        keys = {(row["what"], row["key"]) for row in energy}
        assert ("static", "chip") in keys, name
        assert {("op", f"{peak['precision']}.{peak['unit']}") for peak in peaks} <= keys, name
        assert {("byte", level["level"]) for level in memory} <= keys, name
        assert len({row["scope"] for row in energy}) == 1, name


@pytest.mark.parametrize(
    ("part", "precision", "value"),
    [
        ("mi355x_288", "fp16", 2.5e15),  # as bf16; 256 units * 4096 * 2.4 GHz is 2.52e15
        ("mi355x_288", "fp32", 157.3e12),  # 256 units * 256 * 2.4 GHz
        ("mi210_64", "fp32", 45.3e12),  # half of a MI250's 90.5: one die of two
        ("mi300x_192", "fp32", 163.4e12),  # 304 units * 256 * 2.1 GHz
        ("trainium2", "fp16", 667e12),  # eight cores at 79 in the core's own table, 667 in the chip's
        ("gaudi3", "fp16", 459e12),  # 1835 / 4
        ("tpu_v6e", "fp16", 918e12),  # as bf16
    ],
)
def test_matrix_rates_that_were_left_to_the_vector_units(
    catalog: Catalog, part: str, precision: str, value: float
) -> None:
    (peak,) = [
        row for row in rows_by_part(catalog, HardwarePeak)[part] if (row.precision, row.unit) == (precision, "matrix")
    ]
    assert peak.peak_ops_per_s == pytest.approx(value)


def test_every_part_with_a_half_format_on_matrix_units_runs_the_other_or_says_why(catalog: Catalog) -> None:
    notes = {(row.hardware, row.field): row.note for row in catalog.rows[HardwareProvenance]}  # type: ignore[attr-defined]
    without = set()
    for part, peaks in rows_by_part(catalog, HardwarePeak).items():
        matrix = {row.precision for row in peaks if row.unit == "matrix"} & {"fp16", "bf16"}
        if len(matrix) == 1 and any({row.precision} == {"fp16", "bf16"} - matrix for row in peaks):
            without.add(part)
            assert notes[part, "peak.fp16.vector.fp16.peak_ops_per_s"]
    assert without == {"xeon_8468", "xeon_8480p", "xeon_8490h", "xeon_8592p"}  # their AMX has no fp16


@pytest.mark.parametrize(
    ("part", "level", "value"),
    [
        ("hailo8", "scratchpad", 32 * 512 * 1024),  # 16 MiB over 32 units
        ("hexagon698", "scratchpad", 256 * 1024),
        ("hexagon698", "l2", 4 * 1024 * 1024),
    ],
)
def test_edge_accelerators_have_memory_on_chip(catalog: Catalog, part: str, level: str, value: int) -> None:
    (cluster,) = rows_by_part(catalog, HardwareCluster)[part]
    (memory,) = [row for row in rows_by_part(catalog, HardwareMemory)[part] if row.level == level]
    assert memory.capacity_byte * (cluster.unit_count if memory.scope == "unit" else 1) == value


def test_every_part_states_its_process(catalog: Catalog) -> None:
    """The energy of a part without a TDP depends on it, and on-chip memory of all."""
    assert {part.hardware for part in catalog.parts() if part.process_nm is None} == set()


def test_every_number_has_a_source(catalog: Catalog) -> None:
    traced = {(row.hardware, row.field) for row in catalog.rows[HardwareProvenance]}  # type: ignore[attr-defined]
    assert len(traced) == len(catalog.rows[HardwareProvenance])
    for part in catalog.parts():
        assert (part.hardware, "memory.dram.bandwidth_byte_per_s") in traced
    sources = {row.source_id for row in catalog.rows[HardwareProvenance]}  # type: ignore[attr-defined]
    assert "" not in sources


def test_every_kpu_is_marked_as_simulated(catalog: Catalog) -> None:
    assert {part.status for part in catalog.parts() if part.family == "kpu"} == {"simulated"}


@pytest.mark.skipif(not FACTS.exists(), reason="the hardware facts are not beside the repository")
def test_thirty_numbers_drawn_at_random_agree_with_the_facts(catalog: Catalog) -> None:
    stated = _stated_facts()
    parts = {fact[0] for fact in stated}
    cited = [
        row
        for row in catalog.rows[HardwareProvenance]
        if isinstance(row, HardwareProvenance)
        and row.hardware in parts
        and row.confidence not in ("derived", "assumed")
        and (row.field in FACT_FIELDS or row.field.endswith("peak_ops_per_s"))
        and any((row.hardware, row.source_id) == (fact[0], fact[2]) for fact in stated)
    ]
    assert len(cited) > 400
    for row in random.Random(20261121).sample(cited, 30):
        fields = FACT_FIELDS.get(row.field) or (".".join(row.field.split(".")[:2]),)
        values = [
            stated[row.hardware, field, row.source_id]
            for field in fields
            if (row.hardware, field, row.source_id) in stated
        ]
        assert any(abs(row.catalog_value / value - 1.0) < 1e-6 for found in values for value in found), (
            row.hardware, row.field, row.catalog_value, row.source_id, values,
        )  # fmt: skip


def _stated_facts() -> dict[tuple[str, str, str], list[float]]:
    """Return the values of the facts by part, field and source; a peak's field is `peak.PRECISION`."""
    stated: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    with (FACTS / "hardware_values.csv").open() as file:
        for row in csv.DictReader(file):
            if row["unit"] != "text":
                stated[row["part"], row["field"], row["source_id"]].append(float(row["value"]))
    with (FACTS / "precision.csv").open() as file:
        for row in csv.DictReader(file):
            stated[row["hardware"], f"peak.{row['precision']}", row["source_id"]].append(float(row["peak_ops_per_s"]))
    return stated


def test_aliases_of_the_measured_parts(catalog: Catalog) -> None:
    from charz.hardware_catalog import names
    from charz.schema.catalog.part import HardwareAlias

    pairs = [(part.hardware, part.hardware) for part in catalog.parts() if isinstance(part, Hardware)]
    pairs += [(row.alias, row.hardware) for row in catalog.rows[HardwareAlias] if isinstance(row, HardwareAlias)]
    for name, part in {
        "NVIDIA RTX 4090": "rtx4090",
        "NVIDIA RTX 3090": "rtx3090",
        "Intel Core i9-10940X": "i9_10940x",
        "Tesla V100-PCIE-32GB": "v100_pcie_32",
        "NVIDIA V100 32GB": "v100_sxm2_32",
        "NVIDIA A100 80GB PCIe": "a100_pcie_80",
        "Tesla T4": "t4",
        # The part of that name, not a laptop or another variant.
        "4090": "rtx4090",
        "13900k": "i9_13900k",
    }.items():
        assert names.match(name, pairs) == part
    with pytest.raises(CharzError, match="several parts have this name: h100. Candidates: h100_nvl_94, h100_pcie_80"):
        names.match("h100", pairs)
