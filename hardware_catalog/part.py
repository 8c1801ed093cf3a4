"""A part before it becomes rows: the numbers of one YAML file, each with its provenance.

A part has sections (`cluster`, `memory`, `peak`, `power`, `overhead`, `interconnect`, `mesh`), each a mapping from a row key to
columns. The names are those of the tables in `charz.schema.catalog.part`, so a number has the same field, e.g.
`memory.dram.bandwidth_byte_per_s`, in the file, in the database and in a message.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from charz.schema.catalog.part import (
    Hardware,
    HardwareCluster,
    HardwareInterconnect,
    HardwareMemory,
    HardwareMesh,
    HardwareOverhead,
    HardwarePeak,
    HardwarePower,
)
from charz.schema.catalog.source import Source
from charz.schema.row import Row

SECTIONS: dict[str, type[Row]] = {
    "hardware": Hardware,
    "cluster": HardwareCluster,
    "memory": HardwareMemory,
    "peak": HardwarePeak,
    "power": HardwarePower,
    "overhead": HardwareOverhead,
    "interconnect": HardwareInterconnect,
    "mesh": HardwareMesh,
}
"""Table that each section of a part file fills."""

ORDINALS = {"cluster_rank", "derived_matrix_hz", "derived_byte_per_s", "derived_ops_per_s", "is_default"}
"""Columns that order a row or give the reference of a stated ratio; they need no source."""


ENERGY_UNITS = {"op": "J/op", "byte": "J/byte", "static": "W"}
"""Unit of each kind of energy coefficient."""

EFFICIENCIES = {
    "matrix": "Share of the rate of its tiles that a large kernel on the matrix units reaches",
    "vector": "Share of the vector units' peak that a large kernel reaches",
    "memory": "Share of the peak bandwidth of main memory that a large kernel reaches",
    "overlap": "Share of the shorter of arithmetic and memory time that overlaps the longer",
}
"""Resources of `efficiency` whose share a part file can state, for every backend and kernel class."""


@dataclass(slots=True)
class Number:
    """A value with its provenance, in SI units."""

    value: float | int | None
    unit: str
    source: str
    confidence: str
    formula: str | None = None
    note: str | None = None


@dataclass(slots=True)
class EnergyCoefficient:
    """A row of the energy profile: joules per operation or byte, or the static power in watts."""

    value: float
    source: str
    confidence: str
    formula: str


@dataclass(slots=True)
class Part:
    """One part: rows by section and key, and the provenance of each number by its field."""

    hardware: str
    path: Path
    rows: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    numbers: dict[str, Number] = field(default_factory=dict)
    peak_operations: dict[str, dict[str, float]] = field(default_factory=dict)
    """Operations per clock of each cluster, for a peak that is the sum over several clusters."""
    energy: dict[tuple[str, str], EnergyCoefficient] = field(default_factory=dict)
    energy_scope: str = ""
    efficiency: dict[str, Number] = field(default_factory=dict)
    """Share of the peak that kernels reach, by resource (`EFFICIENCIES`)."""
    conflicts: list[dict[str, str]] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    """Documents described in the part's own file."""

    def text(self, column: str) -> str:
        """Return a text column of the `hardware` row, e.g. `family`; empty if the file omits it."""
        return str(self.rows["hardware"]["hardware"].get(column) or "")

    def value(self, place: str) -> float | None:
        """Return the number at `place`; None if unknown or absent."""
        number = self.numbers.get(place)
        return None if number is None or number.value is None else float(number.value)

    def set(self, section: str, key: str, column: str, number: Number) -> None:
        """Set a number in its row and record its provenance."""
        self.rows.setdefault(section, {}).setdefault(key, {})[column] = number.value
        place = f"{section}.{column}" if section == "hardware" else f"{section}.{key}.{column}"
        self.numbers[place] = number

    def section(self, name: str) -> dict[str, dict[str, Any]]:
        """Return the rows of a section by key."""
        return self.rows.setdefault(name, {})


def numeric_columns(section: str) -> frozenset[str]:
    """Return the numeric columns of a section's table, which need a source."""
    return _NUMERIC[section]


def integer_columns(section: str) -> frozenset[str]:
    """Return the integer columns of a section's table."""
    return _INTEGER[section]


def required_columns(section: str) -> frozenset[str]:
    """Return the numeric columns of a section's table that may not be null."""
    return _REQUIRED[section]


def unit_of(column: str) -> str:
    """Return the unit of a column from its suffix; `count` if its suffix has none."""
    suffixes = (
        ("_byte_per_s", "byte/s"), ("_ops_per_s", "ops/s"), ("_j_per_byte", "J/byte"), ("_hz", "Hz"), ("_byte", "byte"), ("_nm", "nm"),
        ("_fraction", "fraction"), ("_w", "W"), ("_s", "s"), ("per_clock_per_unit", "ops"), ("year", "year"),
    )  # fmt: skip
    return next((unit for suffix, unit in suffixes if column.endswith(suffix)), "count")


def _columns_of(section: str, kinds: tuple[str, ...]) -> frozenset[str]:
    return frozenset(
        name
        for name, info in SECTIONS[section].model_fields.items()
        if name not in ORDINALS and str(info.annotation).removeprefix("<class '").rstrip("'>").split(" |")[0] in kinds
    )


_NUMERIC = {section: _columns_of(section, ("int", "float")) for section in SECTIONS}
_REQUIRED = {
    section: frozenset(
        name for name in _NUMERIC[section] if SECTIONS[section].model_fields[name].annotation in (int, float)
    )
    for section in SECTIONS
}
_INTEGER = {section: _columns_of(section, ("int",)) for section in SECTIONS}
