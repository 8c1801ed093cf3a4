"""A file with a damaged block and a file of a newer charz: one line reports it, and no data are written from it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import charz
from charz.cli.dispatch import run
from charz.schema.database import BLOCK_BYTE
from charz.schema.errors import CharzError
from charz.sql import evaluate

HEADERS_BYTE = 3 * 4096
"""Size of the three headers before the blocks in DuckDB's storage."""


@pytest.fixture
def damaged(file: Path, tmp_path: Path) -> Path:
    """Copy the file and change one byte of a block with operators."""
    with duckdb.connect(str(file), read_only=True) as connection:
        query = "SELECT max(block_id) FROM pragma_storage_info('operator') WHERE persistent"
        ((block,),) = connection.execute(query).fetchall()
    data = bytearray(file.read_bytes())
    data[HEADERS_BYTE + block * BLOCK_BYTE + 20] ^= 0xFF
    path = tmp_path / "damaged.duckdb"
    path.write_bytes(data)
    return path


def line(capsys: pytest.CaptureFixture[str]) -> str:
    (said,) = [text for text in capsys.readouterr().err.splitlines() if text.startswith("charz: ")]
    return said


def test_nothing_is_written_from_a_damaged_file(damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = damaged.read_bytes()
    for command in (["scenario", "add", "--batch", "3"], ["refresh"], ["hardware", "remove", "t4"]):
        assert run(["--db", str(damaged), *command]) == 2
        said = line(capsys)
        assert said.startswith(f"charz: the database file is damaged: {damaged}. The checksum of the block at byte ")
        assert "restore it from a copy" in said.lower()
    assert damaged.read_bytes() == before and [p.name for p in damaged.parent.iterdir()] == [damaged.name]


def test_a_damaged_file_is_named_wherever_it_is_read(
    damaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    all_of_it = "SELECT bit_xor(hash(o)) FROM operator AS o"
    for command in (["sql", all_of_it], ["export", str(tmp_path / "out"), "--on", "t4"]):
        assert run(["--db", str(damaged), *command]) == 2
        assert line(capsys).startswith(f"charz: the database file is damaged: {damaged}. ")
    with charz.open(damaged) as db, pytest.raises(CharzError, match="the database file is damaged"):
        db.sql(all_of_it)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("version", "is_refused"), [("0.1.1", True), ("9" * 5000, True), ("0.10.0", True), ("1.0", True), ("0.1.0", False), ("0.0.9", False)]
)
def test_a_file_of_a_newer_charz_keeps_its_views(
    few_parts: Path, tmp_path: Path, version: str, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("charz.session.workspace.__version__", "0.1.0")
    path = tmp_path / "newer.duckdb"
    path.write_bytes(few_parts.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE charz_meta SET value = 'other' WHERE key = 'views_fingerprint'")
        connection.execute("UPDATE charz_meta SET value = ? WHERE key = 'charz_version'", [version])
    before = path.read_bytes()
    for ask in (lambda db: db.models(), lambda db: db.scenario.add(batch=3), lambda db: db.doctor(repair=True)):
        with charz.open(path) as db:
            if not is_refused:
                assert len(db.hardware.list())
                return
            with pytest.raises(CharzError) as caught:
                ask(db)
            assert f"Charz {version} wrote it, this is charz 0.1.0." in caught.value.line
    assert path.read_bytes() == before


@pytest.mark.slow("installs the views again")
def test_runs_of_an_older_file_are_evaluated_in_portions(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each portion ends its transaction: rows of 70 models in one transaction ran out of memory."""
    path, seen = tmp_path / "older.duckdb", []
    path.write_bytes(file.read_bytes())
    query = "SELECT MD5(STRING_AGG(CAST(k AS VARCHAR), '' ORDER BY CAST(k AS VARCHAR))) FROM run_kernel AS k"
    with duckdb.connect(str(path)) as connection:
        before = connection.sql(query).fetchall()
        assert before != [(None,)]
        ((trigger, table),) = connection.sql("SELECT trigger_name, table_name FROM duckdb_triggers() LIMIT 1").fetchall()
        connection.execute(f"DROP TRIGGER {trigger} ON {table}; UPDATE charz_meta SET value = 'other' WHERE key = 'views_fingerprint'")
    original = evaluate.evaluated
    monkeypatch.setattr(evaluate, "evaluated", lambda *given, commits: seen.append(commits) or original(*given, commits=commits))
    with charz.open(path) as db:
        db.models()
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.sql(query).fetchall() == before
    assert seen == [True]


def test_an_export_is_not_taken_for_a_file(few_parts: Path, tmp_path: Path) -> None:
    """An export has tables in place of views, which no change of a fact updates."""
    path = tmp_path / "exported.duckdb"
    path.write_bytes(few_parts.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE kept AS SELECT * FROM part_basis; DROP VIEW part_basis CASCADE; ALTER TABLE kept RENAME TO part_basis")
        connection.execute("UPDATE charz_meta SET value = 'other' WHERE key = 'views_fingerprint'")
    for ask in (lambda db: db.models(), lambda db: db.scenario.add(batch=3)):
        with charz.open(path) as db, pytest.raises(CharzError, match="an export, not a database of charz: .*1 of its views are tables"):
            ask(db)


def test_an_older_charz_with_the_same_views_leaves_the_version(
    few_parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "newer.duckdb"
    path.write_bytes(few_parts.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE charz_meta SET value = '9.9' WHERE key = 'charz_version'")
    with charz.open(path) as db:
        db.scenario.add(batch=3)
        query = "SELECT value FROM charz_meta WHERE key = 'charz_version'"
        assert db.sql(query)["value"].to_list() == ["9.9"]
