"""The command that lists the effect of doubling each number of a part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..axes import cache_state, names
from ..catalog.hardware import warn
from ..core import Core
from ..parameters import Backend, Batch, Cache, Models, Part, Precision, Sequence_, Text
from ..part_fields import PartField, part_fields
from ..question import Question, header
from .arrays import arrays
from .design_point import VIEWS, evaluated_points

if TYPE_CHECKING:
    import duckdb

    from charz.sql.scopes import Copies

UNLIMITED_W = 1e9
"""Power limit above the power of any part. [W]"""

MOVED = 0.01
"""Smallest relative change of time that the remark reports."""

AS_IS = "as it is"

COLUMNS = (
    "number", "value", "doubled_value", "unit", "time_ratio", "energy_ratio", "area_ratio", "rest_ratio", "usd_ratio", "limited_by",
)  # fmt: skip

RATIOS = {
    "time_ratio": "latency_s", "energy_ratio": "energy_j", "area_ratio": "area_mm2", "rest_ratio": "rest_w", "usd_ratio": "part_usd",
}  # fmt: skip
"""Ratios of the answer, each with the compared column. A ratio is the value with the doubled number divided by the unchanged value."""

TOGETHER = {"unit_count": "units", "clock_boost_hz": "clock"}
"""Columns of a cluster that are also doubled in all clusters at once, each with the name of that row."""

OWN = {
    "hardware_cluster": ("unit_count",),
    "hardware_memory": ("bandwidth_byte_per_s", "capacity_byte"),
    "hardware_peak": ("peak_ops_per_s",),
    "hardware_interconnect": ("bandwidth_byte_per_s",),
    "hardware_overhead": ("overhead_s",),
    "hardware_power": ("tdp_w",),
}
"""Columns whose numbers are doubled one by one, by table."""


@dataclass(frozen=True, slots=True)
class Number:
    """Numbers of a part that are doubled together, under one name."""

    name: str
    part_fields: tuple[PartField, ...]
    values: tuple[float, ...]


class Elasticity(Core):
    """Sensitivity of predictions to a part's numbers."""

    @answer()
    def elasticity(
        self,
        models: Models,
        *,
        on: Part,
        batch: Batch = None,
        sequence: Sequence_ = None,
        precision: Precision = None,
        backend: Backend = None,
        cache: Cache = "warm",
        unlimited: Annotated[bool, Text("Remove the power limits, so that a larger number never makes the part slower.")] = False,
    ) -> Rows:
        """List the effect of doubling each number of a part on time, energy, area, idle power (`rest`) and dollars, the largest speedup first.

        Each row evaluates a hypothetical copy of the part in which one number is doubled and the numbers derived from it follow; nothing is written. A
        ratio is the copy's value divided by the part's: a time ratio of 0.5 means half the time. A derived peak or bandwidth is also doubled alone, in
        a separate row. An array is twice as large by twice its rows or twice its columns; the peaks of its cluster follow. With power
        limits, a time ratio above 1 means that the static power rose, or that the doubled number reaches the limit.
        """
        part = self.part_name(on)
        question = Question(
            names(models),
            [part],
            precisions=[precision] if precision else [],
            backends=[backend] if backend else [],
            caps=[],
            runs=[{"batch": batch or 1, "sequence": sequence}],
            fields={"cache_state": cache_state(cache)},
        )
        scoped = self.asked(question, "model_report")
        doubled = [
            number
            for number in numbers(self.connection(), part)
            if not (unlimited and number.part_fields[0].table == "hardware_power")
        ]
        copies = self._copies(part, doubled, unlimited)
        warn(self.messages, self.connection(), part)
        with self.cursor() as cursor:
            points = {point["hardware"]: point for point in evaluated_points(scoped, cursor, copies)}
        before = points[_copy(part, AS_IS)]
        if before["energy_j"] is None:
            raise CharzError("no answer for the unchanged part", part, next="`charz report` shows why")
        rows = [_row(number, before, points[_copy(part, number.name)]) for number in doubled]
        rows.sort(key=lambda row: (row["time_ratio"] is None, row["time_ratio"], row["energy_ratio"], row["number"]))
        self.messages.remark(_finding(rows))
        found = [[row[name] for name in COLUMNS] for row in rows]
        return Rows(COLUMNS, found, VIEWS, header=header(scoped.targets))

    def _copies(self, part: str, of: Sequence[Number], is_unlimited: bool) -> list[Copies]:
        """Return an unchanged copy of the part, and a copy for each number, with that number doubled. Derived numbers follow the doubled number."""
        query = "SELECT mode FROM hardware_power WHERE hardware = ?"
        modes = [mode for (mode,) in self.connection().execute(query, [part]).fetchall()] if is_unlimited else []
        return [_doubled(part, number, modes) for number in (None, *of)]


