"""Whether answers at hand are right or not there after changes of every fact, and after a writer's end at any moment.

    python -m benchmarks.answer_changes FOLDER [--changes 70] [--kills 30] [--seed 32] [--page docs/answer-changes.md]

FOLDER gets a file of three generated models on four parts with all its answers. Each change starts from that file: an UPDATE, an
INSERT and a DELETE of a row of every fact by a plain client, and some by command. After it every answer is held against its live
view, and those that went are counted by what they are of: a change of one part, scenario or model may touch no other's answers,
only rules may. Then a writer is killed at random moments, and the answers held against the live views again. `--changes` draws
so many of the statements by the seed. `--page` is written with what is found, and with the list of which facts clear which answers.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

import charz
from charz.cli import display, pages
from charz.schema import database
from charz.schema.errors import CharzError
from charz.schema.row import ModelRow, Row
from charz.session import Session
from charz.sql import answers, maintain, triggers

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

PARTS = ("t4", "a10", "i7_13700k", "kpu_t64")
"""A part of most families, and two of one."""

PART, MODEL, SCENARIO = "t4", "small", 1
"""What a change is of, where a fact says of what its rows are."""

Answered = set[tuple[str, str, int]]
"""Model, part and scenario of rows at hand."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a fact."""

    fact: str
    kind: str
    run: Callable[[Path], object]
    touched: str | None
    """Condition on the answers that may go; None where the fact is a rule."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a change left."""

    differing: int
    gone: int
    others: int
    """Answers gone that are of other parts, scenarios or models."""
    parts: int
    error: str = ""


def made(folder: Path) -> Path:
    """The file that changes start from."""
    from oracle.database import ingested
    from whole.generated import graph

    from charz.ingest import write

    path = folder / "answered.duckdb"
    path.unlink(missing_ok=True)
    with Session(path) as session, session.changing() as connection:
        with maintain.bulk(connection):
            for row_type in database.TABLES:
                if "hardware" in row_type.model_fields:
                    connection.execute(f"DELETE FROM {row_type.TABLE} WHERE hardware NOT IN {PARTS}")
        models = [ingested(graph(seed), name) for seed, name in enumerate(("small", "other", "decoder"), start=1)]
        models[-1].model["has_context"] = True
        write.write(connection, models, maintain.add_models)
        answers.fill(connection, answers.missing(connection))
    return path


# Changes


def statements(path: Path) -> Iterator[Change]:
    """Three statements of a plain client on every fact."""
    with duckdb.connect(str(path), read_only=True) as connection:
        for row_type in database.FACTS:
            touched, where = _of_what(connection, row_type)
            for kind, statement in _statements(connection, row_type, where):
                yield Change(row_type.TABLE, kind, _plain(statement), touched)


def _plain(statement: str) -> Callable[[Path], object]:
    def run(path: Path) -> None:
        with duckdb.connect(str(path), config={"threads": 1}) as connection:
            connection.execute(statement)

    return run


def _of_what(connection: duckdb.DuckDBPyConnection, row_type: type[Row]) -> tuple[str | None, str]:
    """The answers that a row of a fact may touch, and a condition on the rows to be changed."""
    for column, value in (("hardware", PART), ("model", MODEL), ("scenario_id", SCENARIO)):
        if column in row_type.model_fields and row_type.TABLE not in RULES:
            literal = f"'{value}'" if isinstance(value, str) else value
            return f"{column} = {literal}", f"{column} = {literal}"
    if "scope" in row_type.model_fields:
        scope = f"hardware:{PART}"
        if connection.execute(f"SELECT 1 FROM {row_type.TABLE} WHERE scope = '{scope}'").fetchone():
            return f"hardware = '{PART}'", f"scope = '{scope}'"
    return None, "TRUE"


RULES = ("shipped_part", "restated_number", "measurement", "operator_measurement")
"""Facts that name a part or a model, and yet are no numbers of it."""


