"""Area of a part's silicon, its power at rest, and the energy of its memories by size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Evaluate = Callable[..., list[dict[str, Any]]]


def rules(**values: float) -> list[dict[str, Any]]:
    """Make rules from quantity__key=value; without a key for all."""
    return [
        {"quantity": name.partition("__")[0], "row_key": name.partition("__")[2] or "*", "value": value, "confidence": "assumed"}
        for name, value in values.items()
    ]  # fmt: skip


SILICON: dict[str, Any] = {
    "process_nm": 5.0, "circuit_j": 2e-12, "logic_ratio": 0.05, "byte_cell_mm2": 2e-7, "layout_factor": 1.25,
    "leakage_density": 0.04, "clocking_density": 0.1, "voltage_floor": 0.5, "clock_floor": 0.2, "reference_clock_hz": 1e9,
}  # fmt: skip
AREA = rules(
    mac_um2__fp16=6000.0, mac_um2__fp32=12000.0, mac_um2__fp64=40000.0, mac_area_factor=2.0, unit_um2=1e7, unit_um2__small=2e6,
    lane_um2=1e5, phy_mm2_per_gbyte_per_s=0.2, phy_mm2_per_gbyte_per_s__HBM3=0.02, link_mm2_per_gbyte_per_s=0.06, uncore_mm2=8.0,
    leakage_share__logic=1.0, leakage_share__sram=0.5, leakage_share__phy=1.0, leakage_share__uncore=1.0,
    clocking_share__logic=1.0, clocking_share__sram=0.3, clocking_share__phy=0.0, clocking_share__uncore=0.5,
)  # fmt: skip
CLUSTER: dict[str, Any] = {"cluster": "big", "kind": "core", "unit_count": 10, "lanes": 16.0, "clock_boost_hz": 2e9}
FACTS: dict[str, Any] = {
    "part_silicon": [SILICON], "part_rule": AREA,
    "part_cluster": [CLUSTER, CLUSTER | {"cluster": "small", "unit_count": 4, "lanes": 0.0}],
    "part_peak": [
        {"precision": "fp16", "unit": "matrix", "accumulator": "fp32", "peak_ops_per_s": 4e13},
        {"precision": "fp32", "unit": "matrix", "accumulator": "fp32", "peak_ops_per_s": 4e12},
        {"precision": "fp32", "unit": "vector", "accumulator": "fp32", "peak_ops_per_s": 4e11},
        {"precision": "fp64", "unit": "vector", "accumulator": "fp64", "peak_ops_per_s": 4e11},
    ],
    "sram_energy": [{"level": "l2", "area_mm2": 4.0}],
    "part_memory": [{"level": "dram", "technology": "HBM3", "bandwidth_byte_per_s": 1e12}],
    "hardware_interconnect": [{"interconnect": "pcie", "bandwidth_byte_per_s": 5e10}],
}  # fmt: skip


def areas(evaluate: Evaluate, **changed: Any) -> dict[str, dict[str, Any]]:
    return {row["silicon_piece"]: row for row in evaluate("part_area", **(FACTS | changed))}


def test_pieces(evaluate: Evaluate) -> None:
    """Each has a quarter of channels: 10,000 MACs of 6,000 um2 twice at a twentieth; units with their lanes; 1 TB/s of HBM3."""
    found = {piece: row["area_mm2"] for piece, row in areas(evaluate).items()}
    assert found == pytest.approx(
        {
            "arithmetic.matrix": 1.25 * 10_000 * 6000 * 2 * 0.05 / 1e6, "arithmetic.vector": 1.25 * 100 * 12000 * 2 * 0.05 / 1e6,
            "arithmetic.wide": 1.25 * 100 * 40000 * 2 * 0.05 / 1e6,
            "unit.big": 1.25 * 10 * (1e7 + 16 * 1e5) * 0.05 / 1e6, "unit.small": 1.25 * 4 * 2e6 * 0.05 / 1e6,
            "memory.l2": 5.0, "phy.dram": 1.25 * 20, "phy.pcie": 1.25 * 3, "uncore": 10.0,
        }
    )  # fmt: skip


def test_leakage_and_clocks_of_a_piece(evaluate: Evaluate) -> None:
    """0.04 and 0.1 W per square millimetre, for memory a half and 0.3 of them."""
    found = areas(evaluate)
    assert (found["memory.l2"]["leakage_w"], found["memory.l2"]["clocking_w"]) == pytest.approx((0.1, 0.15))
    assert (found["unit.small"]["leakage_w"], found["unit.small"]["clocking_w"]) == pytest.approx((0.02, 0.05))


def test_elements_of_domain_flow_are_one_array(evaluate: Evaluate) -> None:
    """Their vector operations take no further area."""
    flow = areas(evaluate, part_cluster=[CLUSTER | {"kind": "domain_flow"}])
    assert "arithmetic.vector" not in flow
    assert flow["arithmetic.matrix"]["area_mm2"] == areas(evaluate)["arithmetic.matrix"]["area_mm2"]


def test_without_a_clock_the_one_of_the_process(evaluate: Evaluate) -> None:
    """1 GHz instead of 2: twice the multipliers."""
    unknown = areas(evaluate, part_cluster=[CLUSTER | {"clock_boost_hz": None}])
    assert unknown["arithmetic.matrix"]["area_mm2"] == pytest.approx(
        2 * areas(evaluate)["arithmetic.matrix"]["area_mm2"]
    )


SRAM = rules(
    sram_fill_least=0.1, sram_fill_doubling=0.05, sram_fill_most=0.5, tag_factor=1.1, port_factor=1.0, port_factor__l1=1.5,
    sram_access_ratio=0.5, sram_wire_ratio_per_mm=0.8, level_lift=1.0, level_lift__l1=5.0,
)  # fmt: skip


def memory(evaluate: Evaluate, **level: Any) -> dict[str, Any]:
    row = {"level": "l2", "scope": "unit", "management": "software", "capacity_byte": 65536.0} | level
    (found,) = evaluate(
        "sram_energy", part_silicon=[SILICON], part_rule=SRAM, part_unit=[{"unit_count": 8.0}], part_memory=[row]
    )
    return found


def test_a_byte_by_the_size_of_its_memory(evaluate: Evaluate) -> None:
    """64 KiB are 32 times 2 KiB: 0.1 + 5 * 0.05 of it are cells, 65,536 * 2e-7 / 0.35 mm2; eight banks."""
    found = memory(evaluate)
    bank = 65536 * 2e-7 / 0.35
    assert found["area_mm2"] == pytest.approx(8 * bank)
    assert found["bank_j_per_byte"] == pytest.approx(2e-12 * (0.5 + 0.8 * bank**0.5))
    larger = memory(evaluate, capacity_byte=65536.0 * 256)
    assert larger["fill_fraction"] == 0.5
    assert larger["bank_j_per_byte"] / found["bank_j_per_byte"] > 2


def test_a_shared_level_has_a_bank_a_unit(evaluate: Evaluate) -> None:
    """Eight units: eight banks of 8 KiB, or eight of 64 KiB."""
    assert memory(evaluate, scope="chip")["bank_byte"] == 8192.0
    assert memory(evaluate, scope="chip", capacity_byte=8 * 65536.0) == memory(evaluate) | {"scope": "chip"}


def test_ports_tags_and_use(evaluate: Evaluate) -> None:
    """Two ports take 1.5 times the cell, a cache 1.1 times; a byte in use five times its array."""
    plain, cache = memory(evaluate), memory(evaluate, level="l1", management="hardware")
    assert cache["area_mm2"] == pytest.approx(1.65 * plain["area_mm2"])
    bank = cache["area_mm2"] / 8
    assert cache["bank_j_per_byte"] == pytest.approx(5 * 2e-12 * (0.5 + 0.8 * bank**0.5))


BOARD = rules(memory_w_per_gbyte=0.0, memory_w_per_gbyte__HBM3=0.25)
PIECES = [{"silicon_piece": "a", "area_mm2": 300.0, "leakage_w": 8.0, "clocking_w": 10.0},
          {"silicon_piece": "b", "area_mm2": 100.0, "leakage_w": 4.0, "clocking_w": 10.0}]  # fmt: skip


@pytest.mark.parametrize(
    ("technology", "idle", "memory_w", "rest_w"),
    # 12 * 0.25, and 0.25 W for each of 8 GB if the memory is on the board.
    [("HBM3", None, 2.0, 5.0), ("DDR4", None, 0.0, 3.0), ("HBM3", 3.0, 2.0, 3.0)],
)
def test_rest(evaluate: Evaluate, technology: str, idle: float | None, memory_w: float, rest_w: float) -> None:
    """Leakage at the floor of the voltage and the memory, clocks gated; or the stated power."""
    (found,) = evaluate(
        "part_leakage", part_area=PIECES, part_silicon=[SILICON], part_rule=BOARD,
        part_memory=[{"level": "dram", "technology": technology, "capacity_byte": 8e9}],
        hardware_power=[{"mode": "default", "is_default": True, "idle_w": idle}],
    )  # fmt: skip
    assert (found["area_mm2"], found["side_mm"], found["leakage_w"], found["clocking_w"]) == (400.0, 20.0, 12.0, 20.0)
    assert (found["memory_w"], found["rest_w"]) == pytest.approx((memory_w, rest_w))
    assert found["is_stated"] == (idle is not None)


def test_accumulators_are_a_bank_of_each_array(evaluate: Evaluate) -> None:
    """8 arrays of 32 columns keep 512 results of 4 bytes, which are 64 KiB a bank; other rules count them with the array."""
    cluster = {"cluster": "mxu", "unit_count": 8, "array_columns": 32, "accumulator_rows": 512}
    given: dict[str, Any] = {"part_silicon": [SILICON], "part_cluster": [cluster]}
    assert evaluate("sram_energy", part_rule=SRAM, **given) == []
    (found,) = evaluate("sram_energy", part_rule=SRAM + rules(accumulator_byte=4.0), **given)
    assert (found["level"], found["scope"], found["bank_byte"]) == ("accumulator.mxu", "array", 65536.0)
    assert found["area_mm2"] == pytest.approx(8 * 65536 * 2e-7 / 0.35)
