"""One relation of `sql/` at a time, over rows that a test writes.

The numbers of a part, a network and a library are literal and round; comments next to the expected values compute them by hand. These
tests are a second reading of each formula that shares no code with the first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from charz import sql
from charz.schema import database, ddl
from charz.sql import layers, macros
from charz.sql.keys import RUN, natural
from charz.sql.reading import read

Record = dict[str, Any]
Evaluate = Callable[..., list[Record]]

HEAD = re.compile(r"^CREATE (?:VIEW|TABLE) (\w+) AS\s*\n", re.MULTILINE)
USUAL: Record = {
    "model": "net", "hardware": "chip", "backend": "eager", "row_backend": "eager", "run_backend": "eager", "arithmetic": "plain",
    "precision": "fp32", "policy": "fp32", "batch": 1, "sequence": 0, "context": 0,
    "scenario_id": 1, "shape_id": 0, "kernel_id": 0, "operator_id": 0, "tensor_id": 0, "step_id": 0, "candidate": 0,
    "logit_tokens": 0, "logit_power": 0, "chunk_factor": 1.0, "chunk_count": 1.0, "launch_s": 0.0, "launch_share": 1.0,
    "convert_s": 0.0, "cache_convert_ops": 0.0,
    "fetch_byte": 0.0, "fetch_s": 0.0, "fetch_energy_j": 0.0, "reread_cache_byte": 0.0, "fallback_operations": 1.0,
    "library_written_byte": 0.0, "library_s": 0.0, "library_energy_j": 0.0, "device_count": 1, "reserve_fraction": 0.0, "exchange_s": 0.0,
    "weight_host_fraction": 0.0, "cache_host_fraction": 0.0, "input_host_fraction": 0.0, "host_input_byte": 0.0,
    "host_weight_byte": 0.0, "host_cache_byte": 0.0, "host_byte": 0.0,
    "engine_version": "none", "kv_precision": "none", "token_elements": 0.0, "launch_count": 1,
    "efficiency_chain": "any", "compute_precision": "fp32", "storage_precision": "fp32", "memory_format": "nchw", "layout": "nchw",
}  # fmt: skip
"""Values of these columns unless the test gives others; other columns are false if boolean and else null, so that a formula that reads an
omitted number gives null."""
LEFT_OPEN = ("engine_version", "kv_precision", "device_count", "weight_host_fraction", "cache_host_fraction", "input_host_fraction")
"""Columns of a scenario that nobody sets by default."""
CONDITIONS: Record = {
    "context": 0, "phase": "forward", "memory_format": "nchw", "host_factor": 1.0, "cache_state": "warm", "power": "default",
}  # fmt: skip
"""Conditions that distinguish scenarios with equal keys, at their usual values in reports."""
COMMON = "part_backend"
"""Relation through which parts and backends find their efficiencies."""
WRITTEN_OUT = 200
"""Largest number of rows that one statement of values inserts; more are inserted as a table."""
KEYS = ("model", "hardware", "backend", "precision", "batch", "sequence", "scenario_id")
RUN_KEYS = ("model", "hardware", "scenario_id", "shape_id")
"""Keys of relations of the workload; the others follow from the scenario."""


class Bench:
    """A database with every relation as an empty table, made on first use; rows last for one evaluation."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        # With few rows, most of the time is planning; tests of whole files evaluate optimized plans.
        self.connection.execute("PRAGMA disable_optimizer")
        root = Path(sql.__file__).parent
        self.files = {path.stem: path for path in sorted(root.glob("*/*.sql")) if path.parent.name != macros.FOLDER}
        self.macros = macros.written_out(macros.parse(path, path.read_text()) for path in root.glob("macro/*.sql"))
        self.facts = {row_type.TABLE: row_type for row_type in database.TABLES}
        self.bodies: dict[str, str] = {}
        self.reads: dict[str, list[str]] = {}
        self.all_reads: dict[str, set[str]] = {}
        self.columns: dict[str, dict[str, str]] = {}
        """Columns of each relation, `run` taken apart into its fields."""
        self.packed: dict[str, set[str]] = {}
        """Fields of `run` of each relation that no column of its own is called like."""

    def body(self, relation: str) -> str:
        """Return the statement of a relation, and make the tables it reads."""
        if relation not in self.bodies:
            path = self.files[relation]
            text = path.read_text()
            head = HEAD.search(text)
            assert head and head.group(1) == relation, f"{path} does not create {relation}"
            body = text[head.end() :].rstrip().removesuffix(";")
            self.bodies[relation] = macros.expanded(body, self.macros, path)
            self.reads[relation] = [
                r for r in read(self.bodies[relation], path).relations if r in self.files or r in self.facts
            ]
            for name in self.reads[relation]:
                self.make(name)
        return self.bodies[relation]

    def make(self, relation: str) -> None:
        """Make an empty table with the columns of a relation."""
        if relation in self.columns:
            return
        if relation in self.facts:
            # A test writes only the columns that matter, so none is required.
            lines = ", ".join(f"{ddl.quote(c.name)} {c.duckdb_type}" for c in ddl.columns(self.facts[relation]))
            self.connection.execute(f"CREATE TABLE {relation} ({lines})")
        else:
            body = self.body(relation)
            self.connection.execute(f"CREATE TABLE {relation} AS {body}")
        described = self.connection.execute(f"DESCRIBE {relation}").fetchall()
        kinds = {name: kind for name, kind, *_ in described}
        fields = dict.fromkeys(RUN[:3], "VARCHAR") | dict.fromkeys(RUN[3:], "BIGINT")
        self.columns[relation] = {name: kinds.get(name) or fields[name] for name in natural(list(kinds))}
        self.packed[relation] = set(RUN).difference(kinds) if "run" in kinds else set()

    def evaluate(self, relation: str, rows: Mapping[str, list[Record]]) -> list[Record]:
        """Evaluate a relation over given rows of the relations it reads."""
        body = self.body(relation)
        self.connection.execute("BEGIN")
        try:
            assert rows.keys() <= self.ancestors(relation), (
                f"{relation} reads no {rows.keys() - self.ancestors(relation)}"
            )
            rows = {**self.common(relation, rows), **rows}
            for name, records in self.of_runs(rows).items():
                self.insert(name, records)
            self.fill(relation, set(rows))
            cursor = self.connection.execute(body)
            names = [column[0] for column in cursor.description]
            return [unpacked(dict(zip(names, row, strict=True))) for row in cursor.fetchall()]
        finally:
            self.connection.execute("ROLLBACK")

    def common(self, relation: str, rows: Mapping[str, list[Record]]) -> dict[str, list[Record]]:
        """Make equal rows of `part_backend` for the parts and backends of the given rows, unless the test gives some."""
        if COMMON not in self.ancestors(relation) or {COMMON, *self.ancestors(COMMON)} & rows.keys():
            return {}
        records = [record for of_one in rows.values() for record in of_one]
        parts, backends = ({record.get(key, USUAL[key]) for record in records} - {"*"} for key in ("hardware", "backend"))
        return {COMMON: [{"hardware": part, "backend": backend} for part in parts for backend in backends]}

    def ancestors(self, relation: str) -> set[str]:
        """Return the relations that a relation reads, directly or through others."""
        if relation in self.facts:
            return set()
        if relation not in self.all_reads:
            direct = self.reads[relation]
            self.all_reads[relation] = set(direct).union(*map(self.ancestors, direct))
        return self.all_reads[relation]

    def fill(self, relation: str, filled: set[str]) -> None:
        """Evaluate, once each, the relations between the given ones and those that the relation reads directly."""
        for name in self.reads[relation]:
            if name not in filled and name not in self.facts and self.ancestors(name) & filled:
                self.fill(name, filled)
                filled.add(name)
                self.connection.execute(f"INSERT INTO {name} {self.body(name)}")

    def call(self, macro: str, **given: float | str | None) -> Any:
        """Evaluate a macro for these arguments."""
        assert set(given) == set(self.macros[macro].parameters), f"{macro} has {self.macros[macro].parameters}"
        row = ", ".join(
            f"CAST(? AS {'VARCHAR' if isinstance(v, str) else 'DOUBLE'}) AS {name}" for name, v in given.items()
        )
        query = f"SELECT {self.macros[macro].expression} FROM (SELECT {row})"
        return self.connection.execute(query, list(given.values())).fetchall()[0][0]

    def columns_of(self, relation: str) -> list[str]:
        """Return the columns of a relation."""
        self.make(relation)
        return list(self.columns[relation])

    def of_runs(self, rows: Mapping[str, list[Record]]) -> dict[str, list[Record]]:
        """Complete the fields of each row's run: from the row, else from other rows of the model and scenario, else the usual."""
        said: dict[tuple[Any, Any], Record] = {}
        for name in sorted(rows, key=lambda name: name != "run"):
            # The first row of a run: the others may differ from it in any key.
            for run, record in {run_of(record): record for record in reversed(rows[name])}.items():
                of_run = said.setdefault(run, {})
                for key in self.packed[name] & record.keys():
                    of_run.setdefault(key, record[key])
        return {
            name: [{**{key: values(said[run_of(r)] | r, key) for key in self.packed[name]}, **r} for r in records]
            for name, records in rows.items()
        }

    def insert(self, relation: str, records: list[Record]) -> None:
        """Insert rows, completed by the usual values."""
        columns = self.columns[relation]
        unknown = {name for record in records for name in record} - columns.keys()
        assert not unknown, f"{relation} has no column {sorted(unknown)}"
        usual = {name: False for name, kind in columns.items() if kind == "BOOLEAN"} | USUAL
        if relation == "scenario":
            usual |= dict.fromkeys(LEFT_OPEN)
        if packed := self.packed[relation]:
            records = [{"run": {key: run_value(record, key, packed) for key in RUN}, **record} for record in records]
            columns = {"run": "", **{name: kind for name, kind in columns.items() if name not in packed}}
        named = [n for n in columns if n in usual or any(n in record for record in records)]
        names = ", ".join(map(ddl.quote, named))
        if len(records) > WRITTEN_OUT:
            # The engine would parse each value of a statement.
            table = pa.Table.from_pylist([{n: r.get(n, usual.get(n)) for n in named} for r in records])
            self.connection.register("given", table)
            self.connection.execute(f"INSERT INTO {relation} ({names}) SELECT {names} FROM given")
            self.connection.unregister("given")
        elif records and named:
            row = f"({', '.join('?' for _ in named)})"
            values = [record.get(name, usual.get(name)) for record in records for name in named]
            statement = f"INSERT INTO {relation} ({names}) VALUES {', '.join(row for _ in records)}"
            self.connection.execute(statement, values)


