"""Temporary folders for files being written, next to their target. A lock that ends with the process guards each; the next process removes
folders of killed ones."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_ENDING = ".charz-unfinished"

_places: set[Path] = set()
"""Paths of the unfinished files and folders of this process."""

_blocks = 0
"""Number of active blocks whose finished work is written despite Ctrl-C."""

_NAME_LETTERS = 40
"""Number of letters taken from the target's name, so that no name is too long for a file system."""


@contextlib.contextmanager
def known(*places: Path) -> Iterator[None]:
    """Register files or folders that `remove` deletes if the process ends within the block."""
    _places.update(places)
    try:
        yield
    finally:
        _places.difference_update(places)


@contextlib.contextmanager
def finishing() -> Iterator[None]:
    """Mark a block whose finished work is still written after Ctrl-C, which may take long: `is_finishing` is true within it."""
    global _blocks
    _blocks += 1
    try:
        yield
    finally:
        _blocks -= 1


def is_finishing() -> bool:
    """Return whether this process still has to write finished work."""
    return _blocks > 0


@functools.cache
def spill() -> Path:
    """Return the folder in which this process's engine stores data that exceed its memory; the engine creates and removes it. Nobody can
    predict its name and make it first."""
    place = Path(tempfile.gettempdir(), f"charz-spill-{os.getpid()}-{secrets.token_hex(8)}")
    _places.add(place)
    return place


def remove() -> None:
    """Remove the unfinished files of this process, which does nothing afterwards but end."""
    for place in list(_places):
        with contextlib.suppress(OSError):
            shutil.rmtree(place) if place.is_dir() else place.unlink()


@contextlib.contextmanager
def folder(target: Path) -> Iterator[Path]:
    """Yield a new folder next to a target, on its file system, and remove it afterwards; first remove those that killed processes left."""
    for other in target.parent.glob(f".*{_ENDING}"):
        _remove_if_left(other)
    place, descriptor = _held(target)
    try:
        with known(place):
            yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(descriptor)


def _held(target: Path) -> tuple[Path, int]:
    """Make a new folder and return it with a descriptor of its lock; make another if a process removed the first as left over."""
    while True:
        place = Path(tempfile.mkdtemp(prefix=f".{target.name[:_NAME_LETTERS]}.", suffix=_ENDING, dir=target.parent))
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if place.exists():
                return place, descriptor
            os.close(descriptor)


def _remove_if_left(place: Path) -> None:
    """Remove a folder that this user made and that no living process has locked."""
    with contextlib.suppress(OSError):  # gone meanwhile, or somebody else's
        if place.is_symlink() or place.stat().st_uid != os.getuid():
            return
        descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place)
        finally:
            os.close(descriptor)
