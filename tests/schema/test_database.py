"""Files: complete or absent, one writer, other layouts refused."""

from __future__ import annotations

import contextlib
import inspect
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from charz.schema import about, database, file, layout
from charz.schema.catalog.source import Confidence, Source
from charz.schema.errors import CharzError
from charz.schema.workload import Edge

from .conftest import add_source, sources


def test_a_new_file_has_every_table(path: Path) -> None:
    with file.connect(path) as connection:
        names = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        meta = about.read(connection)
    assert {t.TABLE for t in database.TABLES} <= names
    assert meta["schema_fingerprint"] == layout.fingerprint()


def test_a_change_shows_when_its_block_ends(path: Path) -> None:
    with file.replace(path) as connection:
        add_source(connection, "a")
        assert sources(path) == []
    assert sources(path) == ["a"]
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]


def test_a_failed_change_leaves_the_file_and_no_litter(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), file.replace(path) as connection:
        add_source(connection, "a")
        raise ZeroDivisionError
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]


def test_a_missing_file_is_created_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new.duckdb"
    with pytest.raises(ZeroDivisionError), file.replace(path, create=True):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with file.replace(path, create=True) as connection:
        add_source(connection, "a")
    assert sources(path) == ["a"]


def test_a_reader_keeps_its_state_while_the_file_is_replaced(path: Path) -> None:
    reader = subprocess.Popen(
        [sys.executable, "-c", _READER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdin and reader.stdout
    assert reader.stdout.readline() == "0\n"
    with file.replace(path) as connection:
        add_source(connection, "a")
    reader.stdin.write("\n")
    reader.stdin.flush()
    assert reader.stdout.readline() == "0\n"
    reader.communicate()
    assert sources(path) == ["a"]


_READER = """
import sys
from charz.schema import file
connection = file.connect(sys.argv[1])
count = lambda: print(connection.execute("SELECT count(*) FROM source").fetchall()[0][0], flush=True)
count()
sys.stdin.readline()
count()
"""


def test_one_writer_at_a_time(path: Path) -> None:
    with (
        file.replace(path),
        pytest.raises(CharzError, match="another charz is writing") as caught,
        file.replace(path, wait_s=0),
    ):
        pass
    assert str(os.getpid()) in str(caught.value)


def test_another_client_that_writes_is_respected(path: Path) -> None:
    script = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.readline()"
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout and other.stdout.readline() == "open\n"
    try:
        with pytest.raises(CharzError, match=f"another process.*PID {other.pid}"), file.replace(path):
            pass
    finally:
        other.communicate("\n")
    with file.replace(path) as connection:
        add_source(connection, "a")


def test_the_log_another_client_left_is_folded_in(path: Path) -> None:
    script = """
import duckdb, os, signal, sys
c = duckdb.connect(sys.argv[1])
c.execute("INSERT INTO source VALUES ('other', 'paper', 'x', NULL, 'y')")
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert path.with_name(f"{path.name}.wal").exists()
    with file.replace(path) as connection:
        add_source(connection, "mine")
    assert sources(path) == ["mine", "other"]
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]


@pytest.mark.slow
@pytest.mark.parametrize("delay_s", [0.0, 0.05, 0.2, 0.5])
def test_a_killed_writer_loses_nothing(path: Path, delay_s: float) -> None:
    with file.replace(path) as connection:
        add_source(connection, "before")
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout and writer.stdout.readline() == "writing\n"
    time.sleep(delay_s)
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    after = sources(path)
    assert after[0] == "before"
    assert len(after) - 1 in (0, 200_000), "a half-written state"
    with file.replace(path) as connection:
        add_source(connection, "zzz")
    assert sources(path) == [*after, "zzz"]
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]


_WRITER = """
import sys
from charz.schema import database, file
from charz.schema.catalog.source import Source
with file.replace(sys.argv[1]) as connection:
    print("writing", flush=True)
    n = 200_000
    names = [f"s{i:06}" for i in range(n)]
    database.insert(connection, Source, {"source_id": names, "kind": ["paper"] * n, "locator": names, "what": names})
"""


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"source_ids": ["a"]}, "no such column: source.source_ids. Nearest: source_id"),
        ({"source_id": ["a"]}, "columns without values: source: kind, locator, what"),
        ({"source_id": [1.5], "kind": ["x"], "locator": ["x"], "what": ["x"]}, "values do not fit the table: source"),
        ({"source_id": ["a", "a"], "kind": ["x"] * 2, "locator": ["x"] * 2, "what": ["x"] * 2}, "rows break a rule"),
    ],
)
def test_rows_that_do_not_fit_are_refused(path: Path, columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(CharzError, match=message), file.replace(path) as connection:
        database.insert(connection, Source, columns)
    assert sources(path) == []


def test_rows_and_columns_insert_alike(path: Path) -> None:
    with file.replace(path) as connection:
        rows = [Confidence(confidence=str(i), rank=i, is_guess=i > 1, meaning="m") for i in range(3)]
        assert database.insert_rows(connection, rows) == 3
        assert database.insert_rows(connection, []) == 0
    with file.connect(path) as connection:
        assert connection.execute("SELECT rank, is_guess FROM confidence ORDER BY rank").fetchall() == [
            (0, False),
            (1, False),
            (2, True),
        ]


def test_a_file_of_another_layout_is_refused(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE charz_meta SET value = 'other' WHERE key = 'schema_fingerprint'")
    before = path.read_bytes()
    for read_only in (True, False):
        with pytest.raises(
            CharzError, match=f"another version of charz.*{path}.*Ingest again into a new file"
        ) as caught:
            file.connect(path, read_only)
        assert "\n" not in caught.value.line
    with pytest.raises(CharzError, match="another version of charz"), file.replace(path):
        pass
    assert path.read_bytes() == before


def test_the_fingerprint_covers_every_column_and_key(tmp_path: Path) -> None:
    assert layout.fingerprint(_copied(tmp_path / "same")) == layout.fingerprint()
    for number, (old, new) in enumerate(
        [
            ('KEY: ClassVar[tuple[str, ...]] = ("model", "consumer_operator_id", "position")', "KEY = ()"),
            ("    tensor_id: int\n", "    tensor_id: int | None\n"),
            ("    tensor_id: int\n", "    tensor: int\n"),
            ("class Edge(ModelRow)", "class Edge(Row)"),
            ("class Edge(ModelRow)", "class Edge(Other)"),
        ]
    ):
        assert layout.fingerprint(_copied(tmp_path / str(number), old, new)) != layout.fingerprint()
    worded = _copied(tmp_path / "worded", '"""Operator that reads', '"""The operator that reads')
    assert layout.fingerprint(worded) == layout.fingerprint()


def _copied(folder: Path, old: str = "", new: str = "") -> Path:
    """Copy the folder of row types with one text of `workload.py` replaced."""
    shutil.copytree(layout.FOLDER, folder)
    text = (folder / "workload.py").read_text()
    assert old in text
    (folder / "workload.py").write_text(text.replace(old, new) if old else text)
    return folder


def test_the_layout_read_from_source_is_that_of_the_row_types() -> None:
    lines = layout.tables()
    assert len(lines) == len(database.TABLES) + 1, "those and `ModelRow`"
    for row_type in database.TABLES:
        columns = [f"{name}: {kind}" for name, kind in inspect.get_annotations(row_type).items()]
        columns = [column for column in columns if "ClassVar" not in column]
        found = [
            line for line in lines if all(f"; {column}" in line for column in columns) and str(row_type.KEY) in line
        ]
        assert len(found) == 1, row_type


def test_opening_a_file_imports_no_row_type() -> None:
    code = "import sys; from charz.schema import ddl, errors, file; print({'pydantic', 'polars'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "set()\n"


def test_repeated_keys_of_models_are_found(path: Path) -> None:
    edges = {"model": ["a", "a", "b"], "consumer_operator_id": [1, 1, 1], "position": [0, 0, 0], "tensor_id": [0, 1, 0]}
    with file.replace(path) as connection:
        assert database.repeated_keys(connection) == {}
        database.insert(connection, Edge, edges)
        assert database.repeated_keys(connection) == {"edge": 1}


def test_files_that_are_no_database(tmp_path: Path) -> None:
    text = tmp_path / "text.duckdb"
    text.write_text("not a database " * 1000)
    empty = tmp_path / "foreign.duckdb"
    duckdb.connect(str(empty)).close()
    sqlite = tmp_path / "sqlite.db"
    with contextlib.closing(sqlite3.connect(sqlite)) as theirs:
        theirs.execute("CREATE TABLE model (i INTEGER)")
    nothing = tmp_path / "nothing.db"
    nothing.touch()
    for path, message in [
        (text, rf"not a charz database: {text}\. Name one"),
        (sqlite, rf"not a charz database: {sqlite}\. It is an SQLite database\. Name one"),
        (nothing, rf"not a charz database: {nothing}\. It is empty\. Name one"),
        (empty, "charz did not write"),
        (tmp_path / "missing.duckdb", "no such database.*The folder has foreign.duckdb, text.duckdb"),
        (tmp_path / "nowhere" / "x.duckdb", "no such folder"),
        (tmp_path, "a folder, not a database"),
    ]:
        with pytest.raises(CharzError, match=message):
            file.connect(path)
    assert text.read_text() == "not a database " * 1000


@pytest.mark.parametrize("name", ["temp", "System", "charz"])
def test_a_schema_called_like_a_database_of_the_engine_refuses_the_file(name: str, tmp_path: Path) -> None:
    """The engine calls the file `charz`, and takes `temp.x` for a name in that schema or in its own database of temporary tables."""
    path = tmp_path / "charz.duckdb"
    file.create(path)
    with duckdb.connect(str(path)) as theirs:
        theirs.execute(f"CREATE SCHEMA charz.{name}; CREATE VIEW charz.{name}.model AS SELECT 1 AS model")
    for is_read in (True, False):
        with pytest.raises(CharzError, match=rf"a schema of the database .*: {path}\. Schema {name}\. Drop it"):
            file.connect(path, is_read)


@pytest.mark.parametrize("name", ["md:x", "sqlite:x.duckdb", "~", ":memory:"])
def test_a_name_is_the_name_of_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine would download an extension for the first two, open the user's home or a database in memory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file.create(name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with file.connect(name) as connection:
        assert connection.execute("SELECT count(*) FROM model").fetchall() == [(0,)]
    with file.replace(name) as connection:
        connection.execute("DELETE FROM charz_meta")


@pytest.mark.parametrize("name", ["answer.duckdb", "Mart.duckdb", "rebuild"])
def test_a_name_that_would_be_ambiguous_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(CharzError, match=f"not a name for a database.*{name}.*ename the file"):
        file.create(tmp_path / name)
    (tmp_path / name).touch()
    with pytest.raises(CharzError, match="not a name for a database"):
        file.connect(tmp_path / name)


def test_a_new_file_has_the_storage_format_that_holds_triggers(path: Path) -> None:
    with duckdb.connect(str(path), read_only=True) as connection:
        query = "SELECT tags['storage_version'] FROM duckdb_databases() WHERE NOT internal"
        assert connection.execute(query).fetchall()[0][0].startswith("v2.0.0")
