"""Releases of servers: the one with numbers that is nearest to the one asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERS = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_WEIGHTS = (1_000_000, 1_000, 1)
"""Weight of the numbers of a release: a minor release counts as a thousand patches."""
ROCM = "rocm"
"""Word in the version of a build for AMD parts."""


def number(version: str) -> int | None:
    """Return the first release number in a version as one number; None without one."""
    found = _NUMBERS.search(version)
    if found is None:
        return None
    return sum(weight * int(part or 0) for weight, part in zip(_WEIGHTS, found.groups(), strict=True))


def text(number: int) -> str:
    """Write the number of a release as a version.

    >>> text(21_000), text(1_002_003)
    ('0.21', '1.2.3')
    """
    minor, patch = divmod(number, 1_000)
    return ".".join(map(str, (*divmod(minor, 1_000), *([patch] if patch else []))))


def nearest(version: str, known: Iterable[str], *, is_amd: bool = False) -> str | None:
    """Return the known version of the same build with the nearest release number, the earlier one in a tie; None if none is known.

    `is_amd` also takes builds for AMD parts if the version does not name the build.
    """
    wanted = number(version)
    if wanted is None:
        return None
    is_rocm = is_amd or ROCM in version.lower()
    numbered = [(number(name), name) for name in known if (ROCM in name) == is_rocm]
    found = [(abs(at - wanted), at, name) for at, name in numbered if at is not None]
    return min(found)[2] if found else None


def newest(known: Iterable[str], *, is_amd: bool) -> str | None:
    """Return the known version with the largest release number among the builds for AMD parts, or among the others; None without one."""
    found = [(at, name) for name in known if (ROCM in name) == is_amd and (at := number(name)) is not None]
    return max(found)[1] if found else None
