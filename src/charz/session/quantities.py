"""Formatting of numbers in display units with a few significant digits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

from charz.schema.units import UNITS, ending

_DECIMAL = (
    (1e18, "E"),
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
    (1e-12, "p"),
    (1e-15, "f"),
)
_BINARY = ((2.0**50, "Pi"), (2.0**40, "Ti"), (2.0**30, "Gi"), (2.0**20, "Mi"), (2.0**10, "Ki"), (1.0, ""))
UNKNOWN = "-"
"""Text shown for an unknown number."""


DISPLAYED = frozenset({"s", "J", "W", "byte", "J s", "USD", "USD/h", "byte/s", "ops/s", "Hz", "J/byte", "J/op"})
"""Units that tables convert to display units."""

_LONG = (("d", 86_400.0, 2.0), ("h", 3_600.0, 1.0), ("min", 60.0, 0.0))
"""Units of times from 1,000 s on, with their length in seconds and the least number of each that is told."""

_COUNTED = {"macs": "mac", "flops": "flop"}
"""Units of the columns that count work."""


def quantity(value: float | None, unit: str) -> str:
    """Format a value in its display unit: `0.0012, "s"` gives `1.20 ms`, and `5400, "s"` gives `1.50 h`."""
    if unit == "s" and value is not None and 1e3 <= abs(value) < math.inf:
        name, length = next(pair for pair in _LONG if abs(value) >= pair[1] * pair[2])[:2]
        return f"{significant(float(f'{value / length:.3g}'))} {name}"
    if unit == "byte":
        return size(value)
    if unit == "fraction":
        return percent(value)
    if unit == "count" and value is not None:
        return count(value)
    names = {"ops/s": "OP/s", "byte/s": "B/s", "op": "OP", "flop": "FLOP", "mac": "MAC"}
    if unit in ("USD", "USD/h"):
        return UNKNOWN if value is None else f"{significant(value)} {unit}"
    return _scaled(value, names.get(unit, unit), _DECIMAL)


def size(value: float | None) -> str:
    """Format a number of bytes, e.g. `97.5 MiB`."""
    return _scaled(value, "B", _BINARY)


def percent(value: float | None) -> str:
    """Format a fraction, e.g. `43 %`."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    share = 100 * value
    return f"{share:.0f} %" if share >= 9.95 or share == 0 else f"{share:.1f} %"


def significant(value: float, digits: int = 3) -> str:
    """Format a number with a few significant digits, and an exponent only if it is very large or small."""
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if not -4 <= magnitude < 7:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(0, digits - 1 - magnitude)}f}"


def _scaled(value: float | None, unit: str, scale: Sequence[tuple[float, str]]) -> str:
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return f"0 {unit}"
    factor, prefix = next(((f, p) for f, p in scale if abs(value) >= f * 0.9995), scale[-1])
    return f"{_three_digits(value / factor)} {prefix}{unit}"


def _three_digits(value: float) -> str:
    size = abs(value)
    return f"{value:.0f}" if size >= 99.95 else f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"


def shown(value: float | bool | None, column: str) -> str:
    """Format a number in a display unit that the column's name determines, and a truth value as a word."""
    unit = UNITS.get(ending(column))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return UNKNOWN
    if column.endswith("_fraction"):
        return percent(value)
    if column in _COUNTED:
        return quantity(value, _COUNTED[column])
    if unit in DISPLAYED:
        return quantity(value, str(unit))
    return count(value) if isinstance(value, float) else str(value)


def count(value: float) -> str:
    """Format a number without a unit."""
    if not math.isfinite(value):
        return str(value)
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e6 else significant(value)


def headers(columns: Sequence[str], bare: Collection[str] = ()) -> list[str]:
    """Return headings: column names without units. Equal headings are extended by the name of the quantity. Names in `bare` stay."""
    found = [name if name in bare else _header(name) for name in columns]
    for lengthened in (
        [name if name in bare else _longer(name) for name in columns],
        [name.replace("_", " ") for name in columns],
    ):
        counts = Counter(found)
        found = [longer if counts[short] > 1 else short for short, longer in zip(found, lengthened, strict=True)]
    return found


_QUANTITIES = {"s": "time", "J": "energy", "W": "power", "byte": "bytes", "USD": "cost", "1/s": "rate"}
"""Name of the quantity measured in each unit, which extends ambiguous headings."""

_SAID = {"J": ("energy", "edp"), "USD": ("cost", "price")}
"""Words by unit. A heading without any of these words is extended by the first: `token_j` becomes "token energy"."""


def _longer(column: str) -> str:
    if column.endswith("_fraction"):
        return f"{_header(column)} share"
    quantity_name = _QUANTITIES.get(UNITS.get(ending(column), ""), "")
    short = _header(column)
    return short if not quantity_name or quantity_name in short else f"{short} {quantity_name}"


def _header(column: str) -> str:
    end = "_fraction" if column.endswith("_fraction") else ending(column)
    unit = UNITS.get(end, "")
    suffix = end if end in ("_fraction", "_usd_per_hour") or unit in DISPLAYED or end == "_per_s" else ""
    name = column.removesuffix(suffix) + ("/s" if end == "_per_s" else "")
    name = name.removeprefix("is_").replace("_", " ")
    says = _SAID.get(unit, ())
    return f"{name} {says[0]}" if says and not any(word in name for word in says) else name
