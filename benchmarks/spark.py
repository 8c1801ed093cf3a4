"""Compares the answers and CPU time of another engine with DuckDB's, and checks the files that killed refreshes and merges leave.

    python -m benchmarks.spark FOLDER [--models 2,4,8] [--workers 0,2] [--merge 10] [--kills 30]
    python -m benchmarks.spark FOLDER --models '' --merge 0 --kills 0 --trace [--spark PYTHON]

FOLDER gets files of generated models on some parts of every family. For each count of models DuckDB and an engine started by
`charz engine start` fill the answers at hand of all stored scenarios on all these parts. Printed are the CPU time of each, the
engine's peak memory, the number of rows that differ by more than 1e-9, and the exponent of CPU time in the number of models, from
the first and last count. `--merge` merges this number of files and compares the result with one ingest of all; `--kills` kills
refreshes and merges at random moments. `--trace` ingests twenty of torchvision's networks with one and two workers of Sail, and
of the Spark 4 in the environment of PYTHON (with `pyspark` and the packages of charz). Times are CPU seconds and U: ten million
empty passes of a Python loop.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import polars as pl

import charz
from charz.ingest.rows import content_hash
from charz.session import Session
from charz.sql import answers, maintain

from . import spark_views, study
from .engine import unit_s

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

EQUAL = 1e-9
"""Relative difference below which numbers count as equal."""

TICK_S = 1 / os.sysconf("SC_CLK_TCK")

NETWORKS = (
    "resnet101", "resnet152", "efficientnet_b3", "efficientnet_b4", "efficientnet_v2_s", "densenet169", "densenet201", "regnet_y_8gf",
    "regnet_x_16gf", "inception_v3", "vit_l_16", "vit_b_16", "swin_b", "swin_v2_t", "convnext_base", "maxvit_t", "resnext101_32x8d",
    "mnasnet1_3", "vgg19", "wide_resnet101_2",
)  # fmt: skip
"""Large networks of torchvision."""

ROWS = "SELECT * EXCLUDE (seal) FROM answer.stored ORDER BY model, hardware, scenario_id"


def main() -> None:
    """Run the comparisons and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", default="2,4,8")
    parser.add_argument("--workers", default="0,2")
    parser.add_argument("--merge", type=int, default=10)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=40)
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--spark", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    unit = unit_s()
    text = [f"{os.uname()[0]} with {os.cpu_count()} cores; one U is {unit:.2f} CPU s."]
    tables = []
    counts = [int(count) for count in given.models.split(",") if count]
    workers = [int(count) for count in given.workers.split(",") if count]
    if counts and workers:
        grid = pl.DataFrame([row for w in workers for row in _filled(given.folder, counts, w)])
        tables.append(("Answers of every stored scenario on every part", grid))
        for by, of in grid.group_by("workers", maintain_order=True):
            text.append(f"With {by[0]} workers the engine's CPU time grows with the exponent {_exponent(of):.2f}.")
    if given.merge:
        tables.append(("Files merged into one", pl.DataFrame([_merged(given.folder, given.merge, unit)])))
    if given.kills:
        tables.append(("Killed at random moments", pl.DataFrame(_killed(given.folder, given.kills, given.seed))))
    if given.trace:
        traced = pl.DataFrame([*_traced(given.folder, None), *(_traced(given.folder, given.spark) if given.spark else ())])
        tables.append(("Twenty networks ingested over one and over two workers", traced))
    study.print_wide()
    print("\n".join(text))
    for heading, frame in tables:
        print(heading, frame, sep="\n")


def _file(path: Path, seeds: Sequence[int], with_answers: bool) -> Path:
    """Make a file of generated models, each from its own seed."""
    import conftest
    from oracle.database import ingested
    from whole.generated import graph

    from charz.ingest import write

    start = path.with_name("few_parts.duckdb")
    if not start.exists():
        conftest._few_parts(start)
    path.unlink(missing_ok=True)
    shutil.copy(start, path)
    with charz.open(path) as session, session.changing(fills=False) as connection:
        models = [ingested(graph(seed), f"model_{seed:03}") for seed in seeds]
        for model in models:
            model.model["content_hash"] = content_hash(model.columns, model.model)
        write.write(connection, models, maintain.add_models if with_answers else maintain.add_runs)
    return path


