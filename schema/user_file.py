"""Files that charz writes where its user asks: completely or not at all, and never over files that charz did not write."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from . import disk, unfinished
from .errors import CharzError, printable

_MARK = "user.charz"
"""Extended attribute of a file that charz wrote: a digest of its contents, so that an edited file no longer counts as charz's."""

_OPEN_FILE = re.compile(r"/dev/(stdin|stdout|stderr|fd/\d+)|/proc/(self|thread-self|\d+)/(task/\d+/)?fd/\d+")
"""Names that the system gives to open files of a process."""

_NEXT = "write e.g. --out rows.csv"


def check(out: Path, force: bool = False) -> None:
    """Raise `CharzError` if a file must not be written: it is a folder, a database or, without `force`, a file that charz did not write or
    that has changed since."""
    if not out.name:
        raise CharzError("not a file to write", f"--out {out}", next=_NEXT)
    try:
        state = out.stat()
        if _is_stream(out):
            _check_is_no_database(out, state)
            return
        if stat.S_ISDIR(state.st_mode):
            raise CharzError("a folder, not a file", f"--out {out}", next=_NEXT)
        _check_own(out, state, force)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise _not_written(out, error) from error


def write(out: Path, data: bytes, force: bool = False) -> None:
    """Write a file of one piece, as `write_pieces` does."""
    write_pieces(out, [data], force)


def write_pieces(out: Path, pieces: Iterable[bytes], force: bool = False) -> None:
    """Write a file through its links, completely or not at all, with the mode of the old file; write directly to a pipe or device.

    Raises `CharzError` as `check` does, and if the disk is full or the folder cannot be written.
    """
    check(out, force)
    try:
        if _is_stream(out):
            with out.open("wb") as stream:
                stream.writelines(pieces)
        else:
            _replace(Path(os.path.realpath(out)), pieces)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _not_written(out, error) from error


def no_formula(text: str) -> str:
    """Return a CSV cell without control characters, quoted if a spreadsheet would take it for a formula."""
    text = printable(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _replace(target: Path, pieces: Iterable[bytes]) -> None:
    digest = _digest()
    with unfinished.folder(target) as place:
        part = place / "file"
        with part.open("wb") as file:
            for piece in pieces:
                file.write(piece)
                digest.update(piece)
        if target.exists():
            shutil.copymode(target, part)
        if hasattr(os, "setxattr"):
            with contextlib.suppress(OSError):  # without attributes in the file system, the next run asks for --force
                os.setxattr(part, _MARK, digest.hexdigest().encode())
        os.replace(part, target)


def _check_own(out: Path, state: os.stat_result, force: bool) -> None:
    if not state.st_size:
        return
    _check_is_no_database(out, state)
    if state.st_nlink > 1:
        exists = f"it has {state.st_nlink}, and the others would keep the old contents"
        raise CharzError("a file with several names (hard links)", f"--out {out}", exists, "name another file")
    if not force and not _is_marked(out):
        next = "name another file, or add --force to write over it"
        raise CharzError("a file that charz did not write, or that was changed since", f"--out {out}", next=next)


def _check_is_no_database(out: Path, state: os.stat_result) -> None:
    """Raise `CharzError` for a database or its log, under any name; an unreadable file is recognized by its device and inode among those
    that this process uses."""
    if not stat.S_ISREG(state.st_mode):
        return
    refused = CharzError("a database is not overwritten", f"--out {out}", next="name another file")
    if (state.st_dev, state.st_ino) in _guarded():
        raise refused
    if state.st_size and os.access(out, os.R_OK):
        with out.open("rb") as file:
            if file.read(16)[8:12] == b"DUCK":
                raise refused


def guard(database: Path) -> None:
    """Keep a database, its log and its writers' files from being overwritten in this process, under any name."""
    _databases.add(database)


_databases: set[Path] = set()


def _guarded() -> set[tuple[int, int]]:
    """Return device and inode of the files of the databases in use."""
    found = set()
    for database in {Path(os.path.realpath(path)) for path in _databases}:
        for path in (database, *(database.with_name(name.format(database.name)) for name in _BESIDE)):
            with contextlib.suppress(OSError):
                state = path.stat()
                found.add((state.st_dev, state.st_ino))
    return found


_BESIDE = ("{}.wal", ".writing-{}", ".writing-{}.wal", ".{}.lock")
"""Files next to a database that its writers use."""


def _is_marked(out: Path) -> bool:
    if not hasattr(os, "getxattr"):
        return False
    try:
        mark = os.getxattr(out, _MARK)
    except OSError:
        return False
    with out.open("rb") as file:
        return mark == hashlib.file_digest(file, _digest).hexdigest().encode()


def _is_stream(out: Path) -> bool:
    """Return whether a path is a pipe, a device, or an open file's name: these are never replaced."""
    try:
        mode = out.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or bool(_OPEN_FILE.fullmatch(str(out.absolute())))


def _digest() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)


def _not_written(out: Path, error: OSError | ValueError) -> CharzError:
    if isinstance(error, OSError) and disk.is_full(error) and not _is_stream(out):
        return disk.full(out, error)
    reason = getattr(error, "strerror", None) or str(error)
    return CharzError("cannot write the file", str(out), reason, "name another with --out")
