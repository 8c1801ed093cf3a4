"""Cache of the findings about database files, so that an unchanged file is not examined again."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from charz.schema import cache
from charz.sql import views
from charz.sql.foreign import Found

_NAME = "examined"
_MOST = 256
"""Largest number of files whose findings are cached."""

State = list[int | str]
"""Device, inode, size and times of a file, and a hash of the charz that examines the file."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Findings about a file."""

    found: Found
    altered: dict[str, int] = field(default_factory=dict)
    """Number of changed shipped rows, by table."""


def state(path: Path) -> State | None:
    """Return device, inode, size and times of a file with a hash of charz, or None if the file is missing or has a write-ahead log."""
    if not path.is_file() or path.with_name(f"{path.name}.wal").exists():
        return None
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, charz()]


def read(now: State | None) -> Verdict | None:
    """Return the cached findings about a file in this state, or None if there are no such findings."""
    kept = None if now is None else _kept().get(_key(now))
    if kept is None or kept["state"] != now:
        return None
    found = {name: tuple(values) for name, values in kept["found"].items()}
    return Verdict(Found(**found), kept["altered"])


def write(now: State, verdict: Verdict) -> None:
    """Store the findings about a file in this state."""
    kept = _kept()
    kept.pop(_key(now), None)
    kept[_key(now)] = {"state": now, **dataclasses.asdict(verdict)}
    newest = dict(list(kept.items())[-_MOST:])
    cache.write(_NAME, ".json", json.dumps(newest).encode())


def _kept() -> dict[str, dict[str, Any]]:
    content = cache.read(_NAME, ".json")
    kept: dict[str, dict[str, Any]] = {} if content is None else json.loads(content)
    return kept


def _key(now: State) -> str:
    return f"{now[0]}:{now[1]}"


@functools.cache
def charz() -> str:
    """Return a hash of the code and data of charz that determine the findings about a file. It is cheaper than the hash of a template."""
    root = views.ROOT.parent / "hardware_catalog"
    files = sorted([*root.glob("parts/*/*.yaml"), *root.glob("tables/*.csv"), *(views.ROOT.parent / "schema").glob("*.py")])
    changed = [(str(path), path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(f"{views.fingerprint()} {changed}".encode()).hexdigest()[:24]