def _statements(connection: duckdb.DuckDBPyConnection, row_type: type[Row], where: str) -> Iterator[tuple[str, str]]:
    table, keys = row_type.TABLE, row_type.KEY
    rows = f"(SELECT MIN(rowid) FROM {table} WHERE {where})"
    if not connection.execute(f"SELECT 1 FROM {table} WHERE {where} LIMIT 1").fetchone():
        return
    if issubclass(row_type, ModelRow):
        columns = [column for column in row_type.model_fields if column not in keys]
        swapped = ", ".join(f"{c} = (SELECT MAX({c}) FROM {table} WHERE {where})" for c in columns)
        yield from [("UPDATE of all", f"UPDATE {table} SET {swapped} WHERE {where}")] if columns else []
        yield "DELETE of all", f"DELETE FROM {table} WHERE {where}"
    for column, info in row_type.model_fields.items():
        hint = str(info.annotation)
        filled = f"SELECT MIN(rowid) FROM {table} WHERE {where} AND {column} IS NOT NULL"
        if column in keys or column in ("note", "source_id", "origin", "name", "efficiency_id"):
            continue
        if ("float" in hint or "int" in hint) and connection.execute(filled).fetchone() != (None,):
            value = f"{column} * 2"
        elif column == [c for c in row_type.model_fields if c not in keys][-1] or "bool" in hint:
            value = (
                f"NOT {column}"
                if "bool" in hint
                else f"(SELECT MAX({column}) FROM {table})"
                if "str" in hint
                else "NULL"
            )
        else:
            continue
        yield f"UPDATE {column}", f"UPDATE {table} SET {column} = {value} WHERE rowid = ({filled})"
        break
    key = next((k for k in reversed(keys) if k not in ("hardware", "model")), keys[0])
    renamed = f"{key} || '_2'" if row_type.model_fields[key].annotation is str else f"{key} + 1000"
    fresh = ", efficiency_id + 100000 AS efficiency_id" if table == "efficiency" else ""
    yield (
        "INSERT",
        f"INSERT INTO {table} SELECT * REPLACE ({renamed} AS {key}{fresh}) FROM {table} WHERE rowid = {rows}",
    )
    yield "DELETE", f"DELETE FROM {table} WHERE rowid = {rows}"


def commands() -> Iterator[Change]:
    """Changes by command."""

    def command(call: Callable[[Session], object]) -> Callable[[Path], object]:
        def run(path: Path) -> None:
            with charz.open(path) as db:
                call(db)

        return run

    for fact, kind, call, touched in (
        ("scenario", "charz scenario add", lambda db: db.scenario.add(batch=7, precision="fp16"), "FALSE"),
        ("scenario", "charz scenario remove", lambda db: db.scenario.remove(2), "scenario_id = 2"),
        ("hardware", "charz hardware sync", lambda db: db.hardware.sync(), "TRUE"),
        ("hardware", "charz hardware add", _add_own, "FALSE"),
        ("hardware", "charz hardware add, then remove", _add_and_remove_own, "FALSE"),
        ("model", "charz ingest", lambda db: db.ingest("synthetic:mlp"), "FALSE"),
        ("(none)", "charz refresh", lambda db: db.refresh(), "FALSE"),
    ):
        yield Change(fact, kind, command(call), touched)


def _add_own(db: Session) -> None:
    """Add a copy of a part under a name of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "own.yaml"
        db.hardware.dump(PART, id="own_part", out=file)
        db.hardware.add(file)


def _add_and_remove_own(db: Session) -> None:
    _add_own(db)
    db.hardware.remove("own_part")


def tried(path: Path, change: Change) -> Outcome:
    """What a change leaves in a copy of the file."""
    copy = path.with_name("changed.duckdb")
    shutil.copy(path, copy)
    before = kept(copy, "TRUE")
    may_go = kept(copy, change.touched or "TRUE")
    try:
        change.run(copy)
        error = ""
    except (duckdb.Error, CharzError) as refused:
        error = str(refused).splitlines()[0]
    with duckdb.connect(str(copy), config={"threads": 1}) as connection:
        differing = sum(answers.differences(connection).values())
    gone = before - kept(copy, "TRUE")
    return Outcome(differing, len(gone), len(gone - may_go), len({part for _, part, _ in gone}), error)


def kept(path: Path, condition: str) -> Answered:
    """Answers at hand for which a condition holds."""
    with duckdb.connect(str(path), read_only=True) as connection:
        query = f"SELECT model, hardware, scenario_id FROM {answers.STORED} WHERE {condition}"
        return set(connection.execute(query).fetchall())


# Kills

CLIENT = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1], config={"threads": 1})
print("ready", flush=True)
for i in range(1000):
    for statement in (
        "UPDATE hardware_memory SET bandwidth_byte_per_s = bandwidth_byte_per_s * 1.01 WHERE level = 'dram'",
        f"UPDATE scenario SET batch = batch + 1 WHERE scenario_id = 1 + {i} % 9",
    ):
        print("writes", flush=True)
        connection.execute(statement)
        print("wrote", flush=True)
"""

COMMAND = """
import charz, sys
print("ready", flush=True)
for i in range(1000):
    with charz.open(sys.argv[1]) as db:
        print("writes", flush=True)
        db.scenario.add(batch=100 + i, precision="fp16", backend="inductor")
        print("wrote", flush=True)
"""


@dataclass(frozen=True, slots=True)
class Kill:
    """A writer's end."""

    writer: str
    after_s: float
    is_within: bool
    """True where a write was under way."""
    written: int
    """Writes that had ended."""
    differing: int
    stale: int
    """Rows by which maintained tables differ from their views."""