def run_of(record: Record) -> tuple[Any, Any]:
    """Return model and scenario of a row."""
    return values(record, "model"), values(record, "scenario_id")


def run_value(record: Record, key: str, packed: Collection[str]) -> Any:
    """Return a field of a row's `run`; a separate column with the field's name is not that field."""
    return record.get(key if key in packed else f"run_{key}", USUAL[key])


def unpacked(row: Record) -> Record:
    """Return a row with the fields of `run` as columns."""
    return {**(row["run"] or dict.fromkeys(RUN)), **{n: v for n, v in row.items() if n != "run"}} if "run" in row else row


def is_same(found: Any, expected: Any) -> bool:
    """Return whether two values are equal up to the rounding of a few operations."""
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-30)
    return bool(found == expected and (found is None) == (expected is None))


def rows_beside_others(
    bench: Bench,
    relation: str,
    given: Mapping[str, list[Record]],
    keys: Collection[str],
    free: Mapping[str, Sequence[str]] = {},
) -> list[Record]:
    """Evaluate a relation over the given rows and additional rows of other runs and parts, which differ in one key each and have other
    numbers: a view that joins or sums rows of different keys then fails. `free` are columns of a relation that have a key's name but
    another meaning."""
    answered = bench.columns_of(relation)
    given = bench.of_runs(given)
    columns = {name: bench.columns[name] for name in given}
    own = {key: {values(record, key) for one in given.values() for record in one} for key in keys}
    bound = {name: [key for key in own if key in columns[name] and key not in free.get(name, ())] for name in given}
    hidden = set(keys) - set(answered)
    beside = {name: [*records, *others(records, bound[name], hidden)] for name, records in given.items()}
    runs = {values(record, "scenario_id") for one in given.values() for record in one}
    found = [row for row in bench.evaluate(relation, beside) if row.get("scenario_id", min(runs)) in runs]
    return [row for row in found if all(row[key] in own[key] for key in own if key in row)]


