"""Locks on a database file: charz's own among its writers, and DuckDB's among all clients.

Both are released when their process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from . import disk, unfinished
from .errors import CharzError

WAIT_S = 30.0
"""Longest wait for another charz's change. [s]"""

_POLL_S = 0.02

_HAS_LOCKS_OF_OPEN_FILES = hasattr(fcntl, "F_OFD_SETLK")
"""True on Linux. A lock of an open file, unlike a lock of a process, survives when another part of the process closes the file."""

_READ_LOCK_OF_ALL = struct.pack("@hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
"""Linux's `struct flock`: type, whence, start, length and process."""


@contextlib.contextmanager
def writing(path: Path, name: Path, wait_s: float) -> Iterator[None]:
    """Lock the file against changes by other charz processes, waiting at most `wait_s` [s]; errors show the path as `name`. Raises
    `CharzError` that names the process with the lock, or reports that the folder cannot be written."""
    lock = path.with_name(f".{path.name}.lock")
    descriptor = _acquire(lock, name, time.monotonic() + wait_s)
    try:
        with unfinished.known(lock):
            yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            lock.unlink()
        os.close(descriptor)


@contextlib.contextmanager
def keeping_writers_out(path: Path) -> Iterator[int]:
    """Lock the file as a DuckDB reader does, which refuses every writer, and yield its file descriptor.

    Raises `BlockingIOError` while a client has the file open for writing.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _take(descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> None:
    # A process lock would replace a write lock that a connection of this process has, so that is tested first. The
    # process lock is taken before the lock of the open file: DuckDB names the owner of the former to a client that it
    # refuses.
    if _HAS_LOCKS_OF_OPEN_FILES:
        kind, *_ = struct.unpack("@hhqqi4x", fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _READ_LOCK_OF_ALL))
        if kind != fcntl.F_UNLCK:
            raise BlockingIOError
    fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    if _HAS_LOCKS_OF_OPEN_FILES:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _READ_LOCK_OF_ALL)


def _acquire(lock: Path, name: Path, deadline: float) -> int:
    while True:
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except FileNotFoundError:
            raise CharzError("no such folder", str(name.parent), next="create it or name another with --db") from None
        except OSError as error:
            raise _not_opened(lock, name, error) from error
        try:
            if _is_acquired(descriptor, lock):
                _sign(descriptor, lock, name)
                return descriptor
            if time.monotonic() >= deadline:
                raise _held(name, os.pread(descriptor, 20, 0).decode(errors="replace").strip())
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        time.sleep(_POLL_S)


def _sign(descriptor: int, lock: Path, name: Path) -> None:
    """Write the process id into the lock; remove the lock if that fails."""
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
    except OSError as error:
        lock.unlink(missing_ok=True)
        raise disk.not_written(name, error) from error


def _is_acquired(descriptor: int, lock: Path) -> bool:
    """Return True if this process has the lock on the named file; a lock on a file that its owner unlinked guards nothing."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), lock.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def _not_opened(lock: Path, name: Path, error: OSError) -> CharzError:
    """Return the error for a lock that this user cannot open: another user's charz made it, or it is a link or folder."""
    try:
        owner = lock.lstat().st_uid
    except OSError:
        return disk.not_written(name, error)
    exists = f"user {owner} owns it and may be writing {name}"
    next = "wait until that user's charz ends; delete the lock if none is running"
    return CharzError(f"cannot open the lock of the database ({error.strerror})", str(lock), exists, next)


def _held(name: Path, holder: str) -> CharzError:
    exists = f"process {holder} writes it" if holder else ""
    return CharzError("another charz is writing this database", str(name), exists, "wait for it, then try again")
