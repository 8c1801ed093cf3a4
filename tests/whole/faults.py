"""Effect on answers when a plain client writes an impossible or implausible number into a table of facts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
from oracle.database import ingested

from charz.hardware_catalog import loader
from charz.ingest import write
from charz.schema import database, ddl, file
from charz.schema.row import Row
from charz.schema.scenario import Scenario
from charz.sql import maintain, views

from .generated import graph

PARTS = ("t4", "i7_13700k", "kpu_t64")
"""A part for each way to compute."""

SCENARIOS = (1, 9, 13, 17, 29, 37)
"""Every backend of these parts, and each kind of number format."""

VALUES = ("NULL", "0", "-1", "'nan'::DOUBLE", "'inf'::DOUBLE", "1e30", "1000 * {column}")
"""SQL expressions written into each column."""

META = "charz.schema.meta"
"""Module of the tables by which a file describes itself, which are not facts."""

RESTED_ON = {
    "backend": "backend IN (SELECT backend FROM scenario)",
    "backend_support": "(backend, family) IN (SELECT (backend, family) FROM part_support) AND backend IN (SELECT backend FROM scenario)",
    "cost_rule": "row_key IN ('*', '12')",
    "cuda_limit": "compute_capability IN (SELECT compute_capability FROM hardware)",
    "derivation_rule": "derivation_rule IN (SELECT derivation_rule FROM traced_number)",
    "efficiency": (
        "efficiency_id IN (SELECT UNNEST([matrix_efficiency_id, vector_efficiency_id, memory_efficiency_id,"
        " overlap_efficiency_id, residency_efficiency_id, reorder_efficiency_id, paging_efficiency_id, thread_efficiency_id])"
        " FROM chain_efficiency WHERE kernel_class IN ('linear', 'copy'))"
    ),
    "silicon_rule": (
        "EXISTS (SELECT 1 FROM part_rule AS p WHERE p.silicon_rule = silicon_rule.silicon_rule AND (p.row_key IN ('*', 'fp32', 'fp16',"
        " 'vector', 'matrix', 'l2') OR p.quantity = 'dram_pj_per_byte' AND p.row_key IN ('GDDR6', 'DDR5')"
        " OR p.quantity IN ('process_pj', 'logic_mtr_per_mm2', 'sram_um2', 'leakage_w_per_mm2', 'clock_load_ratio',"
        " 'reference_clock_hz') AND p.row_key = '12' OR p.quantity IN ('leakage_share', 'clocking_share')))"
    ),
    "hardware_memory": "hardware = 't4' OR level = 'dram'",
    "precision": "precision IN ('fp32', 'fp16', 'int8')",
    "scenario": "scenario_id = 9",
    "tiling_strategy": "(family, candidate) IN (SELECT family, candidate FROM part_strategy)",
}
"""Conditions for the rows that answers depend on, by table; answers depend on all rows of other tables."""

APART = {
    "backend_support": "backend, family",
    "cost_rule": "quantity",
    "derivation_rule": "derivation_rule",
    "efficiency": "resource",
    "energy_profile": "what",
    "silicon_rule": "quantity, row_key",
    "hardware_memory": "hardware, level",
    "hardware_overhead": "hardware, overhead",
    "library_constant": "library_constant",
    "memory_level": "level",
    "precision": "precision",
    "term": "quantity",
    "tiling_strategy": "family",
}
"""Columns whose rows are tried separately; in other tables one row of each part is tried, or one row."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One statement of a plain client."""

    table: str
    column: str
    key: tuple[object, ...]
    value: str

    @property
    def where(self) -> str:
        """Condition that selects only its row."""
        names = row_types()[self.table].KEY
        return " AND ".join(f"{ddl.quote(n)} = {_literal(v)}" for n, v in zip(names, self.key, strict=True))

    @property
    def statement(self) -> str:
        """The statement."""
        return f"UPDATE {self.table} SET {self.column} = {self.value.format(column=self.column)} WHERE {self.where}"

    def __str__(self) -> str:
        return f"{'.'.join((self.table, *map(str, self.key), self.column))} = {self.value.format(column='itself')}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The effect of a fault."""

    fault: Fault
    kind: str
    """`refused` by the engine, `null`, `gone`, `same`, `slower`, `faster`, `frugal` or `NaN`."""
    is_named: bool
    """True if every faster, more frugal or missing answer names the number."""

    @property
    def is_silent(self) -> bool:
        """True if the fault silently makes a part better, or an answer NaN."""
        return self.kind in ("faster", "frugal", "NaN") and not self.is_named


def row_types() -> dict[str, type[Row]]:
    """Return every table of facts by name."""
    return {t.TABLE: t for t in database.TABLES if t.__module__ != META}


