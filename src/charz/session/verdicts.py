"""Cache of the findings about database files, so that an unchanged file is not examined again."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from charz.schema import cache, sources
from charz.sql import views
from charz.sql.foreign import Found

_NAME = "examined"
_VERIFIED = "verified"
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
    computed: dict[str, int] = field(default_factory=dict)
    """Number of rows of maintained tables that differ from their recomputation, by table."""
    unsealed: int = 0
    """Number of answers at hand that this user's charz did not compute."""
    fault: str = ""
    """Reason why the file was not compared with charz's own; empty if it was."""


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
    found: dict[str, Any] = {n: v if isinstance(v, str) else tuple(v) for n, v in kept["found"].items()}
    return Verdict(Found(**found), kept["altered"], kept["computed"], kept["unsealed"])


def write(now: State, verdict: Verdict) -> None:
    """Store the findings about a file in this state."""
    kept = _kept()
    kept.pop(_key(now), None)
    kept[_key(now)] = {"state": now, **dataclasses.asdict(verdict)}
    newest = dict(list(kept.items())[-_MOST:])
    cache.write(_NAME, ".json", json.dumps(newest).encode())


def is_verified(content: str) -> bool:
    """Return whether maintained tables with this content (`Found.content`) equal their recomputation."""
    return f"{charz()} {content}" in _verified()


def verify(content: str) -> None:
    """Store that maintained tables with this content equal their recomputation."""
    cache.write(_VERIFIED, ".json", json.dumps([*_verified(), f"{charz()} {content}"][-_MOST:]).encode())


def _verified() -> list[str]:
    known = cache.read(_VERIFIED, ".json")
    found: list[str] = [] if known is None else json.loads(known)
    return found


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
    return hashlib.sha256(f"{views.fingerprint()} {sources.state(files)}".encode()).hexdigest()[:24]
