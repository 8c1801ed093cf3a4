"""Opening and changing a charz database file.

A file has one writer at a time and any number of readers. A change is made in a copy beside the
file and put in its place with `os.replace`, so a reader always sees a whole state and a killed
writer leaves the old one. A file is of the layout of the charz that made it and is never migrated: models are ingested
again into a new one.

Imports no row type, for to open a file is what every command begins with; `database` makes tables and fills them.
Runs on Linux and macOS: Windows can neither lock with `flock` nor replace an open file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb

from . import layout
from .errors import CharzError

FINGERPRINT = "schema_fingerprint"
"""Key under which a file says what layout it has."""

META = "charz_meta"
"""Table in which a file says what it is."""


def create(path: Path | str) -> None:
    """Write a new file with every table, all empty. Raises `CharzError` if the file exists."""
    path = Path(path)
    if path.exists():
        raise CharzError("the file exists already", str(path), next="choose another name")
    with replace(path, create=True):
        pass


def connect(path: Path | str, read_only: bool = True) -> duckdb.DuckDBPyConnection:
    """Open a file, created if it is missing and to be written.

    A connection keeps the state it was opened on: after another process has replaced the file, open
    it anew. Raises `CharzError` if there is no file to read, if it is not a charz database or of another
    charz's layout, or if another process holds it.
    """
    path = Path(path)
    if not path.exists() and not read_only:
        create(path)
    return _open(path, read_only)


@contextlib.contextmanager
def replace(path: Path | str, create: bool = False, start: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a copy that takes the file's place when the block ends without an error.

    The block runs in one transaction, so it must not begin another. With `create`, a missing file starts
    as a copy of `start`, or empty. Raises `CharzError` if another process writes or holds the file or the folder cannot be written.
    """
    path = Path(path)
    copy = path.with_name(f".{path.name}.writing")
    with contextlib.ExitStack() as stack:
        stack.enter_context(_writer_lock(path))
        stack.callback(_discard, copy)
        if path.exists() or not create:
            stack.enter_context(_still(path))
            _copy(path, copy)
        elif start is not None:
            _copy(start, copy)
        else:
            _create_empty(copy)
        connection = stack.enter_context(contextlib.closing(_open(copy, read_only=False, name=path)))
        connection.begin()
        yield connection
        connection.commit()
        connection.close()
        os.replace(copy, path)
        _sync_folder(path.parent)


def quiet(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep DuckDB's progress bar, which it prints to standard output, out of the answers there."""
    connection.execute("SET enable_progress_bar = false")


def meta(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """What the file says of itself."""
    return dict(connection.execute(f"SELECT key, value FROM {META}").fetchall())


def set_meta(connection: duckdb.DuckDBPyConnection, **values: str) -> None:
    """Change what the file says of itself."""
    for key, value in values.items():
        connection.execute(f"INSERT OR REPLACE INTO {META} VALUES (?, ?)", [key, value])


def _open(path: Path, read_only: bool, name: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Open an existing file and check that this charz can use it; `name` is the path to speak of."""
    name = name or path
    if not path.exists():
        raise _missing(name)
    if path.is_dir():
        raise CharzError("a folder, not a database", str(name), next="name a file in it, e.g. --db charz.duckdb")
    try:
        connection = duckdb.connect(str(path), read_only=read_only)
    except duckdb.Error as error:
        raise _opening_failed(name, error) from error
    quiet(connection)
    try:
        _check_layout(connection, name)
    except BaseException:
        connection.close()
        raise
    return connection


def _missing(path: Path) -> CharzError:
    folder = path.parent
    if not folder.is_dir():
        return CharzError("no such folder", str(folder), next="create it or name another with --db")
    others = sorted(p.name for p in folder.glob("*.duckdb"))
    exists = f"the folder has {', '.join(others[:5])}" if others else ""
    return CharzError("no such database", str(path), exists, "`charz ingest MODEL` makes one; --db names another")


def _opening_failed(path: Path, error: duckdb.Error) -> CharzError:
    text = str(error)
    if "not a valid DuckDB" in text or "not a DuckDB" in text:
        return CharzError("not a DuckDB database", str(path), next="name a charz database with --db")
    if "Could not set lock" in text or "different configuration" in text or "already open" in text:
        holder = text.partition("Conflicting lock is held in ")[2].split(". ")[0]
        exists = f"held by {holder}" if holder else ""
        return CharzError(
            "another process has the database open for writing", str(path), exists, "close it and try again"
        )
    if "Permission denied" in text or not os.access(path, os.R_OK):
        return CharzError("no permission to open the database", str(path), next="change its permissions or copy it")
    return CharzError(
        "the database does not open", str(path), text.splitlines()[0], "restore it from a copy or make a new one"
    )


def _check_layout(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()
    if (META,) not in tables:
        raise CharzError("a DuckDB file that charz did not write", str(path), next="name a charz database with --db")
    if meta(connection).get(FINGERPRINT) != layout.fingerprint():
        raise CharzError(
            "another version of charz made this database",
            str(path),
            "its tables have another layout",
            "ingest again into a new file, named with --db",
        )


@contextlib.contextmanager
def _writer_lock(path: Path) -> Iterator[None]:
    """Hold the right to replace a file; dies with the process, whatever kills it."""
    lock = path.with_name(f".{path.name}.lock")
    descriptor = _acquire(lock, path)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            lock.unlink()
        os.close(descriptor)


def _acquire(lock: Path, path: Path) -> int:
    while True:
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:
            raise CharzError("no such folder", str(path.parent), next="create it or name another with --db") from None
        except OSError as error:
            raise _folder_not_writable(path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 20).decode(errors="replace").strip()
            os.close(descriptor)
            exists = f"process {holder} writes it" if holder else ""
            raise CharzError(
                "another charz is writing this database", str(path), exists, "wait for it, then try again"
            ) from None
        # The holder before us may have unlinked the file we opened: then this lock guards nothing.
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(descriptor).st_ino == lock.stat().st_ino:
                os.ftruncate(descriptor, 0)
                os.write(descriptor, str(os.getpid()).encode())
                return descriptor
        os.close(descriptor)


def _folder_not_writable(path: Path, error: OSError) -> CharzError:
    return CharzError(
        f"cannot write in this folder ({error.strerror})",
        str(path.absolute().parent),
        next="change its permissions, or name a file elsewhere with --db",
    )


@contextlib.contextmanager
def _still(path: Path) -> Iterator[None]:
    """Keep every other process from writing to a file while its copy is changed.

    DuckDB refuses a writer while a reader is open. A log left by another client is folded into the
    file first, since the file about to take its place must not replay it.
    """
    log = path.with_name(f"{path.name}.wal")
    if log.exists():
        _open(path, read_only=False).close()
    reader = _open(path, read_only=True)
    try:
        yield
    finally:
        reader.close()


def _copy(path: Path, copy: Path) -> None:
    _discard(copy)
    try:
        shutil.copyfile(path, copy)
    except OSError as error:
        raise _folder_not_writable(path, error) from error


def _create_empty(copy: Path) -> None:
    from .database import write_empty  # needs the row types, as no other change does

    _discard(copy)
    write_empty(copy)


def _discard(path: Path) -> None:
    for leftover in (path, path.with_name(f"{path.name}.wal")):
        with contextlib.suppress(FileNotFoundError):
            leftover.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the new name durable: without it a power loss may bring the old file back."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
