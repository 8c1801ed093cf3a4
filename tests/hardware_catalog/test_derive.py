"""Energy coefficients of the family rules, each against a calculation by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from charz.hardware_catalog import derive, loader
from charz.hardware_catalog.loader import Catalog
from charz.schema.catalog import EnergyProfile, HardwareProvenance


def test_tdp_closure(catalog: Catalog, write_part: Callable[..., Path]) -> None:
    rows = loader.load_part(write_part(), catalog)
    joule = {(row.what, row.key): row for row in rows[EnergyProfile] if isinstance(row, EnergyProfile)}

    # static: 0.25 * 40 W; DRAM: 100 GB/s at 72 pJ a byte (LPDDR5, e039) is 7.2 W, half of it busy;
    # arithmetic: 0.85 of the rest at the fp16 matrix peak
    assert joule["static", "chip"].value == pytest.approx(10.0)
    assert joule["byte", "dram"].value == pytest.approx(72e-12)
    budget = 0.85 * (40.0 - 10.0 - 3.6)
    assert joule["op", "fp16.matrix"].value == pytest.approx(budget / 1.024e13)
    # on the vector lanes 2.7 / 0.28 times as much, but no more than the budget allows
    assert joule["op", "fp32.vector"].value == pytest.approx(min(2.7 / 0.28 * budget / 1.024e13, budget / 2.56e12))
    assert {row.scope for row in joule.values()} == {"board"}


def test_unknown_tdp_leaves_no_closure(catalog: Catalog, write_part: Callable[..., Path]) -> None:
    path = write_part({"    tdp_w: {value: 40, unit: W, source: assumption, confidence: assumed}\n": ""})
    rows = loader.load_part(path, catalog)
    joule = {(row.what, row.key): row for row in rows[EnergyProfile] if isinstance(row, EnergyProfile)}

    # fp32 at 7 nm is 1.8 pJ on a vector lane (e215), 1.8 / 2.7 in a matrix unit; no node means 7 nm
    assert joule["op", "fp16.matrix"].value == pytest.approx(0.28 * 1.8e-12 / 2.7)
    # the closure read backwards, DRAM half busy at 7.2 W, static 0.25 of the sum
    dynamic = 0.28 * 1.8e-12 / 2.7 * 1.024e13 / 0.85 + 7.2 / 2
    assert joule["static", "chip"].value == pytest.approx(dynamic * 0.25 / 0.75)
    assert "TDP unknown" in joule["static", "chip"].formula


def test_implied_power_is_near_a_known_tdp(catalog: Catalog, tmp_path: Path) -> None:
    """TPU v4 without its TDP of 192 W: (47.7 / 0.85 + 65.5) / 0.53 = 229 W."""
    text = (loader.ROOT / "parts/tpu/tpu_v4.yaml").read_text().replace("id: tpu_v4\n", "id: tpu_v4_copy\n")
    path = tmp_path / "tpu_v4_copy.yaml"
    path.write_text("".join(line for line in text.splitlines(keepends=True) if "tdp_w" not in line))
    rows = loader.load_part(path, catalog)
    joule = {(row.what, row.key): row for row in rows[EnergyProfile] if isinstance(row, EnergyProfile)}

    arithmetic = 275e12 * 0.26 * 1.8e-12 / 2.7
    assert joule["static", "chip"].value == pytest.approx(
        0.47 / 0.53 * (arithmetic / 0.85 + 1.2e12 * 109.12e-12 / 2), rel=1e-3
    )
    assert joule["static", "chip"].value / 0.47 == pytest.approx(192, rel=0.2)


def test_newer_stacked_memory_moves_a_byte_for_less() -> None:
    path = derive.DRAM_PATH_J_PER_BYTE
    assert path["HBM3"] == pytest.approx(109.12e-12 * 5.5 / 6.5, rel=1e-3)  # e044 * e234 / e233
    assert path["HBM3e"] == pytest.approx(109.12e-12 * 5.0 / 6.5, rel=1e-3)  # e044 * e235 / e233


def test_memory_that_would_take_the_whole_tdp_is_limited(catalog: Catalog, write_part: Callable[..., Path]) -> None:
    rows = loader.load_part(
        write_part({"technology: LPDDR5": "technology: GDDR6", "tdp_w: {value: 40": "tdp_w: {value: 30"}), catalog
    )
    joule = {(row.what, row.key): row for row in rows[EnergyProfile] if isinstance(row, EnergyProfile)}
    assert joule["byte", "dram"].value == pytest.approx(0.45 * 30.0 / 1e11)


@pytest.mark.parametrize(
    ("part", "place", "value"),
    [
        ("kpu_t64", "energy.op.int8.matrix", 0.05e-12),
        ("tpu_v7x", "energy.byte.dram", 83.94e-12),
        # (2.307e15 * 0.26 * 1.2 / 2.7 pJ / 0.85 + 7.4e12 * 83.94 pJ / 2) * 0.47 / 0.53
        ("tpu_v7x", "energy.static.chip", (266.59 / 0.85 + 310.58) * 0.47 / 0.53),
        ("tpu_v3", "energy.static.chip", 0.47 * 262),
    ],
)
def test_rules_on_shipped_parts(catalog: Catalog, part: str, place: str, value: float) -> None:
    numbers = {
        row.field: row.catalog_value
        for row in catalog.rows[HardwareProvenance]
        if isinstance(row, HardwareProvenance) and row.hardware == part
    }
    assert numbers[place] == pytest.approx(value, rel=1e-4)
