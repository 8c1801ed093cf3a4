"""CPU time of questions, writes and exports in U, in files of several sizes.

    python -m benchmarks.engine FILE [--session] [--copies 20 100] [--live] [--writes] [--before FILE] [--export] [--ingest ROOT ...]

U is the CPU time of ten million empty passes of a Python loop, measured in the same process right before each figure, so that
figures of different machines and times are comparable. FILE is a charz database with its answers at hand. `--copies N` repeats the
questions on a file with N models, copies of those of FILE under other names, with the rows of their runs and answers. `--session`
measures questions to a session, live and from rows at hand. `--before` is a file of the same models by an earlier charz, whose writes
are measured too; `--ingest` are trees of charz whose ingest of five models is measured. The results are in docs/benchmark-engine.md.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import duckdb

import charz
from charz.schema import ddl
from charz.session import Session
from charz.sql import answers, evaluate, holder, scopes, triggers

T = TypeVar("T")
Rows = list[tuple[Any, ...]]

LOOP = "for _ in range(10_000_000): pass"
"""Statement whose CPU time is one U."""

TWELVE = {
    "fastest part for each model": """
        SELECT model, MIN_BY(hardware, latency_s), MIN(latency_s)
        FROM {schema}.model_report WHERE batch = 1 AND NOT is_simulated GROUP BY model""",
    "best precision by EDP for each model and part": """
        SELECT model, hardware, MIN_BY(precision, edp_js), MIN(edp_js)
        FROM {schema}.target_cost WHERE batch = 1 AND edp_js IS NOT NULL GROUP BY model, hardware""",
    "share of time that is memory-bound by part": """
        SELECT hardware, SUM(memory_s) / SUM(latency_s) FROM {schema}.model_cost GROUP BY hardware""",
    "Pareto front of price and time": """
        SELECT model, hardware, price_usd_per_hour, latency_s FROM (
            SELECT model, hardware, price_usd_per_hour, MIN(latency_s) AS latency_s
            FROM {schema}.target_cost WHERE batch = 1 AND price_usd_per_hour IS NOT NULL GROUP BY ALL)
        QUALIFY latency_s < COALESCE(MIN(latency_s) OVER (
            PARTITION BY model ORDER BY price_usd_per_hour, latency_s, hardware
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 'inf'::DOUBLE)""",
    "energy a sample by batch": """
        SELECT model, batch, MIN(energy_per_sample_j), MEDIAN(energy_per_sample_j)
        FROM {schema}.model_report GROUP BY model, batch""",
    "which parts fit which model": """
        SELECT model, batch, COUNT(DISTINCT hardware) FILTER (fits_device),
            LIST(DISTINCT hardware ORDER BY hardware) FILTER (NOT fits_device)
        FROM {schema}.model_memory GROUP BY model, batch""",
    "speed-up of fp16 and int8 over fp32": """
        SELECT hardware, precision, MEDIAN(speedup) FROM {schema}.precision_comparison
        WHERE precision IN ('fp16', 'int8') AND base_precision = 'fp32' GROUP BY hardware, precision""",
    "saturating batch": """
        SELECT model, hardware, MIN(saturating_batch) FROM {schema}.batch_sweep
        WHERE precision = 'fp16' GROUP BY model, hardware""",
    "ten hungriest runs": """
        SELECT model, hardware, scenario_id, energy_j FROM {schema}.model_report
        ORDER BY energy_j DESC NULLS LAST, model, hardware, scenario_id LIMIT 10""",
    "throughput a dollar": """
        SELECT model, MIN_BY(hardware, sample_usd), 1 / MIN(sample_usd)
        FROM {schema}.target_cost WHERE fits_device GROUP BY model""",
    "fastest part under 75 W": """
        SELECT c.model, MIN_BY(c.hardware, c.latency_s), MIN(c.latency_s)
        FROM {schema}.model_report AS c JOIN part AS p USING (hardware) WHERE p.tdp_w < 75 AND c.batch = 1 GROUP BY c.model""",
    "cheapest under 10 ms": """
        SELECT model, MIN_BY(hardware, price_usd_per_hour), MIN(price_usd_per_hour)
        FROM {schema}.target_cost WHERE batch = 1 AND latency_s < 0.01 GROUP BY model""",
}
"""Questions that people ask of a whole file; `{schema}` is `answer` or, for the live views, `main`."""

MODEL, OTHER, PART = "vit_b_16", "resnet18", "rtx4090"
PARTS = "rtx4090,t4,h100_sxm5_80,tpu_v4"
CLOCK = f"{PART}.sm.clock_boost_hz"
ASKED = {"on": PART, "batch": 1, "precision": "fp16"}

SESSION: dict[str, tuple[Callable[[Session], Any], float | None]] = {
    "nothing (opening and closing the file, in each figure below)": (lambda db: db.connection(), None),
    "one answer: a model on a part under a scenario": (
        lambda db: db.sql("SELECT * FROM model_report", model=MODEL, backend="inductor", **ASKED),
        1.0,
    ),
    "a model on all parts": (
        lambda db: db.sql("SELECT * FROM model_report", model=MODEL, batch=1, precision="fp16", backend="inductor"),
        3.0,
    ),
    "the same, each part's own backend (`compare`)": (
        lambda db: db.compare(MODEL, batch=1, precision="fp16", top=1000),
        3.0,
    ),
    "`report`": (lambda db: db.report(MODEL, **ASKED), 3.0),
    "`explain`": (lambda db: db.explain(MODEL, on=PART), 3.5),
    "`compare`, two models on four parts": (lambda db: db.compare(f"{MODEL},{OTHER}", on=PARTS), 3.5),
    "`recommend`, all parts": (lambda db: db.recommend(OTHER), 6.0),
    "`what-if`, one variant (`compare`)": (lambda db: db.what_if({CLOCK: 2.0e9}, "compare", MODEL, **ASKED), None),
    "`what-if`, three variants (`compare`)": (
        lambda db: db.what_if({CLOCK: [1.8e9, 2.0e9, 2.2e9]}, "compare", MODEL, **ASKED),
        None,
    ),
    "`what-if`, one variant (`report`)": (lambda db: db.what_if({CLOCK: 2.0e9}, "report", MODEL, **ASKED), None),
}
"""Questions to a session that was just opened, each with its target. [U]"""

A_VARIANT = ("`what-if`, one variant (`compare`)", "`what-if`, three variants (`compare`)", 4.0)
"""Two questions that differ by two variants, and the target for one variant. [U]"""

GRID = "SELECT SUM(kernel_count), SUM(latency_s), SUM(energy_j) FROM model_cost"

UPDATE = f"UPDATE hardware_memory SET bandwidth_byte_per_s = bandwidth_byte_per_s * 1.01 WHERE hardware = '{PART}' AND level = 'dram'"

SCENARIO = """
    INSERT INTO scenario SELECT s.* REPLACE (100000 + s.scenario_id * 1000 + r.i AS scenario_id, 100 + r.i AS batch)
    FROM (SELECT * FROM scenario WHERE phase = 'forward' AND batch = 1 ORDER BY scenario_id LIMIT {kinds}) AS s
    CROSS JOIN RANGE({batches}) AS r (i)"""
"""Statement that adds stored scenarios with new batches."""

PLAIN = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); c.execute('SET threads = 1'); c.execute(sys.argv[2]); c.close()"
"""Program of a plain client."""

FIVE = ("resnet18", "efficientnet_b0", "vit_b_16", "mobilenet_v2", "hf:gpt2")


# Measuring


def unit_s() -> float:
    """Measure U. [CPU s]"""
    start = time.process_time()
    exec(LOOP, {})
    return time.process_time() - start


def in_units(call: Callable[[], T], repeat: int = 3) -> tuple[float, T]:
    """Return the least time of some calls and the result of the last. [U]"""
    least = math.inf
    for _ in range(repeat):
        unit = unit_s()
        start = time.process_time()
        found = call()
        least = min(least, (time.process_time() - start) / unit)
    return least, found


def process_in_units(*arguments: object, cwd: Path | None = None) -> tuple[float, float]:
    """Return the CPU time of a process and its children [U] and its peak memory [MiB]. Raise RuntimeError if it fails."""
    unit = unit_s()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([str(a) for a in arguments], stdout=said, stderr=said, cwd=cwd)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise RuntimeError(said.read().decode()[-2000:])
    return (usage.ru_utime + usage.ru_stime) / statistics.mean((unit, unit_s())), usage.ru_maxrss / 1024


@contextlib.contextmanager
def client(path: Path, read_only: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a plain client of one thread."""
    with contextlib.closing(duckdb.connect(str(path), read_only=read_only)) as connection:
        connection.execute("SET threads = 1")
        yield connection


@contextlib.contextmanager
def copy_of(path: Path) -> Iterator[Path]:
    """Make a writable copy in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(shutil.copy(path, Path(folder) / "copy.duckdb"))


def asked(path: Path, query: str, repeat: int = 1) -> tuple[float, Rows]:
    """Return the least time of a query [U], each time in a plain client that has just opened the file, and its rows."""
    least, rows = math.inf, Rows()
    for _ in range(repeat):
        with client(path) as connection:
            spent, rows = in_units(lambda: connection.execute(query).fetchall(), 1)
            least = min(least, spent)
    return least, rows


def copied(path: Path, into: Path, count: int) -> Path:
    """Copy a file and repeat its models under other names up to `count`, with the rows of their facts, runs and answers."""
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
        query = (
            "SELECT DISTINCT schema_name, table_name FROM duckdb_columns() JOIN duckdb_tables() USING (schema_name, table_name)"
            " WHERE column_name = 'model' AND schema_name IN ('main', 'answer')"
            " ORDER BY schema_name DESC, table_name"  # answers last, because triggers on the other tables delete them
        )
        with triggers.writing(connection):
            for schema, table in connection.execute(query).fetchall():
                name = f"{schema}.{ddl.quote(table)}"
                rows = f"SELECT t.* REPLACE (w.name AS model) FROM {name} AS t JOIN twin AS w USING (model)"
                connection.execute(f"INSERT INTO {name} BY NAME {rows}")
        connection.commit()
        connection.execute("CHECKPOINT")
    return into


# Tables of the page


def same(some: Rows, others: Rows) -> bool:
    """Compare two lists of rows in any order: numbers within 1e-12, other values exactly."""

    def order(rows: Rows) -> Rows:
        return sorted(rows, key=lambda row: [f"{v:.9e}" if isinstance(v, float) else str(v) for v in row])

    def near(one: object, other: object) -> bool:
        if isinstance(one, float) and isinstance(other, float):
            return math.isclose(one, other, rel_tol=answers.ROUNDING)
        return one == other

    return len(some) == len(others) and all(
        all(map(near, one, other)) for one, other in zip(order(some), order(others), strict=True)
    )


def twelve(files: Sequence[Path], is_live: bool) -> Iterator[str]:
    """Tabulate the twelve questions in every file, and live in the first."""
    heads = [f"{asked(path, 'SELECT COUNT(*) FROM model')[1][0][0]} models" for path in files]
    yield f"| question | {' | '.join(heads)} | last over first | rows |{' live | rows as live |' if is_live else ''}"
    yield "|---" * (3 + len(files) + 2 * is_live) + "|"
    for name, query in TWELVE.items():
        found = [asked(path, query.format(schema="answer"), 5) for path in files]
        figures = [f"{u:.3f}" for u, _ in found]
        cells = [name, *figures, f"{found[-1][0] / found[0][0]:.1f}", f"{len(found[0][1])} to {len(found[-1][1])}"]
        if is_live:
            u, rows = asked(files[0], query.format(schema="main"))
            cells += [f"{u:.1f}", "yes" if same(found[0][1], rows) else "**no**"]
        yield f"| {' | '.join(cells)} |"
    opened = [f"{in_units(partial(_open, path), 5)[0]:.3f}" for path in files]
    yield f"| (opening the file, once a client) | {' | '.join(opened)} |"


def _open(path: Path) -> None:
    with client(path):
        pass


def sessions(path: Path) -> Iterator[str]:
    """Tabulate questions to a session, live and from rows at hand, each in a session of its own."""

    def asks(question: Callable[[Session], Any], is_live: bool) -> Any:
        with charz.open(path, is_live=is_live) as db:
            return question(db)

    for question, _ in SESSION.values():
        asks(question, True)  # imports
    yield "| question to a session | live, U | at hand, U | target, U |\n|---|---|---|---|"
    found: dict[str, list[float]] = {}
    for name, (question, most) in SESSION.items():
        found[name] = [in_units(partial(asks, question, is_live))[0] for is_live in (True, False)]
        yield _row(name, found[name], most)
    one, three, most = A_VARIANT
    a_variant = [(c - a) / 2 for a, c in zip(found[one], found[three], strict=True)]
    yield _row("a further variant of a `what-if`", a_variant, most)
    u, rows = in_units(lambda: asks(lambda db: db.sql(GRID, timeout=0), True), 1)
    kernels = int(rows[0, 0])
    yield f"\nThe grid, live through a session: {kernels:,} kernel-targets in {u:.1f} U: {kernels / u:,.0f} a U (target 100,000)."


def _row(name: str, figures: Sequence[float], most: float | None) -> str:
    return f"| {name} | {' | '.join(f'{u:.2f}' for u in figures)} | {'' if most is None else f'{most:g}'} |"


STEPS = ("tile_step", "cost_border", evaluate.COSTED, "model_cost", "model_report")
"""Relations that a session evaluates one after another for a live answer: those that are read twice, and the costs."""


def planned(path: Path) -> Iterator[str]:
    """Tabulate the time of one live answer, as one statement of a plain client and step by step as in a session."""
    with charz.open(path) as db:
        row = db.conditions({"batch": 1, "precision": "fp16", "backend": "inductor"})
        rows, held = db.numbered([row])
    scope = scopes.Scope(
        models=[MODEL], hardware=[PART], targets=[(PART, "inductor", "fp16")], scenarios=rows, stored=held
    )
    spent: dict[tuple[str, str], list[float]] = {}

    def took(step: str, kind: str, call: Callable[[], object], unit: float) -> None:
        start = time.process_time()
        call()
        spent.setdefault((step, kind), []).append((time.process_time() - start) / unit)

    for _ in range(5):
        unit = unit_s()
        with client(path) as connection:

            def evaluated(step: str, query: str, unit: float, connection: duckdb.DuckDBPyConnection) -> None:
                took(step, "planning", lambda: connection.execute(f"PREPARE planned AS {query}"), unit)
                took(step, "both", lambda: connection.execute(query).fetchall(), unit)

            took("the first statement in the file", "both", lambda: connection.execute("FROM model").fetchall(), unit)
            took("scoping the tables", "both", lambda: holder.hold(connection, scope), unit)
            evaluated("model_report as one statement", "SELECT * FROM model_report", unit, connection)
            with evaluate.planned_briefly(connection):
                evaluated("the same, planned briefly", "SELECT * FROM model_report", unit, connection)
                for name in STEPS:
                    evaluated(f"step by step: {name}", f"SELECT * FROM {name}", unit, connection)
                    connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM {name}")
    yield "| one live answer | planning, U | planning and execution, U |\n|---|---|---|"
    for step in dict.fromkeys(step for step, _ in spent):
        planning, both = (spent.get((step, kind)) for kind in ("planning", "both"))
        yield f"| {step} | {f'{min(planning):.2f}' if planning else ''} | {min(both or [math.nan]):.2f} |"


def writes(files: Sequence[Path]) -> Iterator[str]:
    """Tabulate writes of a plain client to copies of files, and the processes' memory."""
    yield f"| write | {' | '.join(f'{path.name}, U' for path in files)} | {' | '.join(f'{path.name}, MiB' for path in files)} |"
    yield "|---" * (1 + 2 * len(files)) + "|"
    statements = {
        "nothing (the process alone)": "SELECT 1",
        "UPDATE of one number of a part": UPDATE,
        "INSERT of a scenario": SCENARIO.format(kinds=1, batches=1),
        "INSERT of 500 scenarios in one statement": SCENARIO.format(kinds=10, batches=50),
    }
    for name, statement in statements.items():
        found = []
        for path in files:
            figures = []
            for _ in range(1 if "500" in name else 3):
                with copy_of(path) as copy:
                    figures.append(process_in_units(sys.executable, "-c", PLAIN, copy, statement))
            found.append((min(u for u, _ in figures), max(peak for _, peak in figures)))
        cells = [f"{u:.2f}" for u, _ in found] + [f"{peak:.0f}" for _, peak in found]
        yield f"| {name} | {' | '.join(cells)} |"


def exports(files: Sequence[Path]) -> Iterator[str]:
    """Tabulate exports of whole files, tables and reports, as parquet."""
    yield "| export | U | MiB at the peak | MiB written |\n|---|---|---|---|"
    for path in files:
        for options in ([], ["--full"]):
            with tempfile.TemporaryDirectory() as folder:
                into = Path(folder) / "out"
                run = (sys.executable, "-m", "charz", "export", into, "--force", "--db", path, *options)
                u, peak = process_in_units(*run)
                size = sum(file.stat().st_size for file in into.rglob("*") if file.is_file())
            yield f"| {' '.join([path.name, *options])} | {u:.0f} | {peak:.0f} | {size / 2**20:.0f} |"


def ingests(roots: Sequence[Path]) -> Iterator[str]:
    """Tabulate the ingest of five models by trees of charz, with and without answers where the tree has them."""
    yield "| ingest | U | MiB at the peak | file, MiB |\n|---|---|---|---|"
    for root in roots:
        python = root / ".venv" / "bin" / "python"
        has_answers = (root / "src" / "charz" / "sql" / "answers.py").exists()
        for options in ([], ["--no-answers"]) if has_answers else ([],):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "made.duckdb"
                u, peak = process_in_units(python, "-m", "charz", "ingest", *FIVE, "--db", file, *options, cwd=root)
                size = file.stat().st_size / 2**20
            yield f"| {' '.join([root.name, 'five models', *options])} | {u:.0f} | {peak:.0f} | {size:.1f} |"


@dataclasses.dataclass
class Options:
    """Options of the command line."""

    file: Path
    copies: list[int]
    before: Path | None
    ingest: list[Path]
    session: bool
    live: bool
    writes: bool
    export: bool


def main() -> None:
    """Print every requested table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--copies", type=int, nargs="*", default=[])
    parser.add_argument("--before", type=Path)
    parser.add_argument("--ingest", type=Path, nargs="*", default=[])
    for name in ("session", "live", "writes", "export"):
        parser.add_argument(f"--{name}", action="store_true")
    options = Options(**vars(parser.parse_args()))
    print(f"U: {unit_s():.3f} CPU s; load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:

        def made(source: Path, count: int) -> Path:
            return copied(source, Path(folder) / f"{source.stem}_{count}.duckdb", count)

        files = [options.file, *(made(options.file, count) for count in options.copies)]
        for path in files:
            print(f"{path.name}: {path.stat().st_size / 2**20:.1f} MiB")
        tables = [twelve(files, options.live)]
        if options.session:
            tables += [sessions(options.file), planned(options.file)]
        if options.writes:
            for i, path in enumerate(files):
                count = [len(FIVE), *options.copies][i]
                before = [options.before if i == 0 else made(options.before, count)] if options.before else []
                tables.append(writes([*before, path]))
        if options.export:
            tables.append(exports(files))
        if options.ingest:
            tables.append(ingests(options.ingest))
        for lines in tables:
            print(flush=True)
            for line in lines:
                print(line, flush=True)
        print(f"\nload {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
