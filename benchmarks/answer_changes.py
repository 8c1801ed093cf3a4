"""Whether answers at hand are right or not there after changes of every fact, and after a writer's end at any moment.

    python -m benchmarks.answer_changes FOLDER [--kills 30] [--seed 32]

FOLDER gets a file of three generated models on four parts with all its answers. Each change starts from that file: an UPDATE, an
INSERT and a DELETE of a row of every fact by a plain client, and some by command. After it every answer is held against its live
view, and those that went are counted by what they are of: a change of one part, scenario or model may touch no other's answers,
only rules may. Then a writer is killed at random moments, and the answers held against the live views again. What is found goes
to docs/answer-changes.md.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

import charz
from charz.schema import database
from charz.schema.errors import CharzError
from charz.schema.row import ModelRow, Row
from charz.session import Session
from charz.sql import answers, maintain

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
        ("model", "charz ingest", lambda db: db.ingest("synthetic:mlp"), "FALSE"),
        ("(none)", "charz refresh", lambda db: db.refresh(), "FALSE"),
    ):
        yield Change(fact, kind, command(call), touched)


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
    connection.execute("UPDATE hardware_memory SET bandwidth_byte_per_s = bandwidth_byte_per_s * 1.01 WHERE level = 'dram'")
    connection.execute("UPDATE scenario SET batch = batch + 1 WHERE scenario_id = 1 + ? % 9", [i])
"""

COMMAND = """
import charz, sys
print("ready", flush=True)
for i in range(1000):
    with charz.open(sys.argv[1]) as db:
        db.scenario.add(batch=100 + i, precision="fp16", backend="inductor")
"""


def killed(path: Path, writer: str, dice: random.Random) -> tuple[float, int, int]:
    """Seconds after which a writer was killed, rows that differ then, and rows by which maintained tables do."""
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
    process.wait()
    with duckdb.connect(str(copy), config={"threads": 1}) as connection:
        differing = sum(answers.differences(connection).values())
        return after, differing, sum(maintain.differences(connection).values())


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=32)
    parser.add_argument("--only", nargs="*", default=[], help="Facts.")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    path = made(options.folder)
    count = len(kept(path, "TRUE"))
    print(f"{count} answers\n\n| fact | change | gone | parts | of others | differing |\n|---|---|---|---|---|---|")
    wrong = total = 0
    for change in (*statements(path), *commands()):
        if options.only and change.fact not in options.only:
            continue
        found = tried(path, change)
        total += 1
        is_wrong = bool(found.differing or (change.touched is not None and found.others))
        wrong += is_wrong
        others = "rule" if change.touched is None else str(found.others)
        cells = [
            change.fact,
            change.kind + (f" ({found.error})" if found.error else ""),
            str(found.gone),
            str(found.parts),
            others,
        ]
        print(f"| {' | '.join(cells)} | {found.differing}{' **wrong**' if is_wrong else ''} |", flush=True)
    print(f"\n{total} changes, {wrong} wrong\n\nseed {options.seed}")
    dice = random.Random(options.seed)
    for i in range(options.kills):
        writer = (CLIENT, COMMAND)[i % 2]
        after, differing, stale = killed(path, writer, dice)
        name = "client" if writer is CLIENT else "charz scenario add"
        print(
            f"kill {i}: {name} after {after:.2f} s: {differing} answers differ, {stale} rows of maintained tables",
            flush=True,
        )


if __name__ == "__main__":
    main()
