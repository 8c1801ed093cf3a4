"""Golden table: summaries of the rows of every relation of `sql/`, for a few models, parts and scenarios.

    python -m tests.golden    # evaluate the relations, print what has changed, and store the new summaries

A change of a formula, a join or a number changes a summary, and `tests/report/test_golden.py` names the relation. Its author stores
the new summaries and reviews their diff.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

sys.path.insert(0, str(Path(__file__).parent))

import model_facts
from oracle.database import relations, scenario, with_rules, write_facts

from charz.schema import database, ddl
from charz.schema.mapping import LoopNest
from charz.schema.scenario import Measurement
from charz.sql.views import View

PLACE = Path(__file__).parent / "facts" / "golden.csv"
MODELS = ("mobilenet_v3_large", "gpt2_of_2_layers", "gpt2_of_2_layers_training", "mixtral_of_1_layer")
PARTS = (
    "rtx4090", "h100_sxm5_80", "b200_sxm", "mi300x_192", "jetson_orin_nano_8", "i7_13700k", "tpu_v1", "tpu_v4", "kpu_t256", "hailo8",
    "groq_lpu_v1",
)  # fmt: skip
BROKEN = (
    "UPDATE hardware_memory SET capacity_byte = -1 WHERE hardware = 'broken' AND level = 'dram'",
    "UPDATE hardware_memory SET bandwidth_byte_per_s = 1e30 WHERE hardware = 'broken' AND level = 'l2'",
    "UPDATE hardware_peak SET peak_ops_per_s = 1e25 WHERE hardware = 'broken' AND precision = 'fp16'",
    "DELETE FROM hardware_power WHERE hardware = 'broken'",
)
"""Changes of a copy of the first part, which fault relations report."""
UNIQUE = ("hardware_alias",)
"""Tables of names that are each of one part."""
_DECODE: dict[str, Any] = {"sequence": 1, "context": 1024, "phase": "decode"}
_PREFILL: dict[str, Any] = {"sequence": 512, "context": 512, "phase": "prefill"}
SCENARIOS = [
    scenario(number, **conditions)
    for number, conditions in enumerate(
        (
            {},
            {"batch": 8, "memory_format": "nhwc", "precision": "amp-fp16"},
            {"batch": 8, "backend": "inductor"},
            {"backend": "inductor_graph", "precision": "fp16", "cache_state": "hot", "host_factor": 2.0},
            {"batch": 8, "backend": "tensorrt", "precision": "int8", "cache_state": "cold"},
            {"backend": "openvino", "precision": "int8"},
            {"batch": 8, "backend": "onnxruntime", "precision": "fp16", "power": "70%"},
            {"batch": 8, "backend": "xla", "precision": "bf16"},
            {"backend": "kpu", "precision": "int8"},
            {"batch": 64, "backend": "kpu", "precision": "int8", "power": "20w"},
            {"batch": 8, "backend": "depth_first", "precision": "int8"},
            {"batch": 8, "backend": "tensorrt_unfused", "precision": "int8", "cache_state": "cold"},
            {"batch": 4, "precision": "bf16", "weight_host_fraction": 0.5, "input_host_fraction": 1.0},
            {"batch": 32, "backend": "vllm", "precision": "fp8", "kv_precision": "fp8_e4m3", "device_count": 4, **_DECODE},
            {"batch": 2, "backend": "vllm", "precision": "bf16", "engine_version": "v0.11", "device_count": 2, **_PREFILL},
            {"batch": 16, "backend": "sglang", "precision": "mxfp4", **_DECODE},
            {"batch": 16, "backend": "tensorrt_llm", "precision": "nvfp4", **_DECODE},
            {"backend": "llama_cpp", "precision": "q4_k_m", "cache_host_fraction": 0.5, **_DECODE},
            {"batch": 1, "backend": "vllm", "precision": "w4a16", **_PREFILL},
        ),
        start=1,
    )
]
NESTS = [
    {"m": 160, "outer_m": 160, "inner_m": 8, "dataflow": "output_stationary", "inner_kept": "output"},
    {"m": 64, "outer_m": 32, "inner_m": 32, "dataflow": "weight_stationary", "inner_kept": "weight"},
]
"""Loop nests of products with N = 80 and K = 120."""
KEPT_BY_USERS = "answer.stored"
"""Table of answers at hand; a relation that reads it is left out, because no answers are at hand."""
DIGITS = 12
"""Significant digits of a stored number."""
NOISE = 1e-9
"""Relative difference by which the order of a sum may change a number."""
DIFFERENCES = ("overhead_s", "wasted_energy_j")
"""Columns that are small differences of sums; their noise is larger."""


class Summary(NamedTuple):
    """Summary of a column's rows: for numbers, sum and sum of magnitudes; for texts, number of distinct values and their length."""

    relation: str
    column: str
    rows: int
    filled: int
    total: float
    size: float

    def is_near(self, other: Summary) -> bool:
        """Compare the summaries up to the noise of sums."""
        noise = max(self.size, other.size) * (1e-5 if self.column in DIFFERENCES else NOISE)
        same = self[:4] == other[:4]
        return same and abs(self.total - other.total) <= noise and abs(self.size - other.size) <= noise


def summaries() -> Iterator[tuple[View, list[Summary]]]:
    """Evaluate the relations in order, and summarize the columns of each."""
    connection = _facts()
    for view in relations():
        if KEPT_BY_USERS in view.body:
            continue
        connection.execute(f"CREATE TABLE {view.place} AS {view.body}")
        if view.place == ddl.quote(view.name):
            connection.execute(f"CREATE VIEW answer.{view.place} AS FROM main.{view.place}")
        yield view, _summarized(connection, view)


