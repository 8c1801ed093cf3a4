"""Values derived from the sources of charz, kept in the user's cache while the sources are the same files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from . import cache

_ENDING = ".json"


def derived(name: str, files: Iterable[Path], make: Callable[[], str]) -> str:
    """Return the value that `make` derives from the content of the files, from the cache if they are unchanged since then."""
    before = state(files := list(files))
    content = cache.read(name, _ENDING)
    if content is not None:
        known = json.loads(content)
        if known["state"] == before:
            return str(known["value"])
    value = make()
    if state(files) == before:
        cache.write(name, _ENDING, json.dumps({"state": before, "value": value}).encode())
    return value


def state(files: Iterable[Path]) -> str:
    """Hash path, inode, size and times of files. An installation may give each file the same time of modification, but changes the
    inode and the time of the inode's change."""
    digest = hashlib.sha256()
    for path in files:
        found = path.stat()
        digest.update(f"{path}\0{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}\n".encode())
    return digest.hexdigest()
