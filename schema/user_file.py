"""Files that charz writes where its user says: all or nothing, and never over what is not charz's own."""

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
from .errors import CharzError

_MARK = "user.charz"
"""Extended attribute of a file that charz wrote: the digest of what it wrote, so that an edited file is no longer charz's."""

_OPEN_FILE = re.compile(r"/dev/(stdin|stdout|stderr|fd/\d+)|/proc/(self|thread-self|\d+)/(task/\d+/)?fd/\d+")
"""Names that the system gives to files that a process has open."""

_NEXT = "write e.g. --out rows.csv"


def check(out: Path, force: bool = False) -> None:
    """Raise `CharzError` where a file must not be written: it is a folder, a database, or without `force` a file that charz
    did not write or that was changed since."""
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
    """Write a file as `write_pieces` does, of one piece."""
    write_pieces(out, [data], force)


def write_pieces(out: Path, pieces: Iterable[bytes], force: bool = False) -> None:
    """Write a file through its links, all or nothing and with the mode of the one before; a pipe or device is written to.

    Raises `CharzError` as `check` does, and where the disk is full or the folder cannot be written.
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
    """Text of a cell of CSV that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) and not _is_number(text) else text


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
            with contextlib.suppress(OSError):  # a file system without attributes: the next run asks for --force
                os.setxattr(part, _MARK, digest.hexdigest().encode())
        os.replace(part, target)


def _check_own(out: Path, state: os.stat_result, force: bool) -> None:
    if not state.st_size:
        return
    _check_is_no_database(out, state)
    if state.st_nlink > 1:
        exists = f"it has {state.st_nlink}, and the others would keep what they hold"
        raise CharzError("a file with several names (hard links)", f"--out {out}", exists, "name another file")
    if not force and not _is_marked(out):
        next = "name another file, or add --force to write over it"
        raise CharzError("a file that charz did not write, or that was changed since", f"--out {out}", next=next)


def _check_is_no_database(out: Path, state: os.stat_result) -> None:
    """Raise `CharzError` for a database, or the log of one, under whatever name; a file that is not to be read is told by the
    device and inode of those that this process uses."""
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
    """Keep a database, its log and what its writers hold from being written over in this process, under any name."""
    _databases.add(database)


_databases: set[Path] = set()


def _guarded() -> set[tuple[int, int]]:
    """Device and inode of the files that belong to the databases in use."""
    found = set()
    for database in {Path(os.path.realpath(path)) for path in _databases}:
        for path in (database, *(database.with_name(name.format(database.name)) for name in _BESIDE)):
            with contextlib.suppress(OSError):
                state = path.stat()
                found.add((state.st_dev, state.st_ino))
    return found


_BESIDE = ("{}.wal", ".writing-{}", ".writing-{}.wal", ".{}.lock")
"""Files beside a database that its writers hold."""


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
    """True for a pipe, a device, or a name of an open file: none of them is replaced."""
    try:
        mode = out.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or bool(_OPEN_FILE.fullmatch(str(out.absolute())))


def _digest() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)


def _not_written(out: Path, error: OSError | ValueError) -> CharzError:
    if isinstance(error, OSError) and disk.is_full(error):
        return disk.full(out)
    reason = getattr(error, "strerror", None) or str(error)
    return CharzError("cannot write the file", str(out), reason, "name another with --out")
