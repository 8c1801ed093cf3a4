"""A database without models in the user's cache, since copying it is seconds faster than reading the catalog and binding the views.

Its file name is a hash of everything it is made from, so another charz never takes it. It is omitted where the cache is not writable.
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
"""Folders of the package that determine an empty database."""
KEPT = 4
"""Number of templates that are kept, for several versions of charz."""
_SUFFIXES = frozenset({".py", ".sql", ".csv", ".yaml"})


def ready(fill: Callable[[duckdb.DuckDBPyConnection], None]) -> Path | None:
    """Return the template, made with `fill` on first use; None where the cache is unusable."""
    into = folder()
    fingerprint = _fingerprint()
    path = into / f"{fingerprint}.duckdb"
    if path.is_file():
        return path
    try:
        into.mkdir(parents=True, exist_ok=True)
        with file.replace(path, create=True) as connection:
            fill(connection)
        if _fingerprint() != fingerprint:  # someone has edited charz meanwhile
            path.unlink()
            return None
        _forget_older(into)
    except (OSError, CharzError, duckdb.IOException):
        # A full disk, a missing right or a competing process: the caller fills its own file.
        return None
    return path


def folder() -> Path:
    """Return charz's cache folder."""
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
    """Delete all but the newest templates; one that is being copied stays readable."""
    with contextlib.suppress(OSError):  # another process may do the same
        newest_first = sorted(place.glob("*.duckdb"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in newest_first[KEPT:]:
            path.unlink()
