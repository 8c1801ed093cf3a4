"""Loading of the shipped catalog, and of a user's single parts, into table rows.

The catalog is data: one YAML file per part under `parts/`, one CSV file per uniform table under `tables/`. Loading applies every lint;
a fault is an error. Views of `sql/1_hardware` derive further numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from charz.schema import database, range_rules
from charz.schema.catalog.efficiency import FIRST_OWN_ID, Efficiency
from charz.schema.catalog.energy import EnergyProfile
from charz.schema.catalog.part import Hardware, HardwareAlias, ShippedPart, UsualHost
from charz.schema.catalog.price import ListPrice, Price
from charz.schema.catalog.provenance import HardwareConflict, HardwareProvenance, NumberRule
from charz.schema.catalog.source import Source
from charz.schema.row import Row

from . import lints, part_file, table_lints, uniform
from .part import ENERGY_UNITS, SECTIONS, Part
from .problem import CatalogError, Problem

ROOT = Path(__file__).parent

_KEY_COLUMNS = {
    "cluster": "cluster",
    "memory": "level",
    "power": "mode",
    "overhead": "overhead",
    "interconnect": "interconnect",
    "mesh": "mesh",
}


@dataclass(slots=True)
class Catalog:
    """Rows of every catalog table, and the catalog's version."""

    rows: dict[type[Row], list[Row]] = field(default_factory=dict)
    version: str = ""
    """SHA-256 of the catalog's files."""

    def parts(self) -> list[Hardware]:
        """Return all parts, as rows of `hardware`."""
        return [row for row in self.rows.get(Hardware, []) if isinstance(row, Hardware)]


def load(root: Path | None = None) -> Catalog:
    """Load the catalog under `root`, by default the shipped one.

    Raises:
        CatalogError: a file cannot be read or breaks a lint; every fault is listed.
    """
    root = root or ROOT
    files = sorted(root.glob("tables/*.csv")) + sorted(root.glob("parts/*/*.yaml"))
    catalog = Catalog(version=_content_hash(root, files))
    problems: list[Problem] = []
    parts: list[Part] = []
    for path in files:
        try:
            if path.suffix == ".csv":
                catalog.rows[uniform.TYPES[path.stem]] = uniform.read(path)
            else:
                parts.append(part_file.read(path))
        except CatalogError as error:
            problems += error.problems
    if problems:
        raise CatalogError(problems)
    catalog.rows[NumberRule] = list(number_rules())
    known = {part.hardware for part in parts}
    problems = lints.check_parts(parts, catalog.rows) + table_lints.check_tables(known, catalog.rows)
    if problems:
        raise CatalogError(problems)
    for part in parts:
        _add(catalog.rows, rows_of(part, origin="charz"))
    catalog.rows[HardwareProvenance] += _row_provenance(catalog)
    return catalog


def load_part(path: Path, catalog: Catalog | None = None) -> dict[type[Row], list[Row]]:
    """Load the rows of a user's part, checked by the same lints as shipped ones.

    Raises:
        CatalogError: the file cannot be read or breaks a lint; every fault is listed.
    """
    catalog = catalog or load()
    part, problems = part_file.parsed(path)
    problems += lints.further(part, problems, catalog.rows)
    if problems:
        raise CatalogError(problems)
    return rows_of(part, origin="user")


def number_rules() -> Iterator[Row]:
    """Yield the possible and plausible ranges of every number in the fact tables, from their columns' declarations."""
    for row_type in database.FACTS:
        for said in range_rules.ranges(row_type):
            yield NumberRule(
                kind=range_rules.kind(row_type), quantity=said.quantity, row_kind=said.of, of_family=said.family,
                least=said.possible.least, most=said.possible.most,
                plausible_least=said.plausible.least, plausible_most=said.plausible.most,
                is_needed=said.plausible.is_needed,
            )  # fmt: skip


def columns_of(row_type: type[Row], rows: Iterable[Row]) -> dict[str, list[Any]]:
    """Convert rows to columns for bulk insertion."""
    rows = list(rows)
    return {name: [getattr(row, name) for row in rows] for name in row_type.model_fields}


