"""A design space: the varied numbers of a part, their values, and the resulting parts."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from charz.schema.errors import CharzError
from charz.schema.units import UNITS

from ..parameters import Amount
from ..part_fields import PartField, dataflow_field, named, part_fields
from .arrays import Array, arrays

if TYPE_CHECKING:
    import duckdb

    from charz.sql.scopes import Varied

MOST_PARTS = 10_000
"""Largest number of parts of a design space."""

UNIT_NAMES = ("tiles", "units")
"""Short names of the number of compute units in all clusters together."""

GEOMETRIC = frozenset({"", "byte", "byte/s", "Hz", "ops/s"})
"""Units of numbers that vary by ratios: counts, sizes and rates."""

MEMORY, ARRAY, DATAFLOW = "memory", "array", "dataflow"
"""Short names of three axes: kind and number of memory channels, size of the arrays, and dataflow."""

SIZE = re.compile(r"([1-9]\d{0,5})(?:x([1-9]\d{0,5}))?")
"""Rows and columns of an array, e.g. `32x64`, or the side of a square array."""

CHANNELS = re.compile(r"(\w+)x([1-9]\d{0,3})")
"""Kind and number of channels, e.g. `LPDDR5x4`."""

Value = float | str
"""Value on an axis: a number, or a kind of memory with the number of channels."""

NEXT = "write e.g. tiles=64:1024, l2=4MiB:64MiB:5 or dram=128GB/s,1TB/s"

Given = Mapping[str, Amount | Sequence[Amount]] | Sequence[str] | str
"""Mapping of names to values, or texts `NAME=LOW:HIGH`, `NAME=LOW:HIGH:COUNT` and `NAME=a,b,c`."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A varied number of the whole part."""

    name: str
    part_fields: tuple[PartField, ...]
    """Numbers of the part that the axis sets."""
    shared: Callable[[Any, int], Sequence[Value]]
    """Function that takes a value of the axis and the number of units, and returns the value of each number in `part_fields`."""
    values: tuple[Value, ...]

    def numbers(self, value: Value) -> dict[PartField, Value]:
        """Return the numbers of the part at a value of an axis that is independent of the number of units."""
        return dict(zip(self.part_fields, self.shared(value, 0), strict=True))

    @property
    def column(self) -> str:
        """Name of the axis' column, which ends in the unit."""
        plain = re.sub(r"\W", "_", self.name)
        if self.name in (MEMORY, ARRAY, DATAFLOW):
            return plain
        unit = next((end for end, unit in UNITS.items() if unit == self.part_fields[0].unit), "")
        return plain if plain.endswith(unit) else f"{plain}{unit}"

    def shown(self, value: Value) -> dict[str, Value]:
        """Return the columns of a value: the value itself and, for a kind of memory, the bandwidth and the size of its channels together."""
        if self.name != MEMORY:
            return {self.column: value}
        bandwidth, size, _ = self.shared(value, 0)
        return {self.column: value, "memory_byte_per_s": bandwidth, "memory_byte": size}


@dataclass(frozen=True, slots=True)
class DesignSpace:
    """Every combination of the values of some axes."""

    base: str
    axes: tuple[Axis, ...]
    clusters: Mapping[PartField, int]
    """Number of units of each cluster of the base."""
    arrays: tuple[Array, ...]
    """Arrays of the base, with the numbers that follow their sides."""

    @property
    def points(self) -> list[tuple[Value, ...]]:
        """Values of the axes at every point. The first axis changes slowest."""
        return list(itertools.product(*(axis.values for axis in self.axes)))

    def varied(self, points: Sequence[tuple[Value, ...]]) -> list[Varied]:
        """Return the numbers of the parts at some points."""
        from charz.sql.scopes import Varied

        rows = [self._numbers(point) for point in points]
        own = {part_field for axis in self.axes for part_field in axis.part_fields}
        kept = self.clusters.keys() - own
        return [
            Varied(part_field.table, part_field.key, part_field.column, [row[part_field] for row in rows])
            for part_field in rows[0]
            if part_field not in kept
        ]

    def _numbers(self, point: tuple[Value, ...]) -> dict[PartField, Any]:
        found: dict[PartField, Any] = dict(self.clusters)
        for axis, value in zip(self.axes, point, strict=True):
            if axis.part_fields[0] in self.clusters:
                found.update(zip(axis.part_fields, axis.shared(value, 0), strict=True))
        units = int(sum(found[part_field] for part_field in self.clusters))
        for axis, value in zip(self.axes, point, strict=True):
            if axis.part_fields[0] not in self.clusters:
                numbers = axis.shared(value, units)
                for part_field, number in zip(axis.part_fields, numbers, strict=True):
                    if not isinstance(number, str):
                        part_field.checked(
                            number, f"{axis.name}={value if isinstance(value, str) else format(value, 'g')}"
                        )
                found.update(zip(axis.part_fields, numbers, strict=True))
        for array in self.arrays:
            for part_field, number in array.following(found).items():
                found[part_field] = part_field.checked(number, f"{part_field.field}={number:g}")
        return found


