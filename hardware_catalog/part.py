"""A part as the catalog works on it: the numbers of one YAML file, each with its provenance, before
they become rows.

A part has sections (`cluster`, `memory`, `peak`, `power`, `overhead`, `interconnect`, `mesh`), each a mapping
from a row key to columns. The names are those of the tables in `charz.schema.catalog`, so a number's
place, e.g. `memory.dram.bandwidth_byte_per_s`, is the same in the file, in the database and in a
message.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from charz.schema.catalog import (
    Hardware,
    HardwareCluster,
    HardwareInterconnect,
    HardwareMemory,
    HardwareMesh,
    HardwareOverhead,
    HardwarePeak,
    HardwarePower,
    Source,
)
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
"""Section of a part file to the table it fills."""

ORDINALS = {"cluster_rank", "derived_matrix_hz", "derived_byte_per_s", "derived_ops_per_s", "is_default"}
"""Columns that place a row, or say what a stated number is a ratio to; they need no source."""


ENERGY_UNITS = {"op": "J/op", "byte": "J/byte", "static": "W"}
"""Kinds of energy coefficient, with the unit of each."""


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
    """A row of the energy profile: joule an operation or a byte, or the static power in watt."""

    value: float
    source: str
    confidence: str
    formula: str


@dataclass(slots=True)
class Part:
    """One part: rows by section and key, the provenance of each number by its place."""

    hardware: str
    path: Path
    rows: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    numbers: dict[str, Number] = field(default_factory=dict)
    peak_operations: dict[str, dict[str, float]] = field(default_factory=dict)
    """Operations a clock of each cluster, for a peak that several clusters add up to."""
    energy: dict[tuple[str, str], EnergyCoefficient] = field(default_factory=dict)
    energy_scope: str = ""
    conflicts: list[dict[str, str]] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    """Documents that the part's own file names."""

    def text(self, column: str) -> str:
        """Text column of the `hardware` row, e.g. `family`; empty when the file leaves it out."""
        return str(self.rows["hardware"]["hardware"].get(column) or "")

    def value(self, place: str) -> float | None:
        """Value of the number at `place`, null when it is unknown or absent."""
        number = self.numbers.get(place)
        return None if number is None or number.value is None else float(number.value)

    def set(self, section: str, key: str, column: str, number: Number) -> None:
        """Put a number in its row and keep its provenance."""
        self.rows.setdefault(section, {}).setdefault(key, {})[column] = number.value
        place = f"{section}.{column}" if section == "hardware" else f"{section}.{key}.{column}"
        self.numbers[place] = number

    def section(self, name: str) -> dict[str, dict[str, Any]]:
        """Rows of a section by key."""
        return self.rows.setdefault(name, {})


def numeric_columns(section: str) -> frozenset[str]:
    """Columns of a section's table that hold a number and so need a source."""
    return _NUMERIC[section]


def integer_columns(section: str) -> frozenset[str]:
    """Columns of a section's table that count."""
    return _INTEGER[section]


def required_columns(section: str) -> frozenset[str]:
    """Numeric columns of a section's table that may not be null."""
    return _REQUIRED[section]


def unit_of(column: str) -> str:
    """Unit a column's values are in: what its suffix says, `fraction` or `count` without one."""
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
