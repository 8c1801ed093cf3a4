"""CPU seconds of answers and writes, planned table scans, and the grid's rate, in files of several sizes.

    python -m benchmarks.engine FILE [--models 20] [--copies 500] [--writes]

FILE is a charz database with at least `--models` models. `--copies N` asks the same of a copy in which models stand
several times under other names, up to N. Every figure is the least of three runs with one thread; results go to
docs/benchmark-engine.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from charz.cli import pages
from charz.schema import database
from charz.schema.row import ModelRow
from charz.schema.workload import Model

ONE = "model = '{model}' AND hardware = 'rtx4090' AND backend = 'inductor' AND precision = 'fp16' AND batch = 1"
"""The target of the first question."""

ANSWERS = {
    "one model, one part": f"SELECT * FROM model_report WHERE {ONE}",
    "its kernels": f"SELECT * FROM kernel_latency WHERE {ONE}",
    "one model, all parts, all backends, batch 1": "SELECT * FROM model_report WHERE model = '{model}' AND batch = 1",
}
"""Answers of one model."""

QUESTIONS = {
    "fastest part for each model": """
        SELECT model, MIN_BY(hardware, latency_s) AS part, MIN(latency_s) AS latency_s
        FROM model_report WHERE batch = 1 AND NOT is_simulated GROUP BY model""",
    "least energy a sample on any part": """
        SELECT model, MIN_BY(hardware, energy_per_sample_j) AS part FROM model_report WHERE batch = 8 GROUP BY model""",
    "all models on one part": """
        SELECT model, backend, precision, latency_s, energy_j FROM model_report
        WHERE hardware = 'h100_sxm5_80' AND batch = 64""",
    "slowest kernels on a part": """
        SELECT model, kernel, latency_s FROM kernel_latency
        WHERE hardware = 'rtx4090' AND backend = 'inductor' AND precision = 'fp16' AND batch = 1
        ORDER BY latency_s DESC, model, kernel_id LIMIT 20""",
    "shares of bottlenecks": """
        SELECT bottleneck, SUM(latency_s) AS latency_s FROM kernel_latency
        WHERE hardware = 'rtx4090' AND batch = 64 GROUP BY bottleneck""",
    "precisions compared": """
        SELECT model, precision, speedup FROM precision_comparison
        WHERE hardware = 'rtx4090' AND backend = 'inductor' AND batch = 64""",
    "what fits": "SELECT model, hardware, peak_memory_byte FROM model_memory WHERE batch = 256 AND NOT fits_device",
    "throughput by batch": """
        SELECT model, batch, throughput_per_s FROM model_report
        WHERE hardware = 'a100_sxm4_80' AND backend = 'tensorrt' AND precision = 'fp16'""",
    "energy by component": """
        SELECT model, compute_energy_j, memory_energy_j, static_energy_j FROM model_energy
        WHERE hardware = 'tpu_v4' AND batch = 8""",
    "modules by energy-delay product": """
        SELECT module, edp_js FROM module_edp
        WHERE model = '{model}' AND hardware = 'kpu_t256' AND batch = 1 ORDER BY edp_js DESC LIMIT 10""",
}
"""Ten natural questions to a whole file."""

GRID = "SELECT SUM(latency_s), SUM(energy_j), SUM(kernel_count) FROM model_cost"


@contextlib.contextmanager
def client(path: Path, read_only: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
    """A plain client of one thread."""
    connection = duckdb.connect(str(path), read_only=read_only)
    connection.execute("SET threads = 1")
    with contextlib.closing(connection):
        yield connection


def seconds(path: Path, query: str, repeat: int = 3) -> tuple[float, float, list[tuple[Any, ...]]]:
    """Least CPU and wall seconds of a query, each in a client of its own, and its rows."""
    cpu = wall = math.inf
    rows: list[tuple[Any, ...]] = []
    for _ in range(repeat):
        with client(path) as connection:
            start, begun = time.process_time(), time.perf_counter()
            rows = connection.execute(query).fetchall()
            cpu, wall = min(cpu, time.process_time() - start), min(wall, time.perf_counter() - begun)
    return cpu, wall, rows


def plan(path: Path, query: str) -> tuple[int, list[tuple[str, float]]]:
    """Table scans of a query, and the operators that take 80 % of its time with their shares."""
    with client(path) as connection:
        connection.execute("SET enable_profiling = 'no_output'; SET profiling_mode = 'detailed'")
        connection.execute(query).fetchall()
        profile = json.loads(connection.get_profiling_information(format="json"))
    scans, spent = 0, dict[str, float]()
    pending = list(profile["operator"])
    while pending:
        node = pending.pop()
        scans += "SCAN" in node["type"]
        spent[node["type"]] = spent.get(node["type"], 0.0) + float(node["timing"])
        pending += node.get("children", [])
    total = sum(spent.values())
    ranked = sorted(((kind, share / total) for kind, share in spent.items()), key=lambda pair: -pair[1])
    kept = 1 + next(i for i in range(len(ranked)) if sum(share for _, share in ranked[: i + 1]) >= 0.8)
    return scans, ranked[:kept]


def copied(path: Path, into: Path, count: int) -> Path:
    """A copy of a file in which the models stand several times, `count` of them in all."""
    from charz.sql import maintain

    shutil.copy(path, into)
    with client(into, read_only=False) as connection:
        names = [name for (name,) in connection.execute("SELECT model FROM model ORDER BY model").fetchall()]
        twins = [
            (names[i % len(names)], f"{names[i % len(names)]}~{i // len(names)}") for i in range(len(names), count)
        ]
        connection.begin()
        connection.execute("CREATE TEMP TABLE twin (model VARCHAR, name VARCHAR)")
        if twins:
            connection.executemany("INSERT INTO twin VALUES (?, ?)", twins)
        for row_type in [Model, *(t for t in database.TABLES if issubclass(t, ModelRow))]:
            table = row_type.TABLE
            connection.execute(
                f"INSERT INTO {table} BY NAME SELECT t.* REPLACE (w.name AS model) FROM {table} AS t JOIN twin AS w USING (model)"
            )
        maintain.add_runs(connection, models=[name for _, name in twins])
        connection.commit()
        connection.execute("CHECKPOINT")
    return into


def answers(path: Path, model: str) -> list[str]:
    """Lines of the table of answers."""
    lines = []
    for name, query in ANSWERS.items():
        asked = query.format(model=model)
        cpu, _, rows = seconds(path, asked)
        scans, operators = plan(path, asked)
        shown = ", ".join(f"{kind.lower()} {share:.0%}" for kind, share in operators)
        lines.append(f"| {name} | {cpu:.3f} | {len(rows)} | {scans} | {shown} |")
    return lines


def questions(path: Path, model: str) -> list[str]:
    """Lines of the table of natural questions."""
    lines = []
    for name, query in QUESTIONS.items():
        asked = query.format(model=model)
        cpu, wall, rows = seconds(path, asked)
        scans, operators = plan(path, asked)
        shown = ", ".join(f"{kind.lower()} {share:.0%}" for kind, share in operators)
        lines.append(f"| {name} | {cpu:.2f} | {wall:.2f} | {len(rows)} | {scans} | {shown} |")
    return lines


def grid(path: Path) -> str:
    """The whole grid's rate."""
    cpu, _, rows = seconds(path, GRID, repeat=1)
    return f"{rows[0][2]:,} kernel-targets in {cpu:.1f} CPU s: {rows[0][2] / cpu:,.0f} a core-second"