def make(path: Path) -> None:
    """Write a file of three parts, six scenarios, one small model, and a row in the tables that are otherwise empty."""
    with file.replace(path, create=True) as connection:
        for row_type, rows in loader.load().rows.items():
            kept = [row for row in rows if getattr(row, "hardware", PARTS[0]) in PARTS]
            kept = [row for row in kept if not isinstance(row, Scenario) or row.scenario_id in SCENARIOS]
            database.insert(connection, row_type, loader.columns_of(row_type, kept))
        views.install(connection)
        write.write(connection, [ingested(graph(1), "small")], maintain.add_runs)


def faults(connection: duckdb.DuckDBPyConnection, *tables: str) -> Iterator[Fault]:
    """Yield every value in every numeric column of every table, or of some, for one row of each kind."""
    for name, row_type in row_types().items():
        columns = [c.name for c in ddl.columns(row_type) if c.python_type in (int, float)]
        if not columns or (tables and name not in tables):
            continue
        apart = APART.get(name) or ("hardware" if "hardware" in row_type.model_fields else "TRUE")
        keys = ", ".join(map(ddl.quote, row_type.KEY))
        rows = connection.execute(
            f"SELECT {keys} FROM {name} WHERE {RESTED_ON.get(name, 'TRUE')}"
            f" QUALIFY ROW_NUMBER() OVER (PARTITION BY {apart} ORDER BY {keys}) = 1 ORDER BY {keys}"
        ).fetchall()
        for row in rows:
            for column in columns:
                yield from (Fault(name, column, row, value) for value in VALUES)


Answers = dict[tuple[object, ...], tuple[float | None, ...]]


def answers(connection: duckdb.DuckDBPyConnection) -> Answers:
    """Return time, energy and memory of every run on every part, and the numbers that the answer names."""
    names = [
        c for (c,) in connection.execute("SELECT column_name FROM view_column WHERE view = 'model_report'").fetchall()
    ]
    named = "implausible" if "implausible" in names else "NULL"
    query = f"SELECT hardware, scenario_id, latency_s, energy_j, peak_memory_byte, {named} FROM model_report"
    return {row[:2]: row[2:] for row in connection.execute(query).fetchall()}


def costs(connection: duckdb.DuckDBPyConnection) -> Answers:
    """Return the cost of every part, both ends of its band [USD], and the rules that the answer names."""
    query = "SELECT hardware, 'part_cost', part_usd, low_usd, high_usd, implausible FROM part_cost"
    return {row[:2]: row[2:] for row in connection.execute(query).fetchall()}


def outcome(connection: duckdb.DuckDBPyConnection, fault: Fault, before: Answers) -> Outcome:
    """Compare the answers before and after a fault, or the costs for a rule of cost, and restore the file."""
    asked = costs if fault.table == "cost_rule" else answers
    connection.execute("BEGIN")
    try:
        connection.execute(fault.statement)
        after = asked(connection)
        listed = bool(connection.execute("SELECT 1 FROM impossible_number LIMIT 1").fetchall())
    except (
        duckdb.ConversionException,
        duckdb.ConstraintException,
        duckdb.InvalidInputException,
        duckdb.OutOfRangeException,
    ):
        return Outcome(fault, "refused", True)
    finally:
        connection.execute("ROLLBACK")
    found: dict[str, bool] = {}
    for key, old in before.items():
        if (key[1] == "part_cost") != (asked is costs):
            continue
        kind, is_named = _compared(old, after.get(key)), True
        if kind in ("null", "gone"):
            is_named = listed
        elif kind != "same":
            is_named = after[key][3] is not None
        found[kind] = found.get(kind, True) and is_named
    kinds = ("NaN", "faster", "frugal", "null", "gone", "slower", "same")
    # Choose the worst, unnamed ones first.
    kind = min(found, key=lambda k: (found[k] or k not in kinds[:3], kinds.index(k)))
    return Outcome(fault, kind, found[kind])


def _compared(old: tuple[float | None, ...], new: tuple[float | None, ...] | None) -> str:
    if new is None:
        return "gone"
    pairs = [(a, b) for a, b in zip(old[:3], new[:3], strict=True) if a is not None]
    given = [(a, b) for a, b in pairs if b is not None]
    if any(not math.isfinite(b) or b < 0 for _, b in given):
        return "NaN"
    if new[0] is not None and new[0] < old[0] * (1 - 1e-9):  # type: ignore[operator]
        return "faster"
    if any(b < a * (1 - 1e-9) for a, b in given):
        return "frugal"
    if len(given) < len(pairs):
        return "null"
    return "slower" if any(b > a * (1 + 1e-9) for a, b in given) else "same"


def _literal(value: object) -> str:
    return (
        ddl.literal(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    )
