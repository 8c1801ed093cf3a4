"""Parsing of names, sizes and amounts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from charz.schema.conditions import CACHE_STATES
from charz.schema.errors import CharzError
from charz.schema.units import MULTIPLES, in_si, multiples

from .parameters import MOST, Amount, File, Names, Sizes

MOST_SIZES = 1000
"""Largest number of sizes on one axis; each size becomes a scenario on every part."""

_EXAMPLES = {"s": "5ms", "J": "50mJ", "byte": "8GiB", "W": "15W"}


def names(given: Names | None) -> list[str]:
    """Split a text into names at commas and drop repeated names. `,key=value` (a setting) and `,train` (the backward pass) belong to a model's name."""
    texts: Iterable[str] = [given] if isinstance(given, str) else given or ()
    parts = (part.strip() for text in texts for part in re.split(r",(?!\s*(?:[\w.]+=|train\b))", text))
    return list(dict.fromkeys(part for part in parts if part))


def formats(given: Names | None) -> list[str | None]:
    """Split a text into formats of the KV cache. `none`, as answers name it, and no text at all mean the format of the precision policy."""
    return [None if name == "none" else name for name in names(given)] or [None]


def sizes(given: Sizes | None) -> list[int]:
    """Parse sizes into a sorted list without repetitions. Raise `CharzError` for an invalid size."""
    if given is None:
        return []
    if isinstance(given, int):
        return [_checked(given)]
    if not isinstance(given, str):
        return sorted({_checked(size) for size in given})
    found: set[int] = set()
    for part in names(given) or [given]:
        added = _range(part)
        if len(added) > MOST_SIZES or len(found | set(added)) > MOST_SIZES:
            raise CharzError("too many sizes", given, f"at most {MOST_SIZES} are possible", "take larger steps")
        found.update(added)
    return sorted(found)


def numbers(given: float | str | Sequence[float] | None, where: str) -> list[float]:
    """Parse numbers above 0 into a sorted list without repetitions. Raise `CharzError` for another text."""
    if given is None:
        return []
    texts: Sequence[Any] = given.split(",") if isinstance(given, str) else [given] if isinstance(given, int | float) else given
    found = set()
    for text in texts:
        try:
            value = float(text)
        except (TypeError, ValueError):
            value = math.nan
        if not 0.0 < value < math.inf:
            raise CharzError("not a number above 0", f"{where} {text}", next="write e.g. 2 or 0.5,1,2")
        found.add(value)
    return sorted(found)


def _range(text: str) -> range | list[int]:
    match = re.fullmatch(r"(\d+)(?::(\d+)(?::(\d+))?)?", text)
    first, last, step = map(int, match.groups(match[1])) if match else (0, 0, 0)
    if not step or not 1 <= first <= last:
        raise CharzError("not a size", text, next="write 8, 1,8,64, 1:256 (doubling) or 64:1024:64 (steps)")
    _checked(last)
    doubled = [first * 2**i for i in range((last // first).bit_length())]
    return range(first, last + 1, step) if match and match[3] else doubled


def _checked(size: int) -> int:
    return check_size("size", size)


def check_size(what: str, size: int) -> int:
    """Return the size. Raise `CharzError` for a size below 1 or above `MOST`, which would overflow counts."""
    if not 1 <= size <= MOST:
        raise CharzError(f"{what} out of range", str(size), f"1 to {MOST:,} is possible")
    return size


def amount(given: Amount | None, unit: str, option: str) -> float | None:
    """Parse a limit into SI units (`s`, `J`, `byte` or `W`). Raise `CharzError` for a text without a known unit."""
    if given is None or not isinstance(given, str):
        return given
    match = re.fullmatch(r"\s*((?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,2})?)\s*([A-Za-zµ]*)\s*", given)
    known, example = MULTIPLES[unit], f"write e.g. {option} {_EXAMPLES[unit]}"
    if match and not match[2]:
        raise CharzError("a number without its unit", f"{option} {given}", f"units: {', '.join(known)}", example)
    if not match or match[2] not in known:
        raise CharzError("not an amount", f"{option} {given}", f"units: {', '.join(known)}", example)
    return float(match[1]) * known[match[2]]


def quantity(given: Amount, unit: str, name: str) -> float:
    """Parse a number with or without its unit (`2TB/s`, `1.2GHz`, `20pJ/byte`) into SI units. `unit` is the unit of the field `name`, empty for a count.
    Raise `CharzError` for an invalid number or another unit."""
    if not isinstance(given, str):
        return given
    value = in_si(given, unit)
    if value is None:
        known = multiples(unit)
        units = (
            f"units: {', '.join(known)}" if known else "it has no unit" if not unit else f"in {unit}, without its unit"
        )
        raise CharzError("not an amount", f"{name}={given}", units)
    return value


def one_of(kind: str, value: str, known: Iterable[str]) -> str:
    """Return the value. Raise `CharzError` for a value that is not in `known`."""
    listed = list(known)
    if value not in listed:
        raise CharzError(f"unknown {kind}", value, f"there are {', '.join(listed)}")
    return value


def cache_state(value: str) -> str:
    """Return the state of the caches when a run begins. Raise `CharzError` for an unknown state."""
    return one_of("cache state", value, CACHE_STATES)


def path_of(given: File | None) -> Path | None:
    """Convert a file name to a path; None stays None."""
    return None if given is None else Path(given)
