"""Folders for what is being written beside its place: held by a lock that dies with the process, and removed by the next
one when that was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_ENDING = ".charz-unfinished"

_places: set[Path] = set()
"""What this process writes beside its place."""

_blocks = 0
"""Blocks whose work an interrupt leaves written."""

_NAME_LETTERS = 40
"""Of the target's name, so that no name is too long for a file system."""


@contextlib.contextmanager
def known(*places: Path) -> Iterator[None]:
    """Files or folders that `remove` takes away where the process ends within the block."""
    _places.update(places)
    try:
        yield
    finally:
        _places.difference_update(places)


@contextlib.contextmanager
def finishing() -> Iterator[None]:
    """What was done within the block is written when an interrupt ends it, which may take long: `is_finishing` holds."""
    global _blocks
    _blocks += 1
    try:
        yield
    finally:
        _blocks -= 1


def is_finishing() -> bool:
    """Whether this process still has to write what it has done."""
    return _blocks > 0


def spill() -> Path:
    """The folder in which the engine of this process may put what its memory does not hold; it makes and removes it."""
    place = Path(tempfile.gettempdir(), f"charz-spill-{os.getpid()}")
    _places.add(place)
    return place


def remove() -> None:
    """Take away what this process has not finished; it does nothing after that but end."""
    for place in list(_places):
        with contextlib.suppress(OSError):
            shutil.rmtree(place) if place.is_dir() else place.unlink()


@contextlib.contextmanager
def folder(target: Path) -> Iterator[Path]:
    """A new folder beside a target, on its file system, that is gone afterwards; those that killed processes have left
    there are removed first."""
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
    """A new folder and a descriptor with the lock on it; another one where a process took the first for left over."""
    while True:
        place = Path(tempfile.mkdtemp(prefix=f".{target.name[:_NAME_LETTERS]}.", suffix=_ENDING, dir=target.parent))
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if place.exists():
                return place, descriptor
            os.close(descriptor)


def _remove_if_left(place: Path) -> None:
    """Remove a folder that this user made and that no living process holds."""
    with contextlib.suppress(OSError):  # gone meanwhile, or somebody else's
        if place.is_symlink() or place.stat().st_uid != os.getuid():
            return
        descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place)
        finally:
            os.close(descriptor)