def rows_of(part: Part, origin: str) -> dict[type[Row], list[Row]]:
    """Make the rows of one complete part, by table."""
    rows: dict[type[Row], list[Row]] = {}
    for section, row_type in SECTIONS.items():
        if section == "hardware":
            made: list[Row] = [Hardware(hardware=part.hardware, origin=origin, **_hardware_columns(part))]
        else:
            made = [row_type(**_columns(part, section, key)) for key in part.section(section)]
        rows[row_type] = made
    rows[ShippedPart] = [_shipped(part)]
    rows[Source] = [*part.sources]
    rows[HardwareAlias] = [HardwareAlias(alias=alias, hardware=part.hardware) for alias in part.aliases]
    rows[HardwareConflict] = [HardwareConflict(hardware=part.hardware, **entry) for entry in part.conflicts]
    rows[HardwareProvenance] = [
        HardwareProvenance(
            hardware=part.hardware, field=place, catalog_value=float(number.value), unit=number.unit,
            source_id=number.source, confidence=number.confidence, formula=number.formula, note=number.note,
        )
        for place, number in part.numbers.items()
        if number.value is not None
    ]  # fmt: skip
    rows[HardwareProvenance] += [
        HardwareProvenance(
            hardware=part.hardware, field=f"energy.{what}.{key}", catalog_value=energy.value,
            unit=ENERGY_UNITS[what], source_id=energy.source, confidence=energy.confidence,
            formula=energy.formula, note=f"scope: {part.energy_scope}",
        )
        for (what, key), energy in part.energy.items()
    ]  # fmt: skip
    rows[Efficiency] = [
        Efficiency(
            efficiency_id=FIRST_OWN_ID + i, scope=f"hardware:{part.hardware}", backend="*", kernel_class="*", operator_name="*",
            precision_class="*", memory_format="*", resource=resource, maximum_fraction=number.value, half_work=0.0,
            source_id=number.source, confidence=number.confidence, note=number.note,
        )
        for i, (resource, number) in enumerate(part.efficiency.items())
        if number.value is not None
    ]  # fmt: skip
    rows[EnergyProfile] = [
        EnergyProfile(
            hardware=part.hardware, what=what, key=key, value=energy.value, scope=part.energy_scope,
            source_id=energy.source, confidence=energy.confidence, formula=energy.formula,
        )
        for (what, key), energy in part.energy.items()
    ]  # fmt: skip
    return rows


def _hardware_columns(part: Part) -> dict[str, Any]:
    columns = dict.fromkeys(Hardware.model_fields.keys() - {"hardware", "origin"})
    return columns | part.rows["hardware"]["hardware"]


def _shipped(part: Part) -> ShippedPart:
    return ShippedPart(
        hardware=part.hardware,
        architecture=part.text("architecture"),
        dram_byte_per_s=part.value("memory.dram.bandwidth_byte_per_s"),
        unit_ops_per_s=_unit_rate(part),
        unit_count=sum(row["unit_count"] for row in part.section("cluster").values()) or None,
        unit_l1_byte=_unit_capacity(part, "l1"),
        unit_l2_byte=_unit_capacity(part, "l2"),
    )


def _unit_rate(part: Part) -> float | None:
    """Compute a unit's dense half-precision peak on matrix units with single-precision accumulation; None without one. [ops/s]"""
    rates = [
        row.get("peak_ops_per_s") or max(lints.expected_peaks(part, key), default=None)
        for key, row in part.section("peak").items()
        if (row["precision"], row["unit"], row["accumulator"]) == ("fp16", "matrix", "fp32")
    ]
    most = max((row["unit_count"] for row in part.section("cluster").values()), default=0)
    return max((rate / most for rate in rates if rate and most), default=None)


def _unit_capacity(part: Part, level: str) -> float | None:
    """Return the capacity of a level that each unit has for itself; None without one. [byte]"""
    row = part.section("memory").get(level, {})
    return row.get("capacity_byte") if row.get("scope") == "unit" else None


def _columns(part: Part, section: str, key: str) -> dict[str, Any]:
    row_type = SECTIONS[section]
    columns = dict.fromkeys(row_type.model_fields) | part.section(section)[key]
    columns["hardware"] = part.hardware
    if section in _KEY_COLUMNS:
        columns[_KEY_COLUMNS[section]] = key
    return columns


def _row_provenance(catalog: Catalog) -> Iterator[HardwareProvenance]:
    for row in catalog.rows.get(Price, []):
        if isinstance(row, Price):
            yield HardwareProvenance(
                hardware=row.hardware, field="price.price_usd_per_hour", catalog_value=row.price_usd_per_hour,
                unit="USD/h", source_id=row.source_id, confidence=row.confidence, formula=None, note=f"as of {row.dated}",
            )  # fmt: skip
    for row in catalog.rows.get(ListPrice, []):
        if isinstance(row, ListPrice):
            yield HardwareProvenance(
                hardware=row.hardware, field="list_price.list_price_usd", catalog_value=row.list_price_usd, unit="USD",
                source_id=row.source_id, confidence=row.confidence, formula=None, note=f"{row.sold_as}, as of {row.dated}",
            )  # fmt: skip
    for row in catalog.rows.get(UsualHost, []):
        if isinstance(row, UsualHost):
            yield HardwareProvenance(
                hardware=row.hardware, field="usual_host.dispatch_ratio", catalog_value=row.dispatch_ratio, unit="ratio",
                source_id=row.source_id, confidence=row.confidence, formula=None, note=row.name,
            )  # fmt: skip


def _add(into: dict[type[Row], list[Row]], rows: dict[type[Row], list[Row]]) -> None:
    for row_type, more in rows.items():
        into.setdefault(row_type, []).extend(more)


def _content_hash(root: Path, files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    digest.update(repr(list(number_rules())).encode())
    return digest.hexdigest()
