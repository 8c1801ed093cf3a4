"""Reading of a part's YAML file. Every number in it is a leaf `{value, unit, source, confidence}`, with `formula` for a derived one and an
optional `note`."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from charz.schema import ddl
from charz.schema.catalog.source import Source
from charz.schema.units import in_si, multiples, to_si

from . import document
from .part import (
    EFFICIENCIES,
    ENERGY_UNITS,
    SECTIONS,
    EnergyCoefficient,
    Number,
    Part,
    integer_columns,
    numeric_columns,
)
from .problem import CatalogError, Problem

SCHEMA = "charz.hardware/1"
"""Value of `schema` in a part file; raised when the format changes."""

NAME = re.compile(r"[a-z0-9_]{1,64}")
"""Names of parts, of their rows and of their sources: none leads to another folder, is read as code, or looks like another."""

NAME_REMEDY = "1 to 64 of a-z, 0-9 and _"

MOST_ALIAS_LETTERS = 120

_LEAF = {"value", "unit", "source", "confidence", "formula", "note"}
_TOP = {"schema", "id", "aliases", "conflicts", "efficiency", "energy", "energy_scope", "sources", *SECTIONS} | set(
    SECTIONS["hardware"].model_fields
)
_TEXT = set(SECTIONS["hardware"].model_fields) - numeric_columns("hardware") - {"hardware", "origin"}
_OPTIONAL_TEXT = {"compute_capability", "dataflow", "note"}
_KINDS = {name: {c.name: c.python_type for c in ddl.columns(row_type)} for name, row_type in SECTIONS.items()}
_WRITTEN_AS = {
    str: "write it as text, in quotes",
    bool: "write true or false",
    int: "write a whole number",
    float: "write a number",
}


def is_name(text: object) -> bool:
    """Return True if a text is a valid name of a part, of one of its rows or of a source."""
    return isinstance(text, str) and NAME.fullmatch(text) is not None


def read(path: Path) -> Part:
    """Read the part in the file at `path`.

    Raises:
        CatalogError: the file cannot be read or is not in a part's format; one line per fault.
    """
    part, problems = parsed(path)
    if problems:
        raise CatalogError(problems)
    return part


def parsed(path: Path) -> tuple[Part, list[Problem]]:
    """Read as much of the part in the file at `path` as can be read, and return it with every fault of the format.

    Raises:
        CatalogError: the file does not contain a mapping.
    """
    content = document.read(path)
    if not isinstance(content, dict):
        raise CatalogError([Problem(path, "-", "not a mapping", f"start with `schema: {SCHEMA}` and `id: NAME`")])
    reader = _Reader(path)
    return reader.part(content), reader.problems


class _Reader:
    """A reader that converts one document to a part and collects every fault."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[Problem] = []

    def part(self, content: dict[str, Any]) -> Part:
        if content.get("schema") != SCHEMA:
            self.fault("schema", content.get("schema"), f"write `schema: {SCHEMA}`")
        self.name("id", content.get("id"), "give the part a name, form factor and memory included: ")
        for name in content.keys() - _TOP:
            self.fault(name, content[name], f"unknown field; known: {', '.join(sorted(_TOP))}")
        part = Part(str(content.get("id")), self.path)
        self.top(part, content)
        for section in SECTIONS.keys() - {"hardware", "peak"}:
            self.section(part, section, content.get(section) or {})
        for rank, row in enumerate(part.section("cluster").values()):
            row.setdefault("cluster_rank", rank)
        self.peaks(part, content.get("peak") or [])
        part.aliases = self.aliases(content.get("aliases") or [])
        self.conflicts(part, content.get("conflicts") or [])
        self.energy(part, content.get("energy") or {})
        self.efficiency(part, content.get("efficiency") or {})
        part.energy_scope = str(content.get("energy_scope") or "")
        part.sources = self.sources(content.get("sources") or {})
        return part

    def name(self, place: str, name: object, remedy: str = "") -> None:
        """Check a name against `NAME`, since files, columns and statements use it."""
        if not is_name(name):
            self.fault(place, None if name is None else repr(name), f"{remedy}{NAME_REMEDY}")

    def aliases(self, names: object) -> list[str]:
        """Check the part's other names: texts of one line."""
        if isinstance(names, list) and all(isinstance(name, str | int | float) for name in names):
            found = [str(name) for name in names]
            if all(name.isprintable() and 0 < len(name) <= MOST_ALIAS_LETTERS for name in found):
                return found
        self.fault("aliases", names, f"write a list of names, each of 1 to {MOST_ALIAS_LETTERS} printable letters")
        return []

    def sources(self, sources: object) -> list[Source]:
        """Read the part's own documents: `my_datasheet: {kind: vendor_doc, locator: ..., what: ...}`."""
        remedy = "write e.g. my_datasheet: {kind: vendor_doc, locator: title and address, what: summary}"
        if not isinstance(sources, dict):
            self.fault("sources", sources, remedy)
            return []
        found = []
        for source_id, columns in sources.items():
            self.name(f"sources.{source_id}", source_id)
            try:
                found.append(Source(**{"licence": None, **columns, "source_id": str(source_id)}))
            except (TypeError, ValueError):
                self.fault(f"sources.{source_id}", columns, remedy)
        return found

    def top(self, part: Part, content: dict[str, Any]) -> None:
        row = part.section("hardware").setdefault("hardware", {})
        for column in _TEXT:
            value = content.get(column)
            if value is not None and not isinstance(value, str):
                self.fault(column, value, f'write it as text: {column}: "{value}"')
            elif value is None and column not in _OPTIONAL_TEXT:
                self.fault(column, None, "every part states it")
            row[column] = value
        for column in numeric_columns("hardware"):
            if content.get(column) is not None:
                self.number(part, "hardware", "hardware", column, content[column])

    def section(self, part: Part, section: str, rows: object) -> None:
        if not isinstance(rows, dict):
            self.fault(section, rows, "write a mapping from the row's name to its columns")
            return
        for key, columns in rows.items():
            self.row(part, section, str(key), columns)

    def row(self, part: Part, section: str, key: str, columns: object) -> None:
        place = f"{section}.{key}"
        for word in key.split(".") if section == "peak" else [key]:
            self.name(place, word)
        if not isinstance(columns, dict):
            self.fault(place, columns, "write a mapping from column to value")
            return
        known = SECTIONS[section].model_fields
        part.section(section).setdefault(key, {})
        for column, value in columns.items():
            if column not in known:
                self.fault(f"{place}.{column}", value, f"unknown column; known: {', '.join(known)}")
            elif column in numeric_columns(section):
                self.number(part, section, key, column, value)
            else:
                part.section(section)[key][column] = self.word(f"{place}.{column}", _KINDS[section][column], value)

    def word(self, place: str, kind: type, value: object) -> object:
        """Check a value that needs no source: text, true or false, or a place in an order."""
        if value is None or type(value) is kind or (kind is float and type(value) is int):
            return value
        self.fault(place, repr(value), _WRITTEN_AS[kind])
        return None

    def peaks(self, part: Part, peaks: object) -> None:
        if not isinstance(peaks, list):
            self.fault("peak", peaks, "write a list of peaks")
            return
        for index, peak in enumerate(peaks):
            if not isinstance(peak, dict) or not {"precision", "unit"} <= peak.keys():
                self.fault(f"peak[{index}]", peak, "give it precision and unit")
                continue
            if not {"peak_ops_per_s", "ops_per_clock_per_unit"} & peak.keys():
                operations = self.array_operations(part, peak)
                if operations is None:
                    remedy = "give it peak_ops_per_s, or ops_per_clock_per_unit, or its cluster array_rows, array_columns and a clock"
                    self.fault(f"peak[{index}]", peak, remedy)
                else:
                    peak = {**peak, "ops_per_clock_per_unit": operations}
            if peak.get("sparsity", "dense") != "dense":
                self.fault(f"peak[{index}].sparsity", peak["sparsity"], "store the dense peak, half of a 2:4 one")
                continue
            key = f"{peak['precision']}.{peak['unit']}.{peak.get('accumulator', 'default')}"
            if key in part.section("peak"):
                self.fault(f"peak.{key}", "twice", "keep one of the two rows")
            columns = {name: value for name, value in peak.items() if name not in ("sparsity", "cluster_ops_per_clock")}
            self.row(part, "peak", key, {"accumulator": "default", **columns})
            by_cluster = peak.get("cluster_ops_per_clock") or {}
            if not isinstance(by_cluster, dict):
                self.fault(f"peak.{key}.cluster_ops_per_clock", by_cluster, "write a mapping from cluster to number")
                continue
            part.peak_operations[key] = {
                str(cluster): self.leaf(f"peak.{key}.cluster_ops_per_clock.{cluster}", leaf).value or 0.0
                for cluster, leaf in by_cluster.items()
            }

    def array_operations(self, part: Part, peak: Mapping[str, object]) -> dict[str, object] | None:
        """Derive the operations per clock of a matrix peak without a rate: each element of the array does one multiply-accumulate. Return
        None if the peak is not of matrix units or its cluster states no array or no clock."""
        clusters = part.section("cluster")
        named = str(peak["cluster"]) if "cluster" in peak else next(iter(clusters), "") if len(clusters) == 1 else ""
        row = clusters.get(named, {})
        rows, columns = row.get("array_rows"), row.get("array_columns")
        has_clock = row.get("clock_matrix_hz") or row.get("clock_boost_hz")
        if peak["unit"] != "matrix" or not (rows and columns and has_clock):
            return None
        formula = f"2 x {rows} x {columns}: one multiply-accumulate per element and clock"
        return {"value": 2 * rows * columns, "unit": "ops", "source": "derived", "confidence": "derived", "formula": formula}

    def conflicts(self, part: Part, conflicts: object) -> None:
        wanted = ("field", "values_by_source", "chosen", "reason")
        for index, conflict in enumerate(conflicts if isinstance(conflicts, list) else [conflicts]):
            if not isinstance(conflict, dict) or set(conflict) != set(wanted):
                self.fault(f"conflicts[{index}]", conflict, f"give it {', '.join(wanted)}")
                continue
            part.conflicts.append({name: str(conflict[name]) for name in wanted})

    def energy(self, part: Part, energy: object) -> None:
        """Read coefficients that the part states itself: `op: {int8.matrix: ...}`, `byte: {dram: ...}`, `static: {chip: ...}`."""
        if not isinstance(energy, dict) or not set(energy) <= set(ENERGY_UNITS):
            self.fault("energy", energy, f"write a mapping with {', '.join(ENERGY_UNITS)}")
            return
        for what, rows in energy.items():
            if not isinstance(rows or {}, dict):
                self.fault(f"energy.{what}", rows, "write a mapping from name to number")
                continue
            for key, leaf in (rows or {}).items():
                place = f"energy.{what}.{key}"
                number = self.leaf(place, leaf)
                if number.unit != ENERGY_UNITS[what]:
                    self.fault(f"{place}.unit", number.unit, f"convert the value and write unit: {ENERGY_UNITS[what]}")
                if number.value is not None:
                    formula = number.formula or number.note or "as stated"
                    part.energy[what, str(key)] = EnergyCoefficient(
                        float(number.value), number.source, number.confidence, formula
                    )

    def efficiency(self, part: Part, efficiency: object) -> None:
        """Read the shares of the peak that kernels on the part reach: `matrix: {value: 0.8, unit: fraction, ...}`."""
        if not isinstance(efficiency, dict) or not set(efficiency) <= set(EFFICIENCIES):
            self.fault("efficiency", efficiency, f"write a mapping with {', '.join(EFFICIENCIES)}")
            return
        for resource, leaf in efficiency.items():
            place = f"efficiency.{resource}"
            number = self.leaf(place, leaf)
            if number.value is not None and not 0 < number.value <= 1:
                self.fault(place, number.value, "a share of a peak is above 0 and at most 1")
            if number.unit != "fraction":
                self.fault(f"{place}.unit", number.unit, "write unit: fraction")
            part.efficiency[str(resource)] = number

    def number(self, part: Part, section: str, key: str, column: str, leaf: object) -> None:
        place = f"{section}.{column}" if section == "hardware" else f"{section}.{key}.{column}"
        number = self.leaf(place, leaf)
        if column in integer_columns(section) and isinstance(number.value, float) and math.isfinite(number.value):
            if number.value == int(number.value):
                number.value = int(number.value)
            else:
                self.fault(place, number.value, "a count is a whole number")
        part.set(section, key, column, number)

    def leaf(self, place: str, leaf: object) -> Number:
        if not isinstance(leaf, dict):
            self.fault(
                place, leaf, f"a number states its source: {{value: {leaf}, unit: ..., source: ..., confidence: ...}}"
            )
            return Number(None, "", "", "")
        for name in leaf.keys() - _LEAF:
            self.fault(f"{place}.{name}", leaf[name], f"unknown; a number has {', '.join(sorted(_LEAF))}")
        value, stated = leaf.get("value"), str(leaf.get("unit"))
        unit, factor = to_si(stated)
        if isinstance(value, str) and (number := in_si(value, "")) is not None:
            value = number  # YAML reads 1e9 as text
        elif isinstance(value, str):
            value, factor = self.written(place, value, unit), 1.0  # a text with its own unit
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            self.fault(place, repr(value), "write a number")
            value = None
        elif isinstance(value, int) and value.bit_length() > sys.float_info.max_exp:
            value = math.inf  # outside a double's range, which the lints report
        if value is not None and factor != 1.0:
            value = value * factor
        for name in ("unit", "source", "confidence"):
            if not isinstance(leaf.get(name), str):
                self.fault(f"{place}.{name}", leaf.get(name), f"state the {name}")
        text = {name: str(leaf[name]) for name in ("formula", "note") if leaf.get(name) is not None}
        return Number(value, unit, str(leaf.get("source")), str(leaf.get("confidence")), **text)

    def written(self, place: str, text: str, unit: str) -> float | None:
        """Parse a number with its own unit, `128GB/s`, into the engine's unit."""
        value = in_si(text, unit)
        if value is None:
            known = ", ".join(multiples(unit))
            self.fault(place, repr(text), f"write a number in {unit}" + (f", or with one of {known}" if known else ""))
        return value

    def fault(self, place: str, value: object, remedy: str) -> None:
        self.problems.append(Problem(self.path, place, value, remedy))
