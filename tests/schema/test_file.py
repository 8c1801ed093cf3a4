"""Effects of a change on other files and processes."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from charz.schema import disk, file, lock
from charz.schema.errors import CharzError

from .conftest import add_source, sources

CLIENT = """
import duckdb, sys
try:
    c = duckdb.connect(sys.argv[1])
except duckdb.Error as error:
    print(error)
    sys.exit(1)
print("open", flush=True)
sys.stdin.readline()
c.execute("INSERT INTO source VALUES (?, 'paper', 'x', NULL, 'y')", [sys.argv[2]])
c.close()
"""


@contextlib.contextmanager
def client(path: Path, name: str = "theirs") -> Iterator[subprocess.Popen[str]]:
    """Start a plain DuckDB client with the file open for writing, which adds a source when it ends."""
    command = [sys.executable, "-c", CLIENT, str(path), name]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout
    assert other.stdout.readline() == "open\n"
    try:
        yield other
    finally:
        other.communicate("\n")


def test_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "link.duckdb"
    link.symlink_to(Path("..") / path.name)
    with file.replace(link) as connection:
        add_source(connection, "a")
    assert link.readlink() == Path("..") / path.name
    assert sources(path) == ["a"]
    assert [p.name for p in link.parent.iterdir()] == [link.name]


def test_a_link_to_nothing_makes_what_it_names(tmp_path: Path) -> None:
    link = tmp_path / "link.duckdb"
    link.symlink_to("new.duckdb")
    with file.replace(link, create=True) as connection:
        add_source(connection, "a")
    assert link.is_symlink()
    assert sources(tmp_path / "new.duckdb") == ["a"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_keeps_its_mode(path: Path, mode: int) -> None:
    path.chmod(mode)
    with file.replace(path) as connection:
        assert stat.S_IMODE(path.with_name(f".writing-{path.name}").stat().st_mode) == mode
        add_source(connection, "a")
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_keeps_its_owner(path: Path) -> None:
    os.chown(path, 12345, 23456)
    with file.replace(path) as connection:
        add_source(connection, "a")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


def test_an_owner_that_cannot_be_kept_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def chown(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", chown)
    before = path.read_bytes()
    with pytest.raises(CharzError, match=f"owner cannot be kept: {path}. It belongs to user"), file.replace(path):
        pass
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_file_with_other_hard_links_is_refused(path: Path) -> None:
    other = path.with_name("other.duckdb")
    other.hardlink_to(path)
    with pytest.raises(CharzError, match=r"several names \(hard links\): .*It has 2") as caught, file.replace(path):
        pass
    assert "\n" not in caught.value.line
    assert path.stat().st_nlink == 2


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.duckdb"
    os.mkfifo(pipe)
    for use in (lambda: file.connect(pipe), lambda: file.replace(pipe).__enter__()):
        with pytest.raises(CharzError, match="a pipe or device, not a database"):
            use()


def test_a_client_that_writes_is_refused_until_the_new_file_is_in_place(path: Path) -> None:
    with file.replace(path) as connection:
        add_source(connection, "mine")
        file.connect(path).close()  # closing this process's reader releases no lock
        path.open("rb").close()
        for _ in range(2):
            refused = subprocess.run(
                [sys.executable, "-c", CLIENT, str(path), "theirs"], input="\n", capture_output=True, text=True
            )
            assert refused.returncode == 1
            assert "Could not set lock" in refused.stdout
    with client(path):
        pass
    assert sources(path) == ["mine", "theirs"]


def test_a_refused_client_hears_which_process_changes_the_file(path: Path) -> None:
    with file.replace(path):
        refused = subprocess.run([sys.executable, "-c", CLIENT, str(path), "x"], capture_output=True, text=True)
    assert f"PID {os.getpid()}" in refused.stdout


def test_a_client_that_has_the_file_open_is_named_and_loses_nothing(path: Path) -> None:
    with client(path) as other:
        expected = f"another process has the database open for writing: {path}. Held by .*PID {other.pid}"
        with pytest.raises(CharzError, match=expected), file.replace(path):
            pass
    assert sources(path) == ["theirs"]


def test_a_connection_of_this_process_that_writes_is_named_as_such(path: Path) -> None:
    with (
        duckdb.connect(str(path)),
        pytest.raises(CharzError, match="this process has the database open for writing"),
        file.replace(path),
    ):
        pass


def test_a_client_that_read_the_old_header_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []
    run = [sys.executable, "-c", CLIENT, str(path), "theirs"]
    monkeypatch.setattr(
        file.time, "sleep", lambda _: refused.append(subprocess.run(run, input="\n", capture_output=True, text=True))
    )
    with file.replace(path) as connection:
        add_source(connection, "mine")
    assert [r.returncode for r in refused] == [1], "once, with the new file in place"
    assert sources(path) == ["mine"]


def test_a_file_replaced_while_it_is_opened_is_opened_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, opened = duckdb.connect, []

    def slow(name: str, read_only: bool) -> duckdb.DuckDBPyConnection:
        connection = connect(name, read_only=read_only)
        if name == str(path):
            opened.append(name)
            if len(opened) == 1:
                other = path.with_name("other.duckdb")
                shutil.copy(path, other)
                os.replace(other, path)
        return connection

    monkeypatch.setattr(duckdb, "connect", slow)
    file.connect(path).close()
    assert len(opened) == 2


@pytest.mark.costly("starts a process for each writer and reader")
def test_writers_wait_for_one_another(path: Path) -> None:
    code = """
