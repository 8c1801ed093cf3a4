"""Units: as suffixes of column names and as people write them."""

from __future__ import annotations

import re

UNITS = {
    "_byte_per_s": "byte/s",
    "_ops_per_s": "ops/s",
    "_usd_per_hour": "USD/h",
    "_j_per_byte": "J/byte",
    "_intensity": "ops/byte",
    "_per_j": "1/J",
    "_per_s": "1/s",
    "_per_usd": "1/USD",
    "_s": "s",
    "_js": "J s",
    "_j": "J",
    "_w": "W",
    "_hz": "Hz",
    "_byte": "byte",
    "_usd": "USD",
    "_nm": "nm",
    "_mm2": "mm2",
    "_mm": "mm",
    "_v": "V",
}
"""Unit by the suffix of a column's name, longest suffix first."""


def ending(column: str) -> str:
    """Return the suffix of a column's name that has a unit; empty without one."""
    return next((end for end in UNITS if column.endswith(end)), "")


MULTIPLES = {
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0},
    "J": {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "µJ": 1e-6, "nJ": 1e-9, "pJ": 1e-12, "kJ": 1e3, "Wh": 3600.0},
    "byte": {
        "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
        "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40,
    },
    "Hz": {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    "W": {"W": 1.0, "mW": 1e-3, "kW": 1e3},
    "mm2": {"mm2": 1.0, "cm2": 100.0},
    "USD": {"USD": 1.0},
    "ops": {"ops": 1.0, "Gops": 1e9, "Tops": 1e12, "Pops": 1e15},
}  # fmt: skip
"""Factor of each unit that people write, by its base unit."""


def multiples(unit: str) -> dict[str, float]:
    """Return the factors of a unit's multiples, `GB/s`, `KiB/s`, ... for `byte/s`; empty for a count."""
    base, per, divisor = unit.partition("/")
    named = _RATES if unit == "ops/s" else {}
    return {f"{name}{per}{divisor}": factor for name, factor in MULTIPLES.get(base, {}).items()} | named


_RATES = {
    f"{prefix}{name}": factor
    for prefix, factor in (("G", 1e9), ("T", 1e12), ("P", 1e15))
    for name in ("OPS", "OP/s", "FLOPS", "FLOP/s")
}
"""Operations per second as datasheets write them."""


def to_si(unit: str) -> tuple[str, float]:
    """Convert a unit to the engine's and return both that and the factor: `Hz` and 1e9 for `GHz`; an unknown unit stays, with factor 1."""
    for of_engine in ("byte", "byte/s", "ops", "ops/s", "s", "Hz", "W", "J", "J/op", "J/byte"):
        if (factor := multiples(of_engine).get(unit)) is not None:
            return of_engine, factor
    return unit, 1.0


def in_si(text: str, unit: str) -> float | None:
    """Convert a number with or without its unit (`1e9`, `64KiB`, `128GB/s`) to `unit`, empty for a count; None for other text or another
    unit."""
    known = multiples(unit)
    match = re.fullmatch(
        r"\s*((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?)\s*([A-Za-zµ/]*(?:[cm]m2)?)\s*", text
    )
    if not match or (match[2] and match[2] not in known):
        return None
    return float(match[1]) * known.get(match[2], 1.0)


def readable(value: float, unit: str) -> tuple[float, str]:
    """Convert a value to the largest multiple of its unit that leaves few digits, as people write it: 1.6e9 `Hz` to 1.6 `GHz`; unchanged
    if no multiple does. The result reads back as the same value."""
    named = {name: factor for name, factor in multiples(unit).items() if name.isascii()}
    if unit == "ops/s":
        named = {name: factor for name, factor in named.items() if name.endswith("OPS") and "FL" not in name}
    for name, factor in sorted(named.items(), key=lambda pair: -pair[1]):
        shown = value / factor
        if 1 <= shown < 1e5 and round(shown, 3) == shown and shown * factor == value:
            return shown, name
    return value, unit
