"""Effect of doubling a number of a part on the Pareto front of a design space."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .design_space import DesignSpace, Value
from .elasticity import RATIOS, Number

COLUMNS = ("number", "unit", *RATIOS, "limited_by", "limit_changes", "kept_points", "points")
"""Columns: mean ratios of doubled / unchanged values, the most frequent limiting resource, the number of points where the limiting resource
changes, the number of points that stay undominated, and the number of points."""

MOST_POINTS = 12
"""Largest number of points of a front that are evaluated for every number."""

FOLLOWING = ("hardware_peak", "hardware_power")
"""Tables whose numbers are not doubled: peaks follow units and clock, and a higher power limit lowers the power of no point."""


def of_part(found: Sequence[Number]) -> list[Number]:
    """Return the numbers that are doubled at every point."""
    return [number for number in found if number.part_fields[0].table not in FOLLOWING]


def spread(front: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Choose at most `MOST_POINTS` points of a front, evenly spread, including the first and the last."""
    if len(front) <= MOST_POINTS:
        return list(front)
    places = {round(i * (len(front) - 1) / (MOST_POINTS - 1)) for i in range(MOST_POINTS)}
    return [front[place] for place in sorted(places)]


def doubled(designs: DesignSpace, points: Sequence[tuple[Value, ...]], number: Number) -> list[Any]:
    """Return the numbers of the parts at some points, with `number` doubled."""
    from charz.sql.scopes import Varied

    own = dict(zip(number.part_fields, number.values, strict=True))
    varied = {(v.table, v.key, v.column): v for v in designs.varied(points)}
    for field, value in own.items():
        place = (field.table, field.key, field.column)
        at: list[Any] = list(varied[place].values) if place in varied else [value] * len(points)
        varied[place] = Varied(field.table, field.key, field.column, [2 * v for v in at])
    return list(varied.values())


def moved(
    number: Number,
    before: Sequence[Mapping[str, Any]],
    after: Sequence[Mapping[str, Any]],
    objectives: Sequence[str],
    front: Callable[[Sequence[tuple[float, ...]]], list[list[int]]],
) -> dict[str, Any]:
    """Make the row of a number. `before` and `after` list the same points in the same order."""
    ratios: dict[str, float | None] = {}
    for name, column in RATIOS.items():
        pairs = [(b[column], a[column]) for b, a in zip(before, after, strict=True)]
        logs = [math.log(a / b) for b, a in pairs if a and b]
        ratios[name] = math.exp(sum(logs) / len(logs)) if len(logs) == len(pairs) else None
    able = [i for i, point in enumerate(after) if all(point[name] is not None for name in objectives)]
    kept = front([tuple(after[i][name] for name in objectives) for i in able])
    limits = [point["limited_by"] for point in after]
    return {
        "number": number.name,
        "unit": number.part_fields[0].unit,
        **ratios,
        "limited_by": max(sorted(set(map(str, limits))), key=[str(limit) for limit in limits].count),
        "limit_changes": sum(b["limited_by"] != a["limited_by"] for b, a in zip(before, after, strict=True)),
        "kept_points": sum(len(equal) for equal in kept),
        "points": len(before),
    }


def size(row: Mapping[str, Any]) -> float:
    """Measure how far a number moves the front: the largest change of time or energy. [log]"""
    return max((abs(math.log(row[name])) for name in ("time_ratio", "energy_ratio") if row[name]), default=0.0)
