"""Derived numbers, each compared with a calculation by hand, and the numbers that change when one is edited."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import charz
from charz.sql import maintain

from .conftest import SMALL_PART

Record = dict[str, Any]


def numbers(connection: duckdb.DuckDBPyConnection, part: str) -> dict[str, Record]:
    """Return the rows of `hardware_value` of a part, by field."""
    rows = connection.sql("SELECT * FROM hardware_value WHERE hardware = ?", params=[part]).pl().iter_rows(named=True)
    return {row["field"]: row for row in rows}


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("t4", "memory.scratchpad.capacity_byte", 65536.0),  # compute capability 7.5
        ("t4", "memory.register.capacity_byte", 65536 * 4.0),
        ("t4", "memory.scratchpad.bandwidth_byte_per_s", 128 * 1.59e9),
        ("rtx4090", "memory.l2.bandwidth_byte_per_s", 128 * 16 * 2.52e9),
        ("tpu_v4", "memory.scratchpad.bandwidth_byte_per_s", 22 * 1.2e12),
        ("i9_10940x", "memory.l1.bandwidth_byte_per_s", 32 * 6 * 3.1e9),  # two loads and a store of 64 byte
        ("i9_10940x", "memory.l2.bandwidth_byte_per_s", 64 * 3.1e9),
        ("i9_10940x", "memory.dram.unit_bandwidth_byte_per_s", 2.398 * 93.856e9 / 14),
        ("i9_10940x", "overhead.team.overhead_s", 172300 * 14 / 93.856e9),
        ("kpu_t64", "memory.l1.bandwidth_byte_per_s", (32 + 32) * 2 * 475e6),
        ("gaudi2", "peak.bf16.vector.fp32.peak_ops_per_s", 432e12 / 16),
        ("gaudi2", "peak.fp16.vector.fp32.peak_ops_per_s", 108e12 / 16),
        ("hailo8", "peak.int8.vector.int32.peak_ops_per_s", 26e12 / 16),
        ("hexagon698", "memory.scratchpad.bandwidth_byte_per_s", 32 * 1.5e9 * 8),
        ("hexagon698", "memory.l2.bandwidth_byte_per_s", 4 * 44e9),
    ],
)
def test_rules_on_shipped_parts(shipped: duckdb.DuckDBPyConnection, part: str, field: str, value: float) -> None:
    row = numbers(shipped, part)[field]
    assert row["value"] == pytest.approx(value, rel=1e-4)
    assert (row["stated_value"], row["is_edited"], row["follows_edit"]) == (None, False, False)
    assert row["standing"] in ("derived", "assumed") and row["derivation_rule"] and row["locator"]


def test_a_stated_number_is_met_exactly(shipped: duckdb.DuckDBPyConnection) -> None:
    """Other rules do not change it."""
    query = (
        "SELECT COUNT(*), COUNT(*) FILTER (value <> stated_value) FROM hardware_value WHERE stated_value IS NOT NULL"
    )
    ((count, moved),) = shipped.execute(query).fetchall()
    assert count > 3000 and moved == 0


@pytest.fixture
def small(tmp_path: Path, once: Callable[..., Path], few_parts: Path) -> duckdb.DuckDBPyConnection:
    """File of some shipped parts and the small one, as a client opens it."""
    made = once("parts.duckdb", lambda path: _with_small_part(Path(shutil.copy(few_parts, path))))
    shutil.copy(made, tmp_path / "parts.duckdb")
    return duckdb.connect(str(tmp_path / "parts.duckdb"), config={"threads": 1})


def _with_small_part(path: Path) -> None:
    part = path.with_name("small_gpu.yaml")
    part.write_text(SMALL_PART)
    with charz.open(path) as session:
        session.hardware.add(part)


PEAK = "peak.fp16.matrix.fp32.peak_ops_per_s"


def test_a_half_known_part(small: duckdb.DuckDBPyConnection) -> None:
    with small:
        found = numbers(small, "small_gpu")
    assert found["memory.l2.bandwidth_byte_per_s"]["value"] == pytest.approx(3.2e11)  # 10 units x 32 byte x 1 GHz
    assert found["memory.l2.bandwidth_byte_per_s"]["formula"] == "32 byte x units x boost clock"
    assert found["peak.fp32.vector.fp32.peak_ops_per_s"]["value"] == pytest.approx(
        2.56e12
    )  # 10 x 128 lanes x 2 x 1 GHz
    assert found["overhead.launch.overhead_s"]["value"] == pytest.approx(3e-6)
    assert found[PEAK]["standing"] == "assumed" and found[PEAK]["stated_value"] == 1.024e13


@pytest.mark.parametrize(
    ("statement", "moved"),
    [
        # Twice the units: peaks, the shared cache, the rate of the lanes.
        (
            "UPDATE hardware_cluster SET unit_count = 20",
            {PEAK: 2.0, "memory.l2.bandwidth_byte_per_s": 2.0, "peak.fp32.vector.fp32.peak_ops_per_s": 2.0},
        ),
        (
            "UPDATE hardware_cluster SET clock_boost_hz = 3e9",
            {PEAK: 3.0, "memory.l2.bandwidth_byte_per_s": 3.0, "peak.fp32.vector.fp32.peak_ops_per_s": 3.0},
        ),
        ("UPDATE hardware_cluster SET lanes = 256", {"peak.fp32.vector.fp32.peak_ops_per_s": 2.0}),
        ("UPDATE hardware_peak SET ops_per_clock_per_unit = 512", {PEAK: 0.5}),
        ("UPDATE hardware_memory SET capacity_byte = 1e6", {}),
    ],
    ids=["units", "clock", "lanes", "operations", "capacity"],
)
def test_what_follows_from_an_edit_moves_and_is_marked(
    small: duckdb.DuckDBPyConnection, statement: str, moved: dict[str, float]
) -> None:
    with small:
        before = numbers(small, "small_gpu")
        small.execute(f"{statement} WHERE hardware = 'small_gpu'")
        after = numbers(small, "small_gpu")
        assert maintain.differences(small) == {}
    edited = {field for field, row in after.items() if row["is_edited"]}
    ratios = {
        field: row["value"] / before[field]["value"]
        for field, row in after.items()
        if field not in edited and row["value"] != before[field]["value"]
    }
    energies = {field for field in ratios if field.startswith("energy.")}
    assert {field: ratio for field, ratio in ratios.items() if field not in energies} == pytest.approx(moved)
    assert energies | set(moved) <= {field for field, row in after.items() if row["follows_edit"]}
    assert edited and edited == {
        field for field, row in after.items() if row["stated_value"] != before[field]["stated_value"]
    }


def test_a_peak_stated_anew_holds_and_then_moves(small: duckdb.DuckDBPyConnection) -> None:
    """An edit of the peak sets the ratio, whatever was edited before."""
    with small:
        small.execute("UPDATE hardware_cluster SET unit_count = 20 WHERE hardware = 'small_gpu'")
        small.execute("UPDATE hardware_peak SET peak_ops_per_s = 3e13 WHERE hardware = 'small_gpu'")
        assert numbers(small, "small_gpu")[PEAK]["value"] == pytest.approx(3e13)
        small.execute("UPDATE hardware_cluster SET unit_count = 40 WHERE hardware = 'small_gpu'")
        assert numbers(small, "small_gpu")[PEAK]["value"] == pytest.approx(6e13)
        rate = "SELECT matrix_ops_per_s FROM part_rate WHERE hardware = 'small_gpu' AND compute_precision = 'fp16'"
        assert [value for (value,) in small.execute(f"{rate} GROUP BY ALL").fetchall()] == [pytest.approx(6e13)]
        assert maintain.differences(small) == {}


def test_a_part_copied_with_other_units_scales(small: duckdb.DuckDBPyConnection) -> None:
    """The rows are those of a part under another name, with one number changed."""
    with small:
        tables = (
            "hardware",
            "hardware_cluster",
            "hardware_memory",
            "hardware_peak",
            "hardware_power",
            "energy_profile",
        )
        for table in tables:
            other = ", 40 AS unit_count" if table == "hardware_cluster" else ""
            small.execute(
                f"INSERT INTO {table} SELECT * REPLACE ('large' AS hardware{other}) FROM {table} WHERE hardware = 'small_gpu'"
            )
        assert numbers(small, "large")[PEAK]["value"] == pytest.approx(4 * 1.024e13)


def test_the_clock_of_matrix_units_moves_with_the_boost_clock(small: duckdb.DuckDBPyConnection) -> None:
    """The ratio of 1.83 to 1.98 GHz stays."""
    field = "cluster.sm.clock_matrix_hz"
    with small:
        before = numbers(small, "h100_sxm5_80")
        small.execute("UPDATE hardware_cluster SET clock_boost_hz = 2 * clock_boost_hz WHERE hardware = 'h100_sxm5_80'")
        after = numbers(small, "h100_sxm5_80")
    assert after[field]["value"] == pytest.approx(2 * before[field]["value"])
    assert after["peak.bf16.matrix.fp32.peak_ops_per_s"]["value"] == pytest.approx(
        2 * before["peak.bf16.matrix.fp32.peak_ops_per_s"]["value"]
    )
    assert after[field]["follows_edit"]


def test_a_wider_main_memory_makes_no_stated_bandwidth_on_the_chip_wider(small: duckdb.DuckDBPyConnection) -> None:
    """The vector memory of a TPU follows its rule, 22 times main memory, unless its bandwidth is stated."""
    field, part = "memory.scratchpad.bandwidth_byte_per_s", "tpu_v4"
    wider = f"UPDATE hardware_memory SET bandwidth_byte_per_s = 2 * bandwidth_byte_per_s WHERE hardware = '{part}' AND level = 'dram'"
    stated = f"UPDATE hardware_memory SET bandwidth_byte_per_s = 3e13 WHERE hardware = '{part}' AND level = 'scratchpad'"
    with small:
        before = numbers(small, part)[field]
        small.execute(wider)
        moved = numbers(small, part)[field]
        assert before["stated_value"] is None and moved["value"] == pytest.approx(2 * before["value"])
        small.execute(stated)
        small.execute(wider)
        held = numbers(small, part)[field]
    assert held["value"] == 3e13 and not held["follows_edit"]


def test_a_number_taken_away_follows_its_rule(small: duckdb.DuckDBPyConnection) -> None:
    """10 units x 1,024 operations a clock x 1 GHz."""
    with small:
        small.execute("UPDATE hardware_peak SET peak_ops_per_s = NULL WHERE hardware = 'small_gpu'")
        row = numbers(small, "small_gpu")[PEAK]
    assert row["value"] == pytest.approx(1.024e13)
    assert (row["stated_value"], row["is_edited"]) == (None, True)