import sys
from charz.schema import database, file
from charz.schema.catalog.source import Source
with file.replace(sys.argv[1]) as connection:
    database.insert(connection, Source, {"source_id": [sys.argv[2]], "kind": ["x"], "locator": ["x"], "what": ["x"]})
"""
    with file.replace(path) as connection:
        others = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in ("b", "c", "d")]
        time.sleep(1)
        assert all(other.poll() is None for other in others)
        add_source(connection, "a")
    assert [other.wait() for other in others] == [0, 0, 0]
    assert sources(path) == ["a", "b", "c", "d"]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_wait_has_an_end_that_names_the_holder(path: Path) -> None:
    began = time.monotonic()
    with (
        file.replace(path),
        pytest.raises(CharzError, match=f"another charz is writing this database.*Process {os.getpid()} writes it"),
        file.replace(path, wait_s=0.3),
    ):
        pass
    assert 0.3 <= time.monotonic() - began < 5


def test_two_names_of_a_file_are_one_lock(path: Path) -> None:
    link = path.with_name("link.duckdb")
    link.symlink_to(path.name)
    with file.replace(path), pytest.raises(CharzError, match="another charz is writing"), file.replace(link, wait_s=0):
        pass


def test_threads_of_a_process_wait_for_one_another(path: Path) -> None:
    def change(name: str) -> None:
        with file.replace(path) as connection:
            add_source(connection, name)

    threads = [threading.Thread(target=change, args=[name]) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sources(path) == ["a", "b", "c", "d"]


def test_a_full_disk_is_named_with_its_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(CharzError, match=f"the disk is full: {path.parent}. .* MiB are free"), file.replace(path):
        pass
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert disk.is_full(duckdb.IOException('Could not write file "x": No space left on device'))


@pytest.mark.parametrize(
    ("error", "is_temporary"),
    [
        (OSError(28, "No space left on device", "/elsewhere/file", None, "{temporary}/charz-x/file"), True),
        (OSError(28, "No space left on device", "{folder}/file"), False),
        (duckdb.IOException('Could not write file "{temporary}/charz-spill-1/x.tmp": No space left on device'), True),
        (duckdb.IOException('Could not write file "{folder}/.writing-x": No space left on device'), False),
        (OSError(28, "No space left on device"), True),
    ],
    ids=["a copy", "a file", "spilled data", "a database", "no name, and less room for temporary files"],
)
def test_the_full_disk_is_that_of_the_file_that_was_not_written(
    error: Exception, is_temporary: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk of temporary files has 2 MiB, the other one 3 MiB."""
    folder, temporary = tmp_path / "folder", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))

    def usage(place: Path) -> SimpleNamespace:
        return SimpleNamespace(free=(2 if place.is_relative_to(temporary) else 3) * 2**20)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    places = {"folder": folder, "temporary": temporary}
    given = [part.format(**places) if isinstance(part, str) else part for part in error.args]
    names = [getattr(error, name, None) for name in ("filename", "filename2")]
    if isinstance(error, OSError):
        first, second = (name and name.format(**places) for name in names)
        error = OSError(*given[:2], first, None, second)
    else:
        error = type(error)(*given)
    line = disk.full(folder / "charz.duckdb", error).line
    wanted = (temporary, 2, ", or set TMPDIR") if is_temporary else (folder, 3, ", or name a place elsewhere")
    assert line.startswith("the disk is full: {}. {} MiB are free. Make room there{}".format(*wanted))