def values(record: Record, key: str) -> Any:
    """Return a record's value of a key."""
    return record.get(key, (USUAL | CONDITIONS).get(key))


def others(records: Sequence[Record], keys: Sequence[str], hidden: Collection[str]) -> list[Record]:
    """Copy the records with another value of each key, once with larger numbers and once with smaller ones; also with another scenario if
    the report does not show the key."""
    made: list[Record] = []
    for key in keys:
        known = [record for record in records if values(record, key) is not None]
        for number, factor in ((1, 7.0), (2, 1 / 7)):
            changed = [
                scaled(record, factor * (1 + i)) | {key: other(values(record, key), number)}
                for i, record in enumerate(known)
            ]
            if key in hidden and key in CONDITIONS:
                changed = [r | {"scenario_id": other(values(r, "scenario_id"), number)} for r in changed]
            made += changed
    return made


def scaled(record: Record, factor: float) -> Record:
    """Multiply a record's floating-point numbers by a factor."""
    return {name: factor * value if isinstance(value, float) else value for name, value in record.items()}


def other(value: Any, number: int) -> Any:
    """Return a value that no row of the test has."""
    return f"{value}~{number}" if isinstance(value, str) else value + 1000 * number


@pytest.fixture(scope="session")
def bench() -> Iterator[Bench]:
    """The bench, made once."""
    made = Bench()
    yield made
    made.connection.close()


