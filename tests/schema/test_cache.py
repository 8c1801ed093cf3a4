"""The user's cache contains only his own sealed files, within their size."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path

import pytest

from charz.schema import cache


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    cache.said()
    return tmp_path / "cache" / "charz"


def test_what_is_kept_is_found_and_nobody_else_can_read_it(place: Path, tmp_path: Path) -> None:
    path = cache.write("rows", ".json", b"[1]")
    assert path is not None
    assert cache.read("rows", ".json") == b"[1]"
    assert cache.read("row", ".json") is None
    assert place.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "state" / "charz" / "key").stat().st_mode & 0o777 == 0o600


def test_a_folder_relative_to_the_working_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder may come from somebody else, with a cache and the key that seals it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", ".")
    assert cache.folder() == tmp_path / "home" / ".cache" / "charz"


def test_a_later_content_takes_the_place_of_an_earlier_one(place: Path) -> None:
    cache.write("rows", ".json", b"[1]")
    cache.write("rows", ".json", b"[2]")
    assert cache.read("rows", ".json") == b"[2]"
    assert len(list(place.iterdir())) == 1


@pytest.mark.parametrize("how", ["another content", "another name", "another user's key", "a link", "a folder", "open to others"])
def test_what_somebody_else_put_there_is_deleted_and_named(how: str, place: Path, tmp_path: Path) -> None:
    path = cache.write("rows", ".json", b"[1]")
    assert path is not None
    if how == "another content":
        path.write_bytes(b"[2]")
    elif how == "another name":
        path = path.rename(path.with_name(path.name.replace("rows", "others")))
    elif how == "another user's key":  # a cache copied from another machine
        shutil.rmtree(tmp_path / "state")
    elif how == "a link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    elif how == "a folder":
        path.unlink()
        path.mkdir()
    else:
        path.chmod(0o640)
    assert cache.read("others" if how == "another name" else "rows", ".json") is None
    (line,) = cache.said()
    assert str(path) in line


def test_a_file_with_any_seal_of_letters_is_not_read(place: Path) -> None:
    cache.write("rows", ".json", b"[1]")
    ran = place / "ran"

    class Payload:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {ran}",)

    planted = place / "rows.ffffffffffffffffffffffffffffffff.json"
    planted.write_bytes(pickle.dumps(Payload()))
    planted.chmod(0o600)
    assert cache.read("rows", ".json") == b"[1]"
    assert not ran.exists() and not planted.exists()


def test_a_key_that_others_can_read_is_made_anew(tmp_path: Path) -> None:
    cache.write("rows", ".json", b"[1]")
    key = tmp_path / "state" / "charz" / "key"
    before = key.read_bytes()
    key.chmod(0o644)
    assert cache.read("rows", ".json") is None
    assert key.read_bytes() != before and key.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_files_and_folders_of_other_users_are_not_used(place: Path) -> None:
    path = cache.write("rows", ".json", b"[1]")
    assert path is not None
    os.chown(path, 65534, 65534)
    assert cache.read("rows", ".json") is None
    cache.write("rows", ".json", b"[1]")
    os.chown(place, 65534, 65534)
    assert cache.read("rows", ".json") is None and cache.write("rows", ".json", b"[2]") is None
    assert "65534" in " ".join(cache.said())


def test_all_stays_below_its_size_and_the_oldest_goes_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_BYTE", 1000)
    for number in range(5):
        path = cache.write(f"file{number}", ".json", bytes(300))
        assert path is not None
        os.utime(path, (number, number))
    assert sum(byte for _, byte in cache.contents()) <= 1000
    assert sorted(name.partition(".")[0] for name, _ in cache.contents()) == ["file2", "file3", "file4"]


def test_where_nothing_can_be_kept_nothing_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache.write("rows", ".json", b"[1]") is None
    assert cache.fault_of_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert not cache.fault_of_folder()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert cache.write("rows", ".json", b"[1]") is None
    assert cache.fault_of_folder()