def test_an_error_of_the_block_is_passed_on_as_it_is(path: Path) -> None:
    with pytest.raises(IsADirectoryError), file.replace(path):
        path.parent.read_bytes()


@pytest.mark.slow
def test_nothing_is_lost_between_charz_and_plain_clients(path: Path) -> None:
    """Two charz writers, a plain client that retries when refused, four readers: every successful insert is present."""
    writing = """
import sys, time, duckdb
from charz.schema import database, file
from charz.schema.catalog.source import Source
from charz.schema.errors import CharzError
path, who, end = sys.argv[1], sys.argv[2], time.monotonic() + 10
n = 0
while time.monotonic() < end:
    try:
        if who.startswith("charz"):
            with file.replace(path) as c:
                c.execute("INSERT INTO source VALUES (?, 'x', 'x', NULL, 'x')", [f"{who} {n}"])
            time.sleep(0.2)
        else:
            with duckdb.connect(path) as c:
                c.execute("INSERT INTO source VALUES (?, 'x', 'x', NULL, 'x')", [f"{who} {n}"])
        n += 1
    except CharzError as error:
        assert "open for writing" in error.line or "keep writing" in error.line, error.line
    except duckdb.IOException as error:
        assert "lock" in str(error), error
print(n)
"""
    reading = """
import sys, time, duckdb
from charz.schema import file
from charz.schema.errors import CharzError
path, end, seen = sys.argv[1], time.monotonic() + 10, 0
while time.monotonic() < end:
    try:
        with file.connect(path) as c:
            count = c.execute("SELECT count(*) FROM source").fetchall()[0][0]
    except CharzError as error:
        assert "open for writing" in error.line, error.line
        continue
    assert count >= seen, (count, seen)
    seen = count
"""
    names = ["charz1", "charz2", "plain"]
    run = [sys.executable, "-c"]
    writers = [subprocess.Popen([*run, writing, str(path), n], stdout=subprocess.PIPE, text=True) for n in names]
    readers = [subprocess.Popen([*run, reading, str(path)]) for _ in range(4)]
    counts = [int(writer.communicate()[0]) for writer in writers]
    assert [reader.wait() for reader in readers] == [0] * 4
    found = sources(path)
    for name, count in zip(names, counts, strict=True):
        assert count > 0, name
        assert sum(source.startswith(name) for source in found) == count, name


def test_a_lock_for_which_the_disk_has_no_room_is_gone_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "charz.duckdb"

    def no_room(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", no_room)
        with pytest.raises(CharzError, match="the disk is full"), lock.writing(path, path, 0.0):
            pass
    assert list(tmp_path.iterdir()) == []
    with lock.writing(path, path, 0.0):
        assert [found.name for found in tmp_path.iterdir()] == [".charz.duckdb.lock"]


@pytest.mark.parametrize("kind", ["of another user", "a link", "a folder"])
def test_a_lock_that_cannot_be_opened_is_named_with_its_owner(kind: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = path.with_name(f".{path.name}.lock")
    if kind == "a link":
        held.symlink_to(path)
    elif kind == "a folder":
        held.mkdir()
    else:
        held.touch()

        def refuse(place: Path, *_: object) -> int:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place)

        monkeypatch.setattr(os, "open", refuse)  # root may open any file
    said = rf"cannot open the lock.*: {held}\. User {os.getuid()} owns it and may be writing {path}\. .*delete the lock if none is running"
    with pytest.raises(CharzError, match=said), lock.writing(path, path, 0.0):
        pass
    assert held.is_symlink() or held.exists()


def test_a_folder_that_cannot_be_written_is_named_where_no_lock_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(CharzError, match=f"cannot write in this folder .*: {path.parent}\\. "), lock.writing(path, path, 0.0):
        pass


def test_views_are_made_in_a_file_called_like_an_alias_of_theirs(tmp_path: Path) -> None:
    path = tmp_path / "k.duckdb"
    with file.replace(path, create=True) as connection:
        connection.execute("CREATE TABLE run AS SELECT STRUCT_PACK(batch := 3) AS run")
        connection.execute("CREATE VIEW batches AS SELECT k.run.batch FROM run AS k JOIN run AS r ON r.run = k.run")
    with file.connect(path) as reader:
        assert reader.execute("SELECT * FROM batches").fetchall() == [(3,)]