def _filled(folder: Path, counts: Sequence[int], workers: int) -> Iterator[dict[str, object]]:
    """Measure the CPU time of filling answers with DuckDB and with an engine."""
    for count in counts:
        own = _file(folder / f"own_{count}.duckdb", range(count), with_answers=False)
        other = Path(shutil.copy(own, folder / f"engine_{count}.duckdb"))
        before = time.process_time()
        with charz.open(own) as session:
            session.refresh()
            here_s = time.process_time() - before
            expected = session.connection().sql(ROWS).pl()
        before = time.process_time()
        with charz.open(other) as session:
            session.export(f"{other}.rows", for_="spark")
        export_s = time.process_time() - before
        before, started = time.process_time(), time.monotonic()
        with _engine(workers) as (address, cpu), charz.open(other, engine=address) as session:
            session.refresh()
            client_s, wall_s = time.process_time() - before, time.monotonic() - started
            engine_s, most_gb = cpu()
        with charz.open(other) as session:
            differing = _differing(expected, session.connection().sql(ROWS).pl())
        yield {
            "workers": workers, "models": count, "rows": len(expected), "duckdb_cpu_s": here_s, "export_cpu_s": export_s,
            "engine_cpu_s": engine_s, "client_cpu_s": client_s, "wall_s": wall_s, "ratio": (engine_s + client_s) / here_s,
            "most_gb": most_gb, "differing_rows": differing,
        }  # fmt: skip


def _traced(folder: Path, python: Path | None) -> Iterator[dict[str, object]]:
    """Measure the wall time of an ingest of the networks with one and with two workers."""
    names = folder / "names.txt"
    names.write_text("\n".join(NETWORKS) + "\n")
    walls: list[float] = []
    for workers in (1, 2):
        started = _engine(workers) if python is None else spark_views.server(python, workers)
        with started as answer:
            address = answer if isinstance(answer, str) else answer[0]
            path = folder / f"traced_{'sail' if python is None else 'spark'}_{workers}.duckdb"
            path.unlink(missing_ok=True)
            command = [sys.executable, "-m", "charz", "--db", str(path), "--engine", address, "ingest", "--list", str(names)]
            began = time.monotonic()
            subprocess.run([*command, "--no-answers", "--jobs", str(workers)], check=True, capture_output=True)
            walls.append(time.monotonic() - began)
        yield {
            "engine": "Sail" if python is None else "Spark", "workers": workers, "models": len(NETWORKS), "wall_s": walls[-1],
            "times_as_fast": walls[0] / walls[-1],
        }  # fmt: skip


def _exponent(grid: pl.DataFrame) -> float:
    first, *_, last = grid.rows(named=True) if len(grid) > 1 else [*grid.rows(named=True), *grid.rows(named=True)]
    if first["models"] == last["models"]:
        return math.nan
    return math.log(last["engine_cpu_s"] / first["engine_cpu_s"]) / math.log(last["models"] / first["models"])


def _differing(expected: pl.DataFrame, found: pl.DataFrame) -> int:
    """Count the rows in which two tables of answers differ, or all rows if their keys differ."""
    keys = ["model", "hardware", "scenario_id"]
    if expected.select(keys).rows() != found.select(keys).rows():
        return max(len(expected), len(found))
    # The tolerance of a part of a time or energy is relative to the whole, since the rounding error of a difference is.
    wholes = {"_s": "latency_s", "_j": "energy_j"}
    wrong = pl.Series([False] * len(expected))
    for name, kind in expected.schema.items():
        one, other = expected[name], found[name]
        differs = one.ne_missing(other)
        if kind == pl.Float64:
            whole = next((w for end, w in wholes.items() if name.endswith(end)), name)
            size = pl.DataFrame([one.abs().alias("a"), other.abs().alias("b"), expected[whole].abs().alias("c")])
            near = (one - other).abs() <= EQUAL * size.max_horizontal()
            differs = differs & ~near.fill_null(value=False)
        wrong = wrong | differs
    return int(wrong.sum())


