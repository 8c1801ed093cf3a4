"""Errors of writing to a disk, as charz reports them."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from pathlib import Path

from .errors import CharzError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_full(error: BaseException) -> bool:
    """Return whether the system or the engine reports a full disk."""
    return getattr(error, "errno", None) in _FULL or "No space left on device" in str(error)


def not_written(name: Path, error: OSError) -> CharzError:
    """Return the error for a file that could not be created or moved into place."""
    if is_full(error):
        return full(name, error)
    return CharzError(
        f"cannot write in this folder ({error.strerror})",
        str(_folder(name)),
        next="change its permissions, or name a file elsewhere with --db",
    )


def refused(error: OSError) -> CharzError:
    """Return the error for any file that the system refuses."""
    name = error.filename if isinstance(error.filename, str) else ""
    if is_full(error):
        return full(Path(name), error)
    next = "name another, or change its permissions"
    return CharzError(f"the system refused a file ({error.strerror})", name[:200], next=next)


def full(name: Path, error: BaseException) -> CharzError:
    """Return the error for a full disk while `name` was written: its own disk or that of temporary files. If the error names no file, it is
    the one with less room."""
    temporary = Path(os.path.realpath(tempfile.gettempdir()))
    place = _named(error)
    folder = place.parent if place else min(_folder(name), temporary, key=_free_byte)
    is_temporary = folder.is_relative_to(temporary) and not _folder(name).is_relative_to(folder)
    next = "make room there, or set TMPDIR to a folder elsewhere" if is_temporary else "make room there, or name a place elsewhere"
    return CharzError("the disk is full", str(temporary if is_temporary else folder), f"{_free_byte(folder) / 2**20:,.0f} MiB are free", next)


def _named(error: BaseException) -> Path | None:
    """Return the file that an error names as not written, the target of a copy; None if it names no file."""
    name = getattr(error, "filename2", None) or getattr(error, "filename", None)
    engine = re.search(r'"(/[^"]+)"', str(error))
    name = name or (engine[1] if engine else None)
    return Path(os.path.realpath(name)) if isinstance(name, str) else None


def _free_byte(folder: Path) -> int:
    """Return the room on a folder's disk; the folder may be gone. [byte]"""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    return shutil.disk_usage(there).free


def _folder(name: Path) -> Path:
    """Return the folder of a file, or the folder itself; the working folder for no name."""
    place = Path(os.path.realpath(name))
    return place if place.is_dir() else place.parent