def numbers(connection: duckdb.DuckDBPyConnection, part: str) -> Iterator[Number]:
    """Yield the known numbers of a part that are above 0. Among the power limits, yield only the limit of the default mode."""
    known = part_fields(connection, part)
    query = "SELECT field, value FROM part_number WHERE hardware = ?"
    values = dict(connection.execute(query, [part]).fetchall())
    query = "SELECT mode FROM hardware_power WHERE hardware = ? AND NOT is_default"
    others = {mode for (mode,) in connection.execute(query, [part]).fetchall()}
    found = [field for field in known if values.get(field.field)]
    for column, name in TOGETHER.items():
        of = tuple(f for f in found if f.table == "hardware_cluster" and f.column == column)
        if of:
            yield Number(name, of, tuple(values[f.field] for f in of))
    for array in arrays(connection, part, known):
        for side, size in zip(array.sides, array.size, strict=True):
            yield Number(side.field, (side, *(f for f, _, _ in array.followers)), (size, *(value for _, value, _ in array.followers)))
    clusters = sum(f.table == "hardware_cluster" and f.column == "unit_count" for f in found)
    for field in found:
        is_own = field.column in OWN.get(field.table, ())
        is_repeated = field.table == "hardware_cluster" and clusters == 1
        if is_own and not is_repeated and dict(field.key).get("mode") not in others:
            yield Number(field.field, (field,), (values[field.field],))


def _copy(part: str, name: str) -> str:
    return f"{part} {name}"


def _doubled(part: str, number: Number | None, modes: Sequence[str]) -> Copies:
    """Return a copy of the part in which one number, if given, is doubled, and the power limits of some modes are removed."""
    from charz.sql.scopes import Copies, Varied

    fields = () if number is None else zip(number.part_fields, number.values, strict=True)
    varied = [Varied(field.table, field.key, field.column, [2 * value]) for field, value in fields]
    for mode in modes:
        varied.append(Varied("hardware_power", (("hardware", part), ("mode", mode)), "tdp_w", [UNLIMITED_W]))
    return Copies(part, [_copy(part, AS_IS if number is None else number.name)], varied)


def _row(number: Number, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    field = number.part_fields[0]
    value = sum(number.values) if number.name == "units" else max(number.values) if number.name == "clock" else number.values[0]
    ratios = {
        name: None if after[column] is None or not before[column] else after[column] / before[column]
        for name, column in RATIOS.items()
    }
    return {
        "number": number.name, "value": value, "doubled_value": 2 * value, "unit": field.unit, **ratios,
        "limited_by": after["limited_by"],
    }  # fmt: skip


def _finding(rows: Sequence[dict[str, Any]]) -> str:
    """Describe the number whose doubling saves most time, in one sentence."""
    known = [row for row in rows if row["time_ratio"] is not None]
    moving = [row for row in known if row["time_ratio"] < 1 - MOVED]
    slower = [row["number"] for row in known if row["time_ratio"] > 1 + MOVED]
    costs = [name for name in slower if name.startswith("overhead.")]
    slower = [name for name in slower if name not in costs]
    if moving:
        best = moving[0]
        text = f"twice {best['number']} takes {best['time_ratio']:.3g} of the time"
        also = {"energy": best["energy_ratio"], "area": best["area_ratio"], "dollars": best["usd_ratio"]}
        text += f" at {', '.join(f'{value:.3g} of the {name}' for name, value in also.items() if value is not None)}"
    else:
        text = "no doubled number saves 1 % of the time"
    text += f"; {len(known) - len(moving) - len(slower) - len(costs)} of {len(rows)} numbers change the time by less than 1 %"
    return f"{text}; slower with more of: {', '.join(slower)}" if slower else text