UPDATE = "UPDATE hardware_memory SET bandwidth_byte_per_s = bandwidth_byte_per_s * 1.01 WHERE hardware = '{part}' AND level = 'dram'"
SCENARIO = """
    INSERT INTO scenario SELECT * REPLACE (max_id + 1 AS scenario_id, 7 AS batch)
    FROM scenario CROSS JOIN (SELECT MAX(scenario_id) AS max_id FROM scenario) WHERE scenario_id = 13"""


def writes(path: Path) -> list[str]:
    """Lines of the table of writes from a plain client."""
    lines = []
    with client(path, read_only=False) as connection:
        parts = [part for (part,) in connection.execute("SELECT hardware FROM hardware ORDER BY 1 LIMIT 50").fetchall()]
        start = time.process_time()
        connection.execute(UPDATE.format(part="rtx4090"))
        lines.append(f"| UPDATE of one hardware number | {time.process_time() - start:.3f} |")
        start = time.process_time()
        connection.begin()
        for part in parts:
            connection.execute(UPDATE.format(part=part))
        connection.commit()
        lines.append(f"| 50 of them in one transaction | {time.process_time() - start:.2f} |")
        start = time.process_time()
        connection.execute(SCENARIO.replace("* REPLACE (max_id", "scenario.* REPLACE (max_id"))
        lines.append(f"| INSERT of a scenario | {time.process_time() - start:.2f} |")
    return lines


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="vit_b_16")
    parser.add_argument("--copies", type=int, nargs="*", default=[])
    parser.add_argument("--writes", action="store_true")
    arguments = parser.parse_args()
    print(pages.line())
    with tempfile.TemporaryDirectory() as folder:
        files = [arguments.file, *(copied(arguments.file, Path(folder) / f"{n}.duckdb", n) for n in arguments.copies)]
        for path in files:
            with client(path) as connection:
                count = connection.execute("SELECT COUNT(*) FROM model").fetchall()[0][0]
            print(f"\n## {count} models, {path.stat().st_size / 2**20:.0f} MiB\n")
            print("| answer | CPU s | rows | scans | operators |\n|---|---|---|---|---|")
            print("\n".join(answers(path, arguments.model)))
            if count <= 40:
                print("\n| question | CPU s | wall s | rows | scans | operators |\n|---|---|---|---|---|---|")
                print("\n".join(questions(path, arguments.model)))
                print(f"\nwhole grid: {grid(path)}")
            if arguments.writes:
                scratch = Path(folder) / "written.duckdb"
                shutil.copy(path, scratch)
                print("\n| write | CPU s |\n|---|---|")
                print("\n".join(writes(scratch)))


if __name__ == "__main__":
    main()