@contextlib.contextmanager
def _engine(workers: int) -> Iterator[tuple[str, Callable[[], tuple[float, float]]]]:
    """Start an engine. Yield its address, and a function that returns its CPU seconds and peak memory [GB]."""
    port = spark_views.free_port()
    command = [sys.executable, "-m", "charz", "engine", "start", "--port", str(port), "--workers", str(workers)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        spark_views.await_listener(port)

        def used() -> tuple[float, float]:
            times = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
            return (int(times[11]) + int(times[12])) * TICK_S, int(peak.split()[1]) * 1024 / 1e9

        yield f"sc://localhost:{port}", used
    finally:
        process.kill()
        process.wait()


def _merged(folder: Path, files: int, unit: float, models: int = 4) -> dict[str, object]:
    """Merge files of some models each into one."""
    seeds = [range(i * models, (i + 1) * models) for i in range(files)]
    parts = [_file(folder / f"part_{i}.duckdb", each, with_answers=True) for i, each in enumerate(seeds)]
    whole = _file(folder / "whole.duckdb", range(files * models), with_answers=True)
    into = Path(shutil.copy(folder / "few_parts.duckdb", folder / "into.duckdb"))
    before = time.process_time()
    with charz.open(into) as session:
        session.merge(parts)
        merged_s = time.process_time() - before
        found = session.connection().sql(ROWS).pl()
    with charz.open(whole) as session:
        differing = _differing(session.connection().sql(ROWS).pl(), found)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {
        "files": files, "models_a_file": models, "cpu_s": merged_s, "u": merged_s / unit, "rows": len(found),
        "differing_rows": differing, "most_gb": peak,
    }  # fmt: skip


def _killed(folder: Path, kills: int, seed: int) -> Iterator[dict[str, object]]:
    """Kill refreshes by an engine and merges at random moments, and finish them."""
    chance = random.Random(seed)
    merged = [_file(folder / f"killed_{i}.duckdb", [100 + i], with_answers=True) for i in range(3)]
    start = _file(folder / "killed_start.duckdb", range(3), with_answers=False)
    with charz.open(start) as session:
        session.export(folder / "killed.rows", for_="spark")
    with _engine(0) as (address, _):
        commands = {
            "refresh": (["--engine", address, "--rows", str(folder / "killed.rows"), "refresh"], kills // 2),
            "merge": (["merge", *map(str, merged)], kills - kills // 2),
        }
        for name, (words, count) in commands.items():
            into = folder / "killed_into.duckdb"
            command = [sys.executable, "-m", "charz", "--db", str(into), *words]
            shutil.copy(start, into)
            began = time.monotonic()
            subprocess.run(command, check=True, capture_output=True)
            took, half = time.monotonic() - began, 0
            with charz.open(into) as session:
                expected = session.connection().sql(ROWS).pl()
            for _ in range(count):
                shutil.copy(start, into)
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(chance.uniform(0.2, 1.0) * took)
                process.send_signal(signal.SIGKILL)
                process.wait()
                with charz.open(into) as session:
                    half += _is_half(session)
                subprocess.run(command, check=True, capture_output=True)
                with charz.open(into) as session:
                    half += _differing(expected, session.connection().sql(ROWS).pl()) > 0
            yield {"command": name, "kills": count, "not_whole": half, "wall_s": took}


def _is_half(session: Session) -> bool:
    connection = session.connection()
    return bool(maintain.differences(connection) or answers.differences(connection))


if __name__ == "__main__":
    main()
