"""Energies of a part's silicon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SILICON: dict[str, Any] = {
    "circuit_j": 2e-12, "lift": 3.0, "confidence": "derived", "static_fraction": 0.25, "unit_static_w": None,
    "busy_memory_fraction": 0.5, "formula": "2 pJ",
}  # fmt: skip
FACTS: dict[str, Any] = {
    "hardware": {"family": "gpu", "architecture": "Ada AD102"}, "part_silicon": SILICON,
    "hardware_peak": [
        {"precision": "fp16", "unit": "matrix", "accumulator": "fp32", "peak_ops_per_s": 1e13},
        {"precision": "fp32", "unit": "vector", "accumulator": "fp32", "peak_ops_per_s": 1e12},
    ],
    "hardware_memory": [{"level": "dram", "technology": "HBM3"}, {"level": "l2", "technology": "SRAM"}],
    "part_level": {"dram_byte_per_s": 1e12}, "part_unit": {"unit_count": 10.0},
    "hardware_power": {"mode": "default", "is_default": True, "tdp_w": 100.0},
    "part_rule": [
        {"quantity": "circuit_ratio", "row_key": "fp16", "value": 0.25, "confidence": "derived"},
        {"quantity": "circuit_ratio", "row_key": "fp32", "value": 1.0, "confidence": "paper"},
        {"quantity": "unit_factor", "row_key": "matrix", "value": 1.0, "confidence": "derived"},
        {"quantity": "unit_factor", "row_key": "vector", "value": 1.5, "confidence": "assumed"},
        {"quantity": "dram_pj_per_byte", "row_key": "*", "value": 160.0, "confidence": "paper"},
        {"quantity": "dram_pj_per_byte", "row_key": "HBM3", "value": 60.0, "confidence": "measured"},
        {"quantity": "byte_ratio", "row_key": "l2", "value": 4.0, "confidence": "derived"},
    ],
}  # fmt: skip


def energies(evaluate: Callable[..., list[dict[str, Any]]], **changed: Any) -> dict[str, dict[str, Any]]:
    """Rows by what they are of."""
    given = {name: rows if isinstance(rows, list) else [rows] for name, rows in (FACTS | changed).items()}
    return {f"{row['what']}.{row['key']}": row for row in evaluate("part_energy", **given)}


def test_by_the_silicon(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Ratio * lift * unit * circuit, memory by its technology, static power as a share of the limit."""
    found = energies(evaluate)
    assert found["op.fp16.matrix"]["value"] == pytest.approx(0.25 * 3 * 1 * 2e-12)
    assert found["op.fp32.vector"]["value"] == pytest.approx(1 * 3 * 1.5 * 2e-12)
    assert found["byte.dram"]["value"] == pytest.approx(60e-12)
    assert found["byte.l2"]["value"] == pytest.approx(4 * 2e-12)
    assert found["static.chip"]["value"] == 25.0
    assert [found[key]["confidence"] for key in ("op.fp16.matrix", "op.fp32.vector")] == ["derived", "assumed"]


def test_no_power_limit_enters_an_energy(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Half the limit halves nothing but the static share."""
    power = {"mode": "default", "is_default": True, "tdp_w": 50.0}
    before, after = energies(evaluate), energies(evaluate, hardware_power=power)
    changed = {key for key, row in after.items() if row["value"] != before[key]["value"]}
    assert changed == {"static.chip"}


@pytest.mark.parametrize(
    ("power", "silicon", "watt"),
    [
        ({"idle_w": 7.0, "tdp_w": 100.0}, {"unit_static_w": 3.0}, 7.0),
        ({"tdp_w": 100.0}, {"unit_static_w": 3.0}, 30.0),
        # 1e13 * 1.5 pJ = 15 W of arithmetic, 30 W of half-busy memory, of which a third is added.
        ({"tdp_w": None}, {}, 15.0),
    ],
)
def test_static_power(
    evaluate: Callable[..., list[dict[str, Any]]], power: dict[str, Any], silicon: dict[str, Any], watt: float
) -> None:
    """Stated, of the die, or what the work leaves."""
    row = {"mode": "default", "is_default": True} | power
    found = energies(evaluate, hardware_power=row, part_silicon=SILICON | silicon)
    assert found["static.chip"]["value"] == pytest.approx(watt)


def test_a_stated_energy_wins(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Others follow from rules, unless the part states energies of another scope."""
    stated = {"what": "op", "key": "fp16.matrix", "value": 9e-13, "scope": "board"}
    found = energies(evaluate, energy_profile=stated)
    assert found["op.fp16.matrix"]["value"] == 9e-13 and found["op.fp16.matrix"]["is_stated"]
    assert "byte.dram" in found
    assert energies(evaluate, energy_profile=stated | {"scope": "chip"}).keys() == {"op.fp16.matrix"}