def design_space(connection: duckdb.DuckDBPyConnection, base: str, given: Given) -> DesignSpace:
    """Parse the varied numbers of a part and their values. Raise `CharzError` for an unknown number, an invalid value, and too many parts."""
    texts = _texts(given)
    if not texts:
        raise CharzError("nothing is varied", next=NEXT)
    resolver = _Resolver(connection, base)
    axes = tuple(resolver.axis(name, values) for name, values in texts)
    seen: dict[PartField, str] = {}
    for axis in axes:
        for part_field in axis.part_fields:
            if part_field in seen:
                raise CharzError("two names mean the same number", f"{seen[part_field]}, {axis.name}", part_field.field)
            seen[part_field] = axis.name
    count = math.prod(len(axis.values) for axis in axes)
    if count > MOST_PARTS:
        sizes = " x ".join(f"{len(axis.values)} {axis.name}" for axis in axes)
        raise CharzError("too many parts", f"{count} ({sizes})", f"at most {MOST_PARTS} are possible")
    return DesignSpace(base, axes, resolver.clusters, tuple(resolver.arrays))


def _texts(given: Given) -> list[tuple[str, str | Sequence[Amount]]]:
    if isinstance(given, Mapping):
        return [(name, values if isinstance(values, str | Sequence) else [values]) for name, values in given.items()]
    found: list[tuple[str, str | Sequence[Amount]]] = []
    for text in [given] if isinstance(given, str) else given:
        name, sign, values = text.partition("=")
        if not sign or not name.strip() or not values.strip():
            raise CharzError("not a name with values", text, next=NEXT)
        found.append((name.strip(), values.strip()))
    return found


def short_axis(connection: duckdb.DuckDBPyConnection, base: str, name: str, given: str | Sequence[Amount]) -> Axis | None:
    """Return the axis of a short name for the whole part that no field has, such as `array`; None for another name."""
    resolver = _Resolver(connection, base)
    return resolver.axis(name, given) if name in resolver.short() else None


def told(connection: duckdb.DuckDBPyConnection, designs: DesignSpace) -> Iterator[str]:
    """Yield a line for each axis whose name does not tell all that it changes: a size that units share, and vector units that follow arrays."""
    query = "SELECT formula FROM derived_number WHERE hardware = ? AND field LIKE 'peak.%.vector.%' AND basis = 'matrix_peak'"
    for axis in designs.axes:
        if axis.shared is _divided:
            yield f"{axis.name} is the size of the whole part: each unit has an equal share of it"
        if axis.name == ARRAY and (found := connection.execute(query, [designs.base]).fetchone()):
            yield f"vector units without a stated peak follow the array ({found[0]}): state a vector peak to keep them"


