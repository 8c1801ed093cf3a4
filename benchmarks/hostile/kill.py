"""Kills writing commands at random moments: the file must be the old or the new one each time, and sound.

    python -m benchmarks.hostile.kill FILE [--count 200] [--seed 1] [--only ingest,refresh] [--minutes 60]

FILE is a small charz database; a copy is changed. A file is old or new if its objects and rows are those before or after the
command, which `charz doctor` finds sound, and as many answers have an invalid seal. Ingest writes models first and their answers
afterwards: a file whose models are whole or absent, each with all of its answers or none, is `unfilled`. Its `answer_state` must count
the missing answers, the models must be answered with the numbers of the new file, and `charz refresh` must make it the new file. After
every other kill the next command must be able to write.
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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import yaml

from benchmarks.hostile import CHARZ, charz, environment
from charz.schema import ddl
from charz.session import Session
from charz.sql import foreign, seals
from charz.sql.answers import STORED as ANSWERS
from charz.sql.layers import REBUILD

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

CHANGED_BEFORE = {
    "refresh": (
        "UPDATE model SET source = 'test:changed' WHERE model = 'small'",
        "DELETE FROM answer.stored WHERE model = 'other'",
    ),
}
"""Statements of another client before a command: a refresh evaluates a model whose facts were changed, and missing answers."""

OUTCOMES = frozenset({"old", "new", "unfilled"})
"""Outcomes that are right."""

MEASURED = ("ingest_s", "seal")
"""Columns that differ from run to run, like those of timestamps; a seal contains the last digits of numbers."""

NEAR = 1e-9
"""Largest relative difference of equal sums, which depend on the order of the rows."""

Key = tuple[str, str]
"""Table with its schema, and a model of its rows; empty for rows without a model."""


@dataclass(frozen=True, slots=True)
class Content:
    """Rows of a table, for one model if they have one."""

    count: int
    digest: str
    """Digest of all values except numbers of type DOUBLE."""
    sums: tuple[float | None, ...]
    """Sum of each column of type DOUBLE."""

    def equals(self, other: Content | None) -> bool:
        """Return whether these are the same rows, apart from rounding."""
        if other is None or (self.count, self.digest) != (other.count, other.digest):
            return False
        pairs = zip(self.sums, other.sums, strict=True)
        return all(a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=NEAR)) for a, b in pairs)


State = dict[Key, Content]
"""Contents of a file."""


@dataclass
class Case:
    """A command, the file before it, and its result."""

    name: str
    arguments: tuple[str, ...]
    start: Path
    end: Path
    duration_s: float
    old: State
    new: State
    files: frozenset[str]
    """Files of an export."""
    unsealed: Mapping[str, int]
    """Number of answers with an invalid seal in the old and the new file."""

    @property
    def ingested(self) -> list[str]:
        """Models that only the new file has, if the command is an ingest."""
        models = {model for _, model in self.new} - {model for _, model in self.old}
        return sorted(models) if self.name == "ingest" else []


def main() -> int:
    """Print the results by command. Return 1 if a file was neither old nor new, or unsound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="parts of the commands' names, separated by commas")
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
            if outcome not in OUTCOMES:
                print(f"{command}: {outcome}", flush=True)
    for command, counts in found.items():
        print(f"{command}: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    total = sum(found.values(), Counter())
    print(f"total: {total.total()} kills, " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(total.items())))
    return int(not set(total) <= OUTCOMES)


def _cases(folder: Path, file: Path, only: str) -> Iterator[tuple[str, Case]]:
    """Yield every command whose name contains a word of `only`, run once to its end."""
    base = folder / "base.duckdb"
    shutil.copy(file, base)
    _write_inputs(folder)
    for arguments in (("measurements", "import", "times.csv", *MAPPING), ("hardware", "add", "part.yaml")):
        _done(folder, base, arguments)
    for name, arguments in COMMANDS.items():
        if not any(word in name for word in only.split(",")):
            continue
        start, end = (folder / f"{when}-{name.replace(' ', '-')}.duckdb" for when in ("start", "end"))
        path = folder / "charz.duckdb"
        shutil.copy(base, start)
        if name == "hardware add":
            _done(folder, start, ("hardware", "remove", "killed"))
        with duckdb.connect(str(start)) as connection:
            for statement in CHANGED_BEFORE.get(name, ()):
                connection.execute(statement)
        shutil.copy(start, path)
        begun = time.monotonic()
        _done(folder, path, arguments)
        duration = time.monotonic() - begun
        shutil.copy(path, end)
        if wrong := _faults(end):
            sys.exit(f"{name}: unsound without a kill ({wrong})")
        unsealed = {"old": _unsealed(start), "new": _unsealed(end)}
        yield name, Case(name, arguments, start, end, duration, state_of(start), state_of(path), _exported(folder), unsealed)
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
    if outcome in case.unsealed and (count := _unsealed(path)) != case.unsealed[outcome]:
        outcome = f"{outcome}, but {count} answers have an invalid seal"
    next = ("refresh",) if outcome == "unfilled" else ("scenario", "remove", "3")
    after = charz(folder, "--db", str(path), *next)
    if after.returncode:
        outcome = f"not writable ({after.stderr.strip()})"
    elif outcome == "unfilled" and (others := _refreshed_otherwise(state_of(path), case.new)):
        outcome = f"filled in with other rows ({', '.join(others)})"
    elif any(p.name.startswith((".charz.duckdb", ".writing-")) for p in folder.iterdir()):
        outcome = "left a file"
    _tidy(folder)
    return outcome