@pytest.fixture
def evaluate(bench: Bench) -> Evaluate:
    """A function: `evaluate("tile_listed", shape_step=[{...}], arithmetic_tile=[{...}])` returns its rows."""

    def rows(relation: str, **given: list[Record]) -> list[Record]:
        return bench.evaluate(relation, given)

    return rows


@pytest.fixture
def call(bench: Bench) -> Callable[..., Any]:
    """A function: `call("serial_time", compute_s=8.0, memory_s=4.0, overlap_fraction=0.75)` returns 1.0."""
    return bench.call


@pytest.fixture
def check(bench: Bench) -> Callable[..., None]:
    """A function: `check("cost_dram", {"dram_s": 2.0}, cost_traffic={...})` checks that the only row, over one row of each relation or a
    list of rows, has these values, also with additional rows of other runs and parts."""

    def holds(relation: str, expected: Record, **given: Record | list[Record]) -> None:
        all_rows = {name: r if isinstance(r, list) else [r] for name, r in given.items()}
        keys = RUN_KEYS if bench.files[relation].parent.name == layers.WORKLOAD else (*KEYS, "shape_id")
        keys = [name for name in keys if name in bench.columns_of(relation)]
        beside = rows_beside_others(bench, relation, all_rows, keys)
        for rows in (bench.evaluate(relation, all_rows), beside):
            assert len(rows) == 1, f"{len(rows)} rows of {relation}"
            wrong = {
                name: (rows[0][name], value) for name, value in expected.items() if not is_same(rows[0][name], value)
            }
            assert not wrong, f"{relation} (found, expected): {wrong}"

    return holds
