"""Errors of writing to a disk, as charz reports them."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from .errors import CharzError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_full(error: BaseException) -> bool:
    """Return whether the system or the engine reports a full disk."""
    return getattr(error, "errno", None) in _FULL or "No space left on device" in str(error)


def not_written(name: Path, error: OSError) -> CharzError:
    """Return the error for a file that could not be created or moved into place."""
    if is_full(error):
        return full(name)
    return CharzError(
        f"cannot write in this folder ({error.strerror})",
        str(_folder(name)),
        next="change its permissions, or name a file elsewhere with --db",
    )


def refused(error: OSError) -> CharzError:
    """Return the error for any file that the system refuses."""
    name = error.filename if isinstance(error.filename, str) else ""
    if is_full(error):
        return full(Path(name))
    next = "name another, or change its permissions"
    return CharzError(f"the system refused a file ({error.strerror})", name[:200], next=next)


def full(name: Path) -> CharzError:
    """Return the error for a full disk."""
    folder = _folder(name)
    free_mib = shutil.disk_usage(folder).free / 2**20
    next = "make room there, or name a place elsewhere"
    return CharzError("the disk is full", str(folder), f"{free_mib:,.0f} MiB are free", next)


def _folder(name: Path) -> Path:
    return Path(os.path.realpath(name)).parent
