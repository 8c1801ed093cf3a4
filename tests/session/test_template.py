"""The cached database without models."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from charz.schema import about, cache, database
from charz.session import template, workspace


def fill(connection: duckdb.DuckDBPyConnection) -> None:
    """Replace the installation of catalog and views."""
    about.write(connection, filled="yes")


def must_not(_: duckdb.DuckDBPyConnection) -> None:
    """Fail if a template is made a second time."""
    raise AssertionError("made twice")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_it_is_made_once() -> None:
    made = template.ready(fill)
    assert made is not None
    assert [path.name for path in cache.folder().iterdir()] == [made.name]
    assert template.ready(must_not) == made
    assert cache.said() == []


def test_another_content_has_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    first = template.ready(fill)
    monkeypatch.setattr(template.charz, "__version__", "0")
    assert template.ready(fill) != first


@pytest.mark.parametrize("how", ["damaged", "planted", "cut", "empty", "readable by others"])
def test_one_that_charz_did_not_write_is_made_anew_and_named(how: str) -> None:
    made = template.ready(fill)
    assert made is not None
    content = made.read_bytes()
    if how == "planted":  # a valid database with other numbers, as after an UPDATE
        with duckdb.connect(str(made)) as connection:
            connection.execute("UPDATE charz_meta SET value = 'four times' WHERE key = 'filled'")
    elif how == "readable by others":
        made.chmod(0o644)
    else:
        middle = len(content) // 2
        cut = {"damaged": content[:middle] + b"?" + content[middle + 1 :], "cut": content[:middle], "empty": b""}
        made.write_bytes(cut[how])
    again = template.ready(fill)
    assert again is not None
    with duckdb.connect(str(again), read_only=True) as connection:
        assert about.read(connection)["filled"] == "yes"
    assert again.stat().st_mode & 0o777 == 0o600
    (line,) = cache.said()
    assert str(made) in line and "made anew" in line


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
    for folder in ("one", "one", "file"):
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / folder))
        with workspace.change(tmp_path / f"{len(counts)}.duckdb") as connection:
            rows = {t.TABLE: connection.table(t.TABLE).count("*").fetchall() for t in database.TABLES}
            counts.append((rows, sorted(about.read(connection))))
    assert counts[0] == counts[1] == counts[2]
