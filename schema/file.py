"""Opening and changing a charz database file.

A file has one writer at a time and any number of readers. A change is made in a copy in the same folder, which `os.replace` moves into
place, so a reader always sees a complete state and a killed writer leaves the old one. A file keeps the layout of the charz that made
it and is never migrated: models are ingested again into a new file.

This module imports no row type, because every command begins by opening a file; `database` creates and fills tables. It runs on Linux
and macOS: Windows can neither lock with `flock` nor replace an open file.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

from . import damage, disk, lock, unfinished
from .errors import CharzError
from .opening import check_is_file, check_name, not_permitted, open_existing

_SETTLE_S = 0.1
"""Time during which writers are kept out of a file that has just replaced another. DuckDB 2.0 reads a file's header, reopens the file and
only then locks it: a client that read the old header would write its state over the new file. [s]"""

_CHUNK_BYTE = 2**20
_ATTEMPTS, _PAUSE_S = 20, 0.05
"""Number of attempts, and pause [s] between them, on a file that a client has just written."""


def create(path: Path | str) -> None:
    """Write a new file with every table, all empty. Raises `CharzError` if the file exists."""
    path = Path(path)
    if path.exists():
        raise CharzError("the file exists already", str(path), next="choose another name")
    with replace(path, create=True):
        pass


def connect(path: Path | str, read_only: bool = True) -> duckdb.DuckDBPyConnection:
    """Open a file; a missing one is created if it is opened for writing.

    A connection keeps the state it was opened on: reopen it after another process has replaced the file. Raises `CharzError` if the
    file to read is missing, is not a charz database, has another charz's layout, or is locked by another process.
    """
    path = Path(path)
    if not path.exists() and not read_only:
        create(path)
    return open_existing(path, read_only)


@contextlib.contextmanager
def replace(
    path: Path | str, create: bool = False, start: Path | None = None, wait_s: float = lock.WAIT_S
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a copy that replaces the file when the block ends without an error.

    The block runs in one transaction, so it must not begin another. With `create`, a missing file starts as a copy of `start`, or
    empty. A link remains a link, and the file keeps its owner and mode. Until the new file is in place, no client can open the old one
    for writing. If another charz is changing the file, the call waits at most `wait_s` [s]. Raises `CharzError` if that takes longer, a
    client has the file open for writing, the file has other hard links, it or its folder cannot be written, or one of its blocks is
    damaged.
    """
    name, path = Path(path), Path(os.path.realpath(path))
    check_name(name)
    # The engine calls a database by its file up to a dot: with a hyphen, none is called like an alias of a view. `CREATE VIEW` takes
    # `k.run.batch` in a database `k` for the column of a table.
    copy = path.with_name(f".writing-{path.name}")
    with contextlib.ExitStack() as stack:
        stack.enter_context(lock.writing(path, name, wait_s))
        stack.callback(_discard, copy)
        stack.enter_context(unfinished.known(copy, _log(copy)))
        _discard(copy)
        if path.exists() or not create:
            _copy(stack.enter_context(_still(path, name)), path, copy, name)
        else:
            _create(copy, start, name)
        connection = stack.enter_context(contextlib.closing(open_existing(copy, read_only=False, name=name)))
        damage.check_whole(connection, name)
        with _full_disk_named(name):
            connection.begin()
            yield connection
            connection.commit()
            connection.execute("CHECKPOINT")  # a checkpoint on closing does not report a failure
            connection.close()
        _put_in_place(copy, path, name)


@contextlib.contextmanager
def _still(path: Path, name: Path) -> Iterator[int]:
    """Keep every client from writing to a file while its copy is changed, and yield a descriptor to copy it from.

    A log left by another client is first folded into the file: the file that replaces it must not replay the log.
    """
    _check_can_be_replaced(path, name)
    log = _log(path)
    for _ in range(_ATTEMPTS):
        if log.exists():
            open_existing(path, read_only=False, name=name).close()
        with contextlib.ExitStack() as stack:
            try:
                descriptor = stack.enter_context(lock.keeping_writers_out(path))
            except BlockingIOError:
                open_existing(path, read_only=True, name=name).close()  # raises, naming the process
            else:
                if not log.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                    yield descriptor
                    return
        time.sleep(_PAUSE_S)
    raise CharzError("other clients keep writing the database", str(name), next="close them and try again")


def _check_can_be_replaced(path: Path, name: Path) -> None:
    check_is_file(path, name)
    if not os.access(path, os.R_OK | os.W_OK):
        raise not_permitted(name)
    links = path.stat().st_nlink
    if links > 1:
        raise CharzError(
            "a file with several names (hard links)",
            str(name),
            f"it has {links}, and a change would reach this one alone",
            "copy it to a file of its own and name that with --db",
        )


def _copy(source: int, path: Path, copy: Path, name: Path) -> None:
    """Copy from a descriptor of the file at `path`, with its owner, mode and attributes."""
    try:
        # Nobody else may read the copy before it has the original's mode.
        _copy_bytes(source, copy, mode=0o600)
        _keep_owner(os.fstat(source), copy, name)
        shutil.copystat(path, copy)
    except OSError as error:
        raise disk.not_written(name, error) from error


def _copy_bytes(source: int, copy: Path, mode: int) -> None:
    target = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(source, "rb", closefd=False) as read, os.fdopen(target, "wb") as written:
        shutil.copyfileobj(read, written, _CHUNK_BYTE)


def _keep_owner(state: os.stat_result, copy: Path, name: Path) -> None:
    try:
        os.chown(copy, state.st_uid, state.st_gid)
    except PermissionError as error:
        raise CharzError(
            "the file's owner cannot be kept",
            str(name),
            f"it belongs to user {state.st_uid}, group {state.st_gid}",
            "change it as that user, or copy it and name the copy with --db",
        ) from error


def _create(copy: Path, start: Path | None, name: Path) -> None:
    """Make a new file from `start`; an empty one if `start` does not exist."""
    if start is not None:
        try:
            with start.open("rb") as source:
                return _copy_bytes(source.fileno(), copy, mode=0o666)
        except FileNotFoundError:
            _discard(copy)
        except OSError as error:
            raise disk.not_written(name, error) from error
    from .database import write_empty  # needs the row types, as no other change does

    return write_empty(copy)


def _put_in_place(copy: Path, path: Path, name: Path) -> None:
    is_new = not path.exists()
    with lock.keeping_writers_out(copy):
        try:
            os.replace(copy, path)
        except OSError as error:
            raise disk.not_written(name, error) from error
        _sync_folder(path.parent)
        if not is_new:
            time.sleep(_SETTLE_S)


@contextlib.contextmanager
def _full_disk_named(name: Path) -> Iterator[None]:
    try:
        yield
    except (duckdb.Error, OSError) as error:
        if disk.is_full(error):
            raise disk.full(name, error) from error
        raise


def _log(path: Path) -> Path:
    """Return the path of the log that DuckDB keeps next to a file."""
    return path.with_name(f"{path.name}.wal")


def _discard(path: Path) -> None:
    for leftover in (path, _log(path)):
        with contextlib.suppress(FileNotFoundError):
            leftover.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the new name durable: otherwise a power loss may restore the old file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
