"""Template in the user's cache: a database without models. A copy of the template is seconds faster than loading the catalog and views.

The name of the template is a hash of its inputs, so a charz with other inputs never uses it. No template is made if the cache is not writable.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

import charz
from charz.schema import cache, file, lock
from charz.schema.errors import CharzError

from . import verdicts

if TYPE_CHECKING:
    from charz.sql.foreign import Own

_MADE_FROM = ("schema", "sql", "hardware_catalog")
"""Folders of the package whose code and data determine the content of an empty database."""
_SUFFIXES = frozenset({".py", ".sql", ".csv", ".yaml"})
_WAIT_S = 60.0
"""Time limit to wait for another process that makes the template. [s]"""

Fill = Callable[[duckdb.DuckDBPyConnection], None]

_own: dict[Path, Own] = {}
"""Descriptions of templates by path of the cached file, read once per process."""


def ready(fill: Fill) -> Path | None:
    """Return the path of the template, or None if the cache is unusable. `fill` fills a missing template."""
    fingerprint = _fingerprint()
    name = f"empty-{fingerprint}"
    if path := cache.find(name, ".duckdb"):
        return path
    if cache.fault_of_folder():
        return None
    place = cache.folder() / name
    try:
        with lock.writing(place, place, _WAIT_S), cache.making(name, ".duckdb") as part:
            if path := cache.find(name, ".duckdb"):
                return path
            if part is None:
                return None
            part.unlink()
            with file.replace(part, create=True) as connection:
                fill(connection)
            if _fingerprint() != fingerprint:  # the code of charz was edited meanwhile
                return None
            return cache.keep(part, name, ".duckdb")
    except (OSError, CharzError, duckdb.IOException):
        # A full disk, a missing right or a competing process: the caller fills its own file.
        return None


def own(fill: Fill) -> Own | None:
    """Return the description of the template, or None without a template. The description is cached, since reading the template takes a tenth of a
    second."""
    from charz.sql import foreign

    name = f"own-{verdicts.charz()}"
    place = cache.folder() / name
    if place not in _own:
        content = cache.read(name, ".json")
        if content is not None:
            _own[place] = json.loads(content)
        elif path := ready(fill):
            with contextlib.closing(file.connect(path)) as connection:
                _own[place] = foreign.own(connection)
            cache.write(name, ".json", json.dumps(_own[place]).encode())
    return _own.get(place)


def _fingerprint() -> str:
    root = Path(charz.__path__[0])
    digest = hashlib.sha256(f"{charz.__version__} {duckdb.__version__}".encode())
    for folder in _MADE_FROM:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in _SUFFIXES:
                digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:24]
