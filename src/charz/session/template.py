"""A database without models, kept ready in the user's cache: to read the catalog and to bind the views
takes seconds, to copy a file does not.

The file is named by a hash of everything it is made from, so another charz never finds it. Where the
cache cannot be written, there is none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import duckdb

import charz
from charz.schema import file
from charz.schema.errors import CharzError

_MADE_FROM = ("schema", "sql", "hardware_catalog")
"""Folders of the package whose code and data decide what an empty database holds."""
KEPT = 4
"""Templates that stay: of this charz, and of others used beside it."""
_SUFFIXES = frozenset({".py", ".sql", ".csv", ".yaml"})


def ready(fill: Callable[[duckdb.DuckDBPyConnection], None]) -> Path | None:
    """The template, made with `fill` when there is none yet; None when the cache cannot be used."""
    into = folder()
    fingerprint = _fingerprint()
    path = into / f"{fingerprint}.duckdb"
    if path.is_file():
        return path
    try:
        into.mkdir(parents=True, exist_ok=True)
        with file.replace(path, create=True) as connection:
            fill(connection)
        if _fingerprint() != fingerprint:  # somebody edits charz meanwhile
            path.unlink()
            return None
        _forget_older(into)
    except (OSError, CharzError, duckdb.IOException):
        # No room, no right, or another process is at it: the caller fills its own file.
        return None
    return path


def folder() -> Path:
    """Where charz keeps what it can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "charz"


def _fingerprint() -> str:
    root = Path(charz.__path__[0])
    digest = hashlib.sha256(f"{charz.__version__} {duckdb.__version__}".encode())
    for folder in _MADE_FROM:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in _SUFFIXES:
                digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:24]


def _forget_older(place: Path) -> None:
    """Delete all templates but the newest; one that is being copied stays readable until it is."""
    with contextlib.suppress(OSError):  # another process does the same
        newest_first = sorted(place.glob("*.duckdb"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in newest_first[KEPT:]:
            path.unlink()
