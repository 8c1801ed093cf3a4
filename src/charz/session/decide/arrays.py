"""Numbers of a part that follow the sides of its arrays: operations per clock, and lanes that are the elements of an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..part_fields import PartField

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class Array:
    """The array in each unit of a cluster, and the numbers that are proportional to the number of its elements."""

    sides: tuple[PartField, PartField]
    """Fields of the rows and the columns."""
    size: tuple[int, int]
    """Rows and columns of the unchanged part."""
    followers: tuple[tuple[PartField, float, PartField | None], ...]
    """Each field that follows, its value in the unchanged part, and the field of the peak that the value leads to."""

    def following(self, changed: Mapping[PartField, Any]) -> dict[PartField, float]:
        """Return the numbers that follow changed sides. A number that is changed itself does not follow, nor does one whose peak is changed."""
        if not changed.keys() & set(self.sides):
            return {}
        rows, columns = (changed.get(side, size) for side, size in zip(self.sides, self.size, strict=True))
        ratio = rows * columns / (self.size[0] * self.size[1])
        return {
            field: value * ratio for field, value, peak in self.followers if field not in changed and peak not in changed
        }


def arrays(connection: duckdb.DuckDBPyConnection, hardware: str, known: Sequence[PartField]) -> list[Array]:
    """Return the arrays of a part.

    Matrix peaks follow the array of their cluster. Lanes follow if there are as many as elements, and then peaks of vector units follow too, because
    they use the array. A peak without operations per clock counts the lanes, or else 1, in their place (`stated_peak`).
    """
    fields = {part_field.field: part_field for part_field in known}
    query = "SELECT cluster, array_rows, array_columns, lanes FROM hardware_cluster WHERE hardware = ? ORDER BY cluster"
    clusters = connection.execute(query, [hardware]).fetchall()
    name = "CONCAT_WS('.', precision, unit, accumulator)"
    query = f"SELECT {name}, unit, cluster, ops_per_clock_per_unit FROM hardware_peak WHERE hardware = ? ORDER BY ALL"
    peaks = connection.execute(query, [hardware]).fetchall()
    found = []
    for cluster, rows, columns, lanes in clusters:
        if (rows or 0) * (columns or 0) <= 1:
            continue
        place = f"cluster.{cluster}"
        is_array = lanes == rows * columns
        followers: list[tuple[PartField, float, PartField | None]] = []
        if is_array:
            followers.append((fields[f"{place}.lanes"], lanes, None))
        for peak, unit, of, ops in peaks:
            is_own = of == cluster or (of == "all" and len(clusters) == 1)
            if is_own and (unit == "matrix" or is_array) and (ops is not None or not is_array):
                field = fields[f"peak.{peak}.ops_per_clock_per_unit"]
                followers.append((field, ops or lanes or 1.0, fields[f"peak.{peak}.peak_ops_per_s"]))
        sides = fields[f"{place}.array_rows"], fields[f"{place}.array_columns"]
        found.append(Array(sides, (rows, columns), tuple(followers)))
    return found