class _Resolver:
    """Lookup of one part's numbers by the names that a user gives."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, base: str) -> None:
        self.base = base
        self.known = part_fields(connection, base)
        self.dataflow = dataflow_field(connection, base)
        query = "SELECT cluster, unit_count, clock_boost_hz FROM hardware_cluster WHERE hardware = ? ORDER BY cluster"
        rows = connection.execute(query, [base]).fetchall()
        self.clusters = {self._field(f"cluster.{cluster}.unit_count"): count for cluster, count, _ in rows}
        self.clocks = {self._field(f"cluster.{cluster}.clock_boost_hz"): clock for cluster, _, clock in rows if clock}
        query = "SELECT level, scope FROM hardware_memory WHERE hardware = ? ORDER BY level"
        self.levels = dict(connection.execute(query, [base]).fetchall())
        query = "SELECT quantity, row_key, value FROM part_rule WHERE hardware = ? ORDER BY row_key"
        rules: dict[str, dict[str, Any]] = {}
        for quantity, kind, value in connection.execute(query, [base]).fetchall():
            rules.setdefault(quantity, {})[kind] = value
        sizes = rules.get("channel_byte", {})
        rates = rules.get("channel_byte_per_s", {})
        self.channels = {kind: (rate, sizes[kind]) for kind, rate in rates.items() if kind in sizes}
        self.arrays = arrays(connection, base, self.known)

    def axis(self, name: str, given: str | Sequence[Amount]) -> Axis:
        """Find the numbers that a name means, and parse the values."""
        if name == MEMORY and "dram" in self.levels:
            return self._memory(given)
        if name == ARRAY and self.arrays:
            return self._array(given)
        if name == DATAFLOW:
            if self.dataflow is None:
                raise CharzError("no array of known shape", self.base, next="TPUs, KPUs and parts with array_rows have an array")
            return _words(given, self.dataflow)
        found, shared = self._meaning(name)
        values = _values(given, name, found[0])
        if name in UNIT_NAMES and values[0] < len(found):
            raise CharzError("too few units", f"{name}={values[0]:g}", f"{self.base} has {len(found)} kinds of units")
        if shared is _same:
            for value in values:
                found[0].checked(value, f"{name}={value:g}")
        return Axis(name, found, shared, values)

    def _meaning(self, name: str) -> tuple[tuple[PartField, ...], Callable[[float, int], Sequence[float]]]:
        level, _, what = name.partition(".")
        if name in UNIT_NAMES:
            return tuple(self.clusters), lambda value, _: _split(int(value), list(self.clusters.values()))
        if name == "clock" and self.clocks:
            fastest = max(self.clocks.values())
            return tuple(self.clocks), lambda value, _: [value * clock / fastest for clock in self.clocks.values()]
        if level in self.levels and what in ("", "capacity", "bandwidth"):
            column = "bandwidth_byte_per_s" if what == "bandwidth" or name == "dram" else "capacity_byte"
            part_field = self._field(f"memory.{level}.{column}")
            return (part_field,), _divided if self.levels[level] == "unit" else _same
        return (named(self.known, self.base, name, self.short()),), _same

    def _memory(self, given: str | Sequence[Amount]) -> Axis:
        """Make an axis of kinds of main memory with numbers of channels. A value sets bandwidth, size and technology of the memory; energy, area and
        dollars follow from these three."""
        values: dict[str, list[Value]] = {}
        for text in map(str, given.split(",") if isinstance(given, str) else given):
            match = CHANNELS.fullmatch(text.strip())
            kind = next((k for k in self.channels if match and k.lower() == match[1].lower()), None)
            if match is None or kind is None:
                known = ", ".join(self.channels)
                raise CharzError(
                    "not a kind of memory with a number of channels", text, f"there are {known}", "write e.g. LPDDR5x4"
                )
            rate, size = self.channels[kind]
            count = int(match[2])
            values[f"{kind}x{count}"] = [count * rate, count * size, kind]
        bandwidth, size = (self._field(f"memory.dram.{name}") for name in ("bandwidth_byte_per_s", "capacity_byte"))
        technology = replace(bandwidth, field="memory.dram.technology", column="technology", unit="")
        order = sorted(values, key=lambda name: (values[name][0], name))
        return Axis(MEMORY, (bandwidth, size, technology), lambda value, _: values[value], tuple(order))

    def _array(self, given: str | Sequence[Amount]) -> Axis:
        """Make an axis of arrays of one size in every cluster with arrays. A number is the side of a square, `32x64` means 32 rows and 64 columns."""
        sides = tuple(side for array in self.arrays for side in array.sides)
        texts = [str(text).strip() for text in (given.split(",") if isinstance(given, str) else given)]
        if not any("x" in text for text in texts):
            return Axis(ARRAY, sides, lambda value, _: [value] * len(sides), _values(given, ARRAY, sides[0]))
        sizes: dict[str, tuple[int, int]] = {}
        for text in texts:
            match = SIZE.fullmatch(text)
            if match is None:
                raise CharzError("not the size of an array", f"{ARRAY}={text}", next="write e.g. array=32,64 or array=32x64,64x128")
            sizes[text] = int(match[1]), int(match[2] or match[1])
        order = sorted(sizes, key=lambda text: (math.prod(sizes[text]), sizes[text]))
        return Axis(ARRAY, sides, lambda value, _: sizes[value] * len(self.arrays), tuple(order))

    def _field(self, field: str) -> PartField:
        return next(part_field for part_field in self.known if part_field.field == field)

    def short(self) -> tuple[str, ...]:
        """Return the short names of numbers of the whole part."""
        arrays = [*([ARRAY] if self.arrays else []), *([DATAFLOW] if self.dataflow else [])]
        return (*UNIT_NAMES, *(["clock"] if self.clocks else []), *arrays, MEMORY, *self.levels)


def _words(given: str | Sequence[Amount], part_field: PartField) -> Axis:
    """Make an axis of words. Short names of words are expanded."""
    texts = [str(text).strip() for text in (given.split(",") if isinstance(given, str) else given)]
    words = dict.fromkeys(part_field.word(text, DATAFLOW) for text in texts)
    return Axis(DATAFLOW, (part_field,), lambda value, _: [value], tuple(words))


def _same(value: float, _: int) -> Sequence[float]:
    return [value]


def _divided(value: float, units: int) -> Sequence[float]:
    """Divide the size of a memory level of the whole part among the units."""
    return [value / units]


def _split(total: int, counts: Sequence[int]) -> Sequence[float]:
    """Divide units among clusters in proportion to the present numbers of units. Each cluster gets at least one unit."""
    free = total - len(counts)
    shares = [free * count / sum(counts) for count in counts]
    found = [math.floor(share) for share in shares]
    order = sorted(range(len(counts)), key=lambda i: (found[i] - shares[i], i))
    for i in order[: free - sum(found)]:
        found[i] += 1
    return [float(share + 1) for share in found]


def _values(given: str | Sequence[Amount], name: str, part_field: PartField) -> tuple[float, ...]:
    """Parse the values of an axis, sorted. Raise `CharzError` for an invalid list or range."""
    if isinstance(given, str) and ":" in given:
        return _range(given, name, part_field)
    texts = [text.strip() for text in given.split(",")] if isinstance(given, str) else list(given)
    if not texts or "" in texts:
        raise CharzError("a number without a value", name, next=NEXT)
    return tuple(sorted({_amount(text, name, part_field) for text in texts}))


def _amount(text: Amount, name: str, part_field: PartField) -> float:
    from ..axes import quantity

    value = quantity(text, part_field.unit, name)
    if not math.isfinite(value) or value < 0 or (part_field.is_count and value != int(value)):
        raise CharzError("not a count" if part_field.is_count else "not an amount", f"{name}={text}", next=NEXT)
    return value


def _range(text: str, name: str, part_field: PartField) -> tuple[float, ...]:
    """Return the values of a range. Counts, sizes and rates double if both ends are powers of two. Otherwise they change by equal ratios, at most 2
    if the range states no count of values. Powers, times and shares change by equal steps."""
    low_text, _, rest = text.partition(":")
    high_text, _, count_text = rest.partition(":")
    low, high = _amount(low_text, name, part_field), _amount(high_text, name, part_field)
    is_geometric = part_field.unit in GEOMETRIC and not part_field.column.endswith("_fraction")
    if not low < high or (is_geometric and low <= 0):
        raise CharzError("not a range", f"{name}={text}", "the low end comes first" if low > high else "", NEXT)
    if count_text and not re.fullmatch(r"[1-9]\d{0,4}", count_text):
        raise CharzError("not a count of values", f"{name}={text}", next=NEXT)
    octaves = math.log2(high / low) if low else 1.0
    count = int(count_text) if count_text else math.ceil(octaves - 1e-9) + 1
    if count < 2:
        raise CharzError("not a count of values", f"{name}={text}", "a range has two or more", NEXT)
    shares = [i / (count - 1) for i in range(count)]
    values = [low * (high / low) ** share if is_geometric else low + (high - low) * share for share in shares]
    if not count_text and math.log2(low or 1).is_integer() and math.log2(high).is_integer():
        values = [math.ldexp(low, i) for i in range(count)] if is_geometric else values
    values[0], values[-1] = low, high
    return tuple(sorted({float(round(value)) if part_field.is_count else value for value in values}))
