"""Kills writing commands at random moments: the file must be the old or the new one each time, and sound.

    python -m benchmarks.hostile.kill FILE [--count 200] [--seed 1] [--only WORD] [--minutes 60]

FILE is a small charz database; a copy is changed. A file is old or new if its rows are those before or after the command. Every
new file is checked as by `charz doctor`, and after every kill the next command must be able to write.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import yaml

from benchmarks.hostile import CHARZ, charz, environment
from charz.schema import ddl
from charz.session import Session

TRACED = ("synthetic:mlp", "synthetic:conv2d")

MAPPING = tuple(
    f"--map={name}={name}" for name in ("model", "hardware", "backend", "precision", "batch", "latency_s")
)
"""Mapping of the columns of the measurement files."""

COMMANDS: dict[str, tuple[str, ...]] = {
    "ingest": ("ingest", *TRACED, "--jobs", "2"),
    "scenario add": ("scenario", "add", "--batch", "7", "--precision", "fp16"),
    "scenario remove": ("scenario", "remove", "2"),
    "hardware add": ("hardware", "add", "part.yaml"),
    "hardware remove": ("hardware", "remove", "killed"),
    "hardware sync": ("hardware", "sync"),
    "measurements import": ("measurements", "import", "more.csv", *MAPPING),
    "calibrate": ("calibrate", "hardware:t4", "--folds", "2", "--suite"),
    "refresh": ("refresh",),
    "export": ("export", "exported", "--models", "small", "--on", "t4"),
}
"""Command lines, one for each kind of change."""

State = dict[str, int]
"""Hash and number of rows by table."""


@dataclass
class Case:
    """A command, the file before it, and its result."""

    arguments: tuple[str, ...]
    start: Path
    duration_s: float
    old: State
    new: State
    files: frozenset[str]
    """Files of an export."""


def main() -> int:
    """Print the results by command. Return 1 if a file was neither old nor new, or unsound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="part of the commands' names")
    parser.add_argument("--minutes", type=float, default=math.inf, help="wall time after which no further command is killed")
    given = parser.parse_args()
    dice = random.Random(given.seed)
    end = time.monotonic() + 60.0 * given.minutes
    found: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory(prefix="charz-kill-") as name:
        folder = Path(name)
        cases = dict(_cases(folder, given.file, given.only))
        for number in range(given.count):
            if time.monotonic() > end:
                break
            command = list(cases)[number % len(cases)]
            outcome = _killed(folder, cases[command], dice)
            found.setdefault(command, Counter())[outcome] += 1
            if outcome not in ("old", "new"):
                print(f"{command}: {outcome}", flush=True)
    for command, counts in found.items():
        print(f"{command}: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    total = sum(found.values(), Counter())
    print(f"total: {total.total()} kills, " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(total.items())))
    return int(not set(total) <= {"old", "new"})


def _cases(folder: Path, file: Path, only: str) -> Iterator[tuple[str, Case]]:
    """Yield every command whose name contains `only`, run once to its end."""
    base = folder / "base.duckdb"
    shutil.copy(file, base)
    _write_inputs(folder)
    for arguments in (("measurements", "import", "times.csv", *MAPPING), ("hardware", "add", "part.yaml")):
        _done(folder, base, arguments)
    for name, arguments in COMMANDS.items():
        if only not in name:
            continue
        start, path = folder / f"start-{len(name)}{name[:3]}.duckdb", folder / "charz.duckdb"
        shutil.copy(base, start)
        if name == "hardware add":
            _done(folder, start, ("hardware", "remove", "killed"))
        shutil.copy(start, path)
        begun = time.monotonic()
        _done(folder, path, arguments)
        duration = time.monotonic() - begun
        yield name, Case(arguments, start, duration, _state(start), _state(path), _exported(folder))
        _tidy(folder)


def _killed(folder: Path, case: Case, dice: random.Random) -> str:
    """Kill a command at a random moment and return the state of the file."""
    path = folder / "charz.duckdb"
    shutil.copy(case.start, path)
    process = subprocess.Popen(
        [*CHARZ, "--db", str(path), *case.arguments],
        cwd=folder, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(dice.uniform(0.1, 1.1) * case.duration_s)
    process.kill()
    process.wait()
    outcome = _outcome(folder, path, case)
    after = charz(folder, "--db", str(path), "scenario", "add", "--batch", "77")
    if after.returncode:
        outcome = f"not writable ({after.stderr.strip()})"
    elif any(p.name.startswith(".charz.duckdb") for p in folder.iterdir()):
        outcome = "left a file"
    _tidy(folder)
    return outcome


def _outcome(folder: Path, path: Path, case: Case) -> str:
    state = _state(path)
    exported = _exported(folder)
    if exported not in (frozenset(), case.files):
        return f"partial export ({len(exported)} files)"
    if state != case.old and not _lies_between(state, case):
        differing = [name for name, rows in state.items() if rows not in (case.old.get(name), case.new.get(name))]
        return f"neither old nor new ({', '.join(differing)})"
    if path.read_bytes() == case.start.read_bytes():
        return "new" if exported else "old"
    with Session(path) as session:
        frame = session.doctor()
    wrong = frame.filter(~frame["is_well"])["what"].to_list()
    return f"unsound ({', '.join(wrong)})" if wrong else "old" if state == case.old else "new"


def _lies_between(state: State, case: Case) -> bool:
    return all(rows == case.new.get(name) for name, rows in state.items())


def _state(path: Path) -> State:
    """Return the rows of each table, without columns that differ from run to run."""
    with duckdb.connect(str(path), read_only=True) as connection:
        query = (
            "SELECT schema_name || '.' || table_name, list(column_name ORDER BY column_index) FROM duckdb_columns()"
            " SEMI JOIN duckdb_tables() USING (schema_name, table_name) WHERE data_type NOT LIKE 'TIMESTAMP%' AND data_type <> 'DOUBLE' GROUP BY ALL"
        )
        found = {}
        for table, columns in connection.execute(query).fetchall():
            listed = ", ".join(map(ddl.quote, columns))
            ((found[table],),) = connection.execute(
                f"SELECT sum(hash({listed})::HUGEINT)::VARCHAR || ' ' || count(*) FROM {table}"
            ).fetchall()
        return found


def _done(folder: Path, path: Path, arguments: tuple[str, ...]) -> None:
    done = charz(folder, "--db", str(path), *arguments)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")


def _write_inputs(folder: Path) -> None:
    """Write a part and invented times of models on parts."""
    shipped = next(Path(__file__).parents[2].glob("hardware_catalog/parts/**/t4.yaml"))
    part = yaml.safe_load(shipped.read_text()) | {"id": "killed", "name": "Killed", "aliases": []}
    (folder / "part.yaml").write_text(yaml.safe_dump(part, sort_keys=False))
    columns = ("model", "hardware", "backend", "precision", "batch", "latency_s")
    for name, factor in (("times.csv", 1.0), ("more.csv", 1.3)):
        with (folder / name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            for model in ("small", "other", "decoder"):
                for batch in range(1, 25):
                    writer.writerow([model, "t4", "eager", "fp32", batch, factor * 1e-4 * batch])


def _exported(folder: Path) -> frozenset[str]:
    exported = folder / "exported"
    return frozenset(str(p.relative_to(exported)) for p in exported.rglob("*"))


def _tidy(folder: Path) -> None:
    for name in ("exported", ".exported.part"):
        shutil.rmtree(folder / name, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