def _outcome(folder: Path, path: Path, case: Case) -> str:
    exported = _exported(folder)
    if exported not in (frozenset(), case.files):
        return f"partial export ({len(exported)} files)"
    if path.read_bytes() == case.start.read_bytes():
        return "new" if exported else "old"
    state = state_of(path)
    if not differing_keys(state, case.old):
        return "old"
    differing = differing_keys(state, case.new)
    if not differing:
        return "new"
    unanswered = [model for model in case.ingested if is_unanswered(state, case.new, model)]
    absent = [model for model in case.ingested if not any(of == model for _, of in state)]
    if any(model not in (*unanswered, *absent) for _, model in differing):
        return f"neither old nor new ({', '.join(table for table, _ in differing)})"
    return _unfilled(path, case, unanswered)


def _refreshed_otherwise(state: State, new: State) -> list[str]:
    """List the tables whose rows a refreshed file does not share with the new file. A refresh empties the queues of the triggers."""
    return [table for table, _ in differing_keys(state, new) if not table.startswith(f"{REBUILD}.")]


def is_unanswered(state: State, new: State, model: str) -> bool:
    """Return whether a file has all rows of a model except its answers, and none of these."""
    return [key for key in differing_keys(state, new) if key[1] == model] == [(ANSWERS, model)] and (ANSWERS, model) not in state


def _unfilled(path: Path, case: Case, unanswered: list[str]) -> str:
    """Check a file without the answers of some models: it must count them, and answer with the numbers of the new file."""
    with Session(path) as session, Session(case.end) as end:
        query = "SELECT model, CAST(SUM(missing_count) AS BIGINT) AS n FROM answer_state WHERE missing_count > 0 GROUP BY model"
        counted = dict(session.sql(query).iter_rows())
        if counted != {model: case.new[ANSWERS, model].count for model in unanswered}:
            return f"unfilled, but counts {counted}"
        for model in unanswered:
            found, wanted = (of.compare(model, on="t4").rows() for of in (session, end))
            if len(found) != len(wanted) or not all(map(_are_near, found, wanted)):
                return f"unfilled, with another answer for {model}"
    return "unfilled"


def _are_near(row: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return all(
        math.isclose(a, b, rel_tol=NEAR) if isinstance(a, float) and isinstance(b, float) else a == b
        for a, b in zip(row, other, strict=True)
    )


def _faults(path: Path) -> str:
    with Session(path) as session:
        frame = session.doctor()
    return ", ".join(frame.filter(~frame["is_well"])["what"].to_list())


def differing_keys(state: State, other: State) -> list[Key]:
    """List the tables and models whose rows differ."""
    return sorted(key for key in state.keys() | other.keys() if key not in state or not state[key].equals(other.get(key)))


def state_of(path: Path) -> State:
    """Return the contents of a file, without columns that differ from run to run."""
    with duckdb.connect(str(path), read_only=True) as connection:
        found = {
            (f"object {name}", ""): Content(1, text, ()) for name, text in foreign.objects(connection, is_whole=True).items()
        }
        query = """
            SELECT schema_name || '.' || table_name, list((column_name, data_type) ORDER BY column_index) FROM duckdb_columns()
            SEMI JOIN duckdb_tables() USING (schema_name, table_name)
            WHERE data_type NOT LIKE 'TIMESTAMP%' AND NOT list_contains(?, column_name) GROUP BY ALL
        """
        for table, columns in connection.execute(query, [MEASURED]).fetchall():
            kinds = dict(columns)
            model = "model" if "model" in kinds else "run.model" if "run" in kinds else "''"
            exact = ", ".join(ddl.quote(name) for name, kind in columns if kind != "DOUBLE")
            sums = "".join(f", sum({ddl.quote(name)})" for name, kind in columns if kind == "DOUBLE")
            rows = connection.execute(
                f"SELECT COALESCE({model}, ''), count(*), sum(hash({exact})::HUGEINT)::VARCHAR{sums} FROM {table} GROUP BY 1"
            ).fetchall()
            found |= {(table, of): Content(count, digest, tuple(added)) for of, count, digest, *added in rows}
        return found


def _unsealed(path: Path) -> int:
    with duckdb.connect(str(path), read_only=True) as connection:
        return seals.unsealed(connection)


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