def _facts() -> duckdb.DuckDBPyConnection:
    """Make a database of rules, parts, models and scenarios."""
    connection = with_rules(with_parts=True)
    connection.execute("CREATE SCHEMA answer; CREATE SCHEMA mart")
    having = "SELECT table_name FROM duckdb_columns() WHERE column_name = 'hardware'"
    for (table,) in connection.execute(having).fetchall():
        connection.execute(f"DELETE FROM {table} WHERE hardware NOT IN {PARTS}")
        if table not in UNIQUE:
            connection.execute(f"INSERT INTO {table} SELECT * REPLACE ('broken' AS hardware) FROM {table} WHERE hardware = '{PARTS[0]}'")
    for statement in BROKEN:
        connection.execute(statement)
    for name in MODELS:
        write_facts(connection, model_facts.kept(name))
    connection.execute("UPDATE model SET ingested_at = TIMESTAMP '2026-01-01'")
    database.insert_rows(connection, SCENARIOS)
    database.insert_rows(connection, [_nest(number, given) for number, given in enumerate(NESTS, start=1)])
    database.insert_rows(connection, [_measurement()])
    return connection


def _nest(number: int, given: dict[str, Any]) -> LoopNest:
    usual = {
        "loop_nest_id": number, "product": f"product {number}", "hardware": "kpu_t256", "backend": "kpu", "compute_precision": "int8",
        "n": 80, "k": 120, "gemm_count": 1, "images": 1, "outer_n": 80, "outer_k": 60, "outer_kept": "output", "inner_n": 16, "inner_k": 60,
    }  # fmt: skip
    return LoopNest(**{**dict.fromkeys(LoopNest.model_fields), **usual, **given})


def _measurement() -> Measurement:
    empty = {name: "" if field.annotation is str else None for name, field in Measurement.model_fields.items()}
    known = {
        "measurement_id": 1, "model": MODELS[0], "model_source": f"torchvision:{MODELS[0]}", "hardware": PARTS[0], "device_count": 1,
        "backend": "eager", "mode": "run", "precision": "ieee-fp32", "software": "pt211", "memory_format": "nchw", "batch": 1,
        "latency_s": 4e-3, "energy_j": 0.4, "energy_scope": "gpu", "energy_per": "run", "peak_memory_byte": 1e8,
    }  # fmt: skip
    return Measurement(**{**empty, **known})


def _summarized(connection: duckdb.DuckDBPyConnection, view: View) -> list[Summary]:
    described = connection.execute(f"DESCRIBE {view.place}").fetchall()
    asked = ", ".join(_expressions(ddl.quote(name), kind) for name, kind, *_ in described)
    (found,) = connection.execute(f"SELECT count(*), {asked} FROM {view.place}").fetchall()
    return [
        Summary(view.name, name, found[0], found[1 + 3 * i], float(found[2 + 3 * i] or 0), float(found[3 + 3 * i] or 0))
        for i, (name, *_) in enumerate(described)
    ]


def _expressions(column: str, kind: str) -> str:
    """Write the three expressions of a column's summary."""
    if kind in ("DOUBLE", "FLOAT", "HUGEINT", "BIGINT", "INTEGER", "SMALLINT", "TINYINT", "BOOLEAN", "UBIGINT") or kind.startswith("DECIMAL"):
        number = f"CAST({column} AS DOUBLE)"
        return f"count({column}), fsum({number}), fsum(abs({number}))"
    text = f"CAST({column} AS VARCHAR)"
    return f"count({column}), count(DISTINCT {text}), sum(length({text}))"


def kept() -> dict[tuple[str, str], Summary]:
    """Read the stored summaries by relation and column."""
    with PLACE.open(newline="") as lines:
        found = [Summary(r, c, int(n), int(f), float(t), float(s)) for r, c, n, f, t, s in list(csv.reader(lines))[1:]]
    return {(row.relation, row.column): row for row in found}


def changes(before: dict[tuple[str, str], Summary], evaluated: Iterable[tuple[View, list[Summary]]]) -> Iterator[str]:
    """Compare new summaries with stored ones; name the changed columns of relations whose inputs have not changed."""
    changed: set[str] = set()
    seen = set()
    for view, found in evaluated:
        new = {(row.relation, row.column): row for row in found}
        old = {key: row for key, row in before.items() if key[0] == view.name}
        seen |= old.keys()
        differing = [key for key in new.keys() | old.keys() if not (key in new and key in old and new[key].is_near(old[key]))]
        if differing and not changed & set(view.relations):
            yield from (f"{relation}.{column}: {_said(old, key)} -> {_said(new, key)}" for key in sorted(differing) for relation, column in [key])
        if differing or changed & set(view.relations):
            changed.add(view.name)
    yield from (f"{relation}.{column}: gone" for relation, column in sorted(before.keys() - seen))


def _said(rows: dict[tuple[str, str], Summary], key: tuple[str, str]) -> str:
    return f"{tuple(rows[key][2:])}" if key in rows else "none"


def main() -> None:
    """Evaluate the relations, print what has changed, and store the new summaries."""
    evaluated = list(summaries())
    if PLACE.exists():
        print("\n".join(changes(kept(), evaluated)) or "nothing has changed")
    rows = [(*row[:4], *(f"{value:.{DIGITS}g}" for value in row[4:])) for _, found in evaluated for row in found]
    with PLACE.open("w", newline="") as lines:
        csv.writer(lines, lineterminator="\n").writerows([Summary._fields, *rows])
    print(f"{PLACE}: {len(rows):,} columns")


if __name__ == "__main__":
    main()
