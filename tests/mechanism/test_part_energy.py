"""Energies of a part's silicon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

FACTS: dict[str, Any] = {
    "hardware": {"family": "gpu", "architecture": "Ada AD102"},
    "part_silicon": {"circuit_j": 2e-12, "lift": 3.0, "confidence": "derived", "formula": "2 pJ"},
    "hardware_peak": [
        {"precision": "fp16", "unit": "matrix", "accumulator": "fp32", "peak_ops_per_s": 1e13},
        {"precision": "fp32", "unit": "vector", "accumulator": "fp32", "peak_ops_per_s": 1e12},
    ],
    "hardware_memory": [{"level": "dram", "technology": "HBM3"}],
    "sram_energy": [
        {"level": "l1", "scope": "unit", "lift": 5.0, "bank_j_per_byte": 7e-12, "bank_byte": 65536.0, "area_mm2": 1.0, "bank_count": 10.0},
        {"level": "l2", "scope": "chip", "lift": 2.0, "bank_j_per_byte": 3e-12, "bank_byte": 65536.0, "area_mm2": 1.0, "bank_count": 10.0},
    ],
    "part_leakage": {"area_mm2": 400.0, "side_mm": 20.0, "leakage_w": 10.0, "clocking_w": 14.0, "memory_w": 1.0},
    "hardware_power": {"mode": "default", "is_default": True, "tdp_w": 100.0},
    "part_rule": [
        {"quantity": "circuit_ratio", "row_key": "fp16", "value": 0.25, "confidence": "derived"},
        {"quantity": "circuit_ratio", "row_key": "fp32", "value": 1.0, "confidence": "paper"},
        {"quantity": "unit_factor", "row_key": "matrix", "value": 1.0, "confidence": "derived"},
        {"quantity": "unit_factor", "row_key": "vector", "value": 1.5, "confidence": "assumed"},
        {"quantity": "dram_pj_per_byte", "row_key": "*", "value": 160.0, "confidence": "paper"},
        {"quantity": "dram_pj_per_byte", "row_key": "HBM3", "value": 60.0, "confidence": "measured"},
        {"quantity": "link_wire_ratio_per_mm", "row_key": "*", "value": 0.4, "confidence": "derived"},
        {"quantity": "link_distance_fraction", "row_key": "*", "value": 0.25, "confidence": "assumed"},
    ],
}  # fmt: skip


def energies(evaluate: Callable[..., list[dict[str, Any]]], **changed: Any) -> dict[str, dict[str, Any]]:
    """Return the rows by the item they describe."""
    given = {name: rows if isinstance(rows, list) else [rows] for name, rows in (FACTS | changed).items()}
    return {f"{row['what']}.{row['key']}": row for row in evaluate("part_energy", **given)}


def test_by_the_silicon(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Ratio * lift * unit * circuit; main memory by its technology; a shared level takes 5 mm of wire more."""
    found = energies(evaluate)
    assert found["op.fp16.matrix"]["value"] == pytest.approx(0.25 * 3 * 1 * 2e-12)
    assert found["op.fp32.vector"]["value"] == pytest.approx(1 * 3 * 1.5 * 2e-12)
    assert "op.element" not in found
    assert found["byte.dram"]["value"] == pytest.approx(60e-12)
    assert found["byte.l1"]["value"] == pytest.approx(7e-12)
    assert found["byte.l2"]["value"] == pytest.approx(3e-12 + 2 * 2e-12 * 0.4 * 5)
    assert found["static.chip"]["value"] == pytest.approx(25.0)
    assert [found[key]["confidence"] for key in ("op.fp16.matrix", "op.fp32.vector")] == ["derived", "assumed"]


def test_an_element_of_a_gpu_takes_instructions(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """200 operations of 2 pJ, where a rule applies."""
    rule = {"quantity": "element_ratio", "row_key": "*", "value": 200.0, "confidence": "derived"}
    assert energies(evaluate, part_rule=[*FACTS["part_rule"], rule])["op.element"]["value"] == pytest.approx(4e-10)


def test_no_power_limit_enters_an_energy(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Half the limit, or none, changes nothing."""
    before = energies(evaluate)
    for limit in (50.0, None):
        assert energies(evaluate, hardware_power=FACTS["hardware_power"] | {"tdp_w": limit}) == before


@pytest.mark.parametrize(("idle", "watt"), [(None, 25.0), (7.0, 25.0), (40.0, 40.0)])
def test_static_power_is_at_least_what_is_stated_idle(
    evaluate: Callable[..., list[dict[str, Any]]], idle: float | None, watt: float
) -> None:
    """10 W of leakage, 14 of clocks and 1 of memory."""
    found = energies(evaluate, hardware_power=FACTS["hardware_power"] | {"idle_w": idle})
    assert found["static.chip"]["value"] == pytest.approx(watt)


def test_a_stated_energy_wins_at_the_board_alone(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Other energies follow from rules; chip-scope statements are not mixed with them."""
    stated = {"what": "op", "key": "fp16.matrix", "value": 9e-13, "scope": "board"}
    found = energies(evaluate, energy_profile=stated)
    assert found["op.fp16.matrix"]["value"] == 9e-13 and found["op.fp16.matrix"]["is_stated"]
    assert "byte.dram" in found
    assert energies(evaluate, energy_profile=stated | {"scope": "chip"}) == energies(evaluate)