def killed(path: Path, name: str, writer: str, dice: random.Random) -> Kill:
    """What a writer leaves that is killed at a random moment."""
    copy = path.with_name("killed.duckdb")
    for left in path.parent.glob("killed.duckdb*"):
        left.unlink()
    shutil.copy(path, copy)
    process = subprocess.Popen(
        [sys.executable, "-c", writer, str(copy)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    process.stdout.readline()
    after = dice.uniform(0.0, 4.0)
    time.sleep(after)
    assert process.poll() is None, "the writer ended by itself"
    process.send_signal(signal.SIGKILL)
    said = process.stdout.read().split()
    process.wait()
    with duckdb.connect(str(copy), config={"threads": 1}) as connection:
        differing = sum(answers.differences(connection).values())
        stale = sum(maintain.differences(connection).values())
    return Kill(name, after, said[-1:] == [b"writes"], said.count(b"wrote"), differing, stale)


HEADS = ("fact", "change", "answers gone", "of parts", "of others", "differing")


def changed(path: Path, changes: Sequence[Change]) -> Iterator[tuple[bool, list[str]]]:
    """Whether each change left something wrong, and its line of the table."""
    for change in changes:
        found = tried(path, change)
        is_wrong = bool(found.differing or (change.touched is not None and found.others))
        what = f"{change.kind} ({found.error})" if found.error else change.kind
        others = "a rule" if change.touched is None else str(found.others)
        yield is_wrong, [change.fact, what, str(found.gone), str(found.parts), others, str(found.differing)]


def cleared(path: Path) -> Iterator[list[str]]:
    """Facts by the answers that a change of a row clears."""
    with duckdb.connect(str(path), read_only=True) as connection:
        by = triggers.clears(connection)
    for column, which in CLEARED.items():
        yield [which, ", ".join(f"`{fact}`" for fact, found in by.items() if found == column)]


CLEARED = {
    "hardware": "of the part that the row names (and of its architecture: `efficiency`, `shipped_part`)",
    "scope": "of the parts that the scope holds for",
    "compute_capability": "of the parts of that compute capability",
    "family": "of the parts of that family; all for `*`",
    "scenario_id": "of the scenario",
    "model": "of the model",
    "": "all",
}
"""What a changed row of a fact clears, by the column that finds it (`triggers.clears`)."""


def main() -> None:
    """Print what is found, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--changes", type=int, help="Statements to draw; all when not said.")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=32)
    parser.add_argument("--only", nargs="*", default=[], help="Facts.")
    parser.add_argument("--page", type=Path, help="Page to write.")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    path = made(options.folder)
    dice = random.Random(options.seed)
    drawn = list(statements(path))
    if options.changes is not None:
        drawn = [drawn[i] for i in sorted(dice.sample(range(len(drawn)), min(options.changes, len(drawn))))]
    changes = [change for change in (*drawn, *commands()) if not options.only or change.fact in options.only]
    lines, wrong = [], 0
    for is_wrong, line in changed(path, changes):
        print(("WRONG " if is_wrong else "") + " | ".join(line), flush=True)
        lines.append(line)
        wrong += is_wrong
    kills = []
    for i in range(options.kills):
        kills.append(killed(path, *(("plain client", CLIENT), ("`charz scenario add`", COMMAND))[i % 2], dice))
        print(kills[-1], flush=True)
    if options.page:
        options.page.write_text(page(path, lines, wrong, kills, options.seed))


def page(path: Path, lines: Sequence[Sequence[str]], wrong: int, kills: Sequence[Kill], seed: int) -> str:
    """The page of what was found."""
    count, refused = len(kept(path, "TRUE")), sum("(" in line[1] for line in lines)
    ends = [
        [
            name,
            str(len(of)),
            str(sum(kill.is_within for kill in of)),
            str(sum(kill.written for kill in of)),
            str(sum(kill.differing for kill in of)),
            str(sum(kill.stale for kill in of)),
        ]
        for name in dict.fromkeys(kill.writer for kill in kills)
        for of in [[kill for kill in kills if kill.writer == name]]
    ]
    return "\n".join(
        [
            "# Answers at hand after changes and kills",
            "",
            pages.line(),
            "",
            f"`python -m benchmarks.answer_changes FOLDER --page docs/answer-changes.md`, seed {seed}: a file of three generated models on",
            f"four parts with {count} answers. Each change starts from it; afterwards every answer that is left is held against its live view.",
            "",
            "## Which facts clear which answers",
            "",
            display.markdown(["answers that go", "facts"], list(cleared(path))),
            "",
            "A change of `operator`, `module` or `kernel` by a client clears those of its model; facts that stand nowhere here clear none.",
            "",
            "## Changes",
            "",
            f"{len(lines)} changes, {refused} of them refused; after {wrong} of them an answer differed from its live view, or one went that is of",
            "another part, scenario or model. Only rules may clear more than what a row names.",
            "",
            display.markdown(list(HEADS), list(lines)),
            "",
            "## Kills",
            "",
            "`kill -9` within four seconds of the first write.",
            "",
            display.markdown(
                [
                    "writer",
                    "kills",
                    "within a write",
                    "writes that had ended",
                    "answers that differ",
                    "rows of maintained tables that differ",
                ],
                ends,
            ),
            "",
        ]
    )


if __name__ == "__main__":
    main()
