"""Fixtures of the catalog's tests: the shipped catalog, read once, and a small valid part."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from charz.hardware_catalog import loader
from charz.hardware_catalog.loader import Catalog
from charz.session import workspace

SMALL_PART = """\
schema: charz.hardware/1
id: small_gpu
name: Small GPU
vendor: nobody
family: gpu
market: edge
status: announced
architecture: Small
form_factor: PCIe
cluster:
  sm:
    kind: simt
    unit_count: {value: 10, unit: count, source: assumption, confidence: assumed}
    lanes: {value: 128, unit: count, source: assumption, confidence: assumed}
    clock_boost_hz: {value: 1.0e+9, unit: Hz, source: assumption, confidence: assumed}
memory:
  l2:
    scope: chip
    management: hardware
    capacity_byte: {value: 4194304, unit: byte, source: assumption, confidence: assumed}
  dram:
    scope: chip
    management: software
    technology: LPDDR5
    capacity_byte: {value: 8589934592, unit: byte, source: assumption, confidence: assumed}
    bandwidth_byte_per_s: {value: 1.0e+11, unit: byte/s, source: assumption, confidence: assumed}
peak:
  - precision: fp16
    unit: matrix
    accumulator: fp32
    cluster: sm
    peak_ops_per_s: {value: 1.024e+13, unit: ops/s, source: assumption, confidence: assumed}
    ops_per_clock_per_unit: {value: 1024, unit: ops, source: assumption, confidence: assumed}
power:
  default:
    is_default: true
    tdp_w: {value: 40, unit: W, source: assumption, confidence: assumed}
    clock_fraction: {value: 1, unit: fraction, source: assumption, confidence: assumed}
"""


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """Shipped catalog."""
    return loader.load()


@pytest.fixture(scope="session")
def shipped() -> Iterator[duckdb.DuckDBPyConnection]:
    """Database with the shipped catalog and no model."""
    connection = workspace.empty()
    yield connection
    connection.close()


@pytest.fixture(scope="session")
def small_part() -> str:
    """Text of the small part."""
    return SMALL_PART


@pytest.fixture
def write_part(tmp_path: Path) -> Callable[..., Path]:
    """Function that writes the small part with pieces of its text replaced, and more appended."""

    def write(replace: dict[str, str] | None = None, append: str = "") -> Path:
        text = SMALL_PART
        for old, new in (replace or {}).items():
            assert old in text, f"not in the small part: {old}"
            text = text.replace(old, new)
        path = tmp_path / "small_gpu.yaml"
        path.write_text(text + textwrap.dedent(append))
        return path

    return write
