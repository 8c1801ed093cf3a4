"""A value derived from the sources is taken from the cache only while the sources are the same files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from charz.schema import cache, sources


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_a_value_is_derived_again_only_after_a_change(tmp_path: Path) -> None:
    made: list[str] = []
    file = tmp_path / "a.py"
    file.write_text("1")

    def make() -> str:
        made.append(file.read_text())
        return made[-1]

    assert [sources.derived("x", [file], make) for _ in range(3)] == ["1"] * 3 and made == ["1"]
    assert sources.derived("y", [file], make) == "1" and made == ["1", "1"]
    file.write_text("2")
    assert sources.derived("x", [file], make) == "2"


def test_another_file_with_the_same_size_and_time_is_another(tmp_path: Path) -> None:
    """As after the installation of another version, whose files all have the time of its build."""
    file, newer = tmp_path / "a.py", tmp_path / "b.py"
    for path, text in ((file, "1"), (newer, "2")):
        path.write_text(text)
        os.utime(path, (0, 0))
    assert sources.derived("x", [file], file.read_text) == "1"
    os.replace(newer, file)
    assert file.stat().st_mtime == 0
    assert sources.derived("x", [file], file.read_text) == "2"


def test_a_value_that_somebody_else_wrote_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("1")
    sources.derived("x", [file], file.read_text)
    (kept,) = cache.folder().glob("x.*")
    kept.write_text(kept.read_text().replace('"value": "1"', '"value": "9"'))
    assert sources.derived("x", [file], file.read_text) == "1"
    assert cache.said()


def test_without_a_cache_the_value_is_derived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.py"
    file.write_text("1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    assert sources.derived("x", [file], file.read_text) == "1"
