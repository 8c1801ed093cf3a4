"""The database without models that is kept in the cache."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from charz.schema import about, database
from charz.session import template, workspace


def fill(connection: duckdb.DuckDBPyConnection) -> None:
    """Stands in for catalog and views."""
    about.write(connection, filled="yes")


def test_made_once_and_older_ones_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "charz").mkdir()
    for i in range(template.KEPT):
        older = tmp_path / "charz" / f"{i}.duckdb"
        older.touch()
        os.utime(older, (i, i))
    made = template.ready(fill)
    assert made is not None
    left = {path.name for path in (tmp_path / "charz").iterdir()}
    assert left == {made.name, *(f"{i}.duckdb" for i in range(1, template.KEPT))}

    def must_not(_: duckdb.DuckDBPyConnection) -> None:
        raise AssertionError("made twice")

    assert template.ready(must_not) == made


def test_another_content_has_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = template.ready(fill)
    monkeypatch.setattr(template.charz, "__version__", "0")
    assert template.ready(fill) != first


@pytest.mark.slow
def test_without_a_cache_a_database_is_made_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert template.ready(fill) is None
    with workspace.change(tmp_path / "new.duckdb") as connection:
        assert connection.sql("SELECT count(*) > 80 FROM hardware").fetchall() == [(True,)]
        assert connection.sql("SELECT count(*) FROM model_report").fetchall() == [(0,)]


@pytest.mark.slow
def test_a_copy_has_what_a_new_database_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for cache in ("one", "one", "file"):
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache))
        with workspace.change(tmp_path / f"{len(counts)}.duckdb") as connection:
            rows = {t.TABLE: connection.table(t.TABLE).count("*").fetchall() for t in database.TABLES}
            counts.append((rows, sorted(about.read(connection))))
    assert counts[0] == counts[1] == counts[2]
