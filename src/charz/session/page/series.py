"""Series of pictures: their names, colors and markers, and the choice of those that a picture draws."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from .content import Record

CONDITIONS = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "split", "device_count", "sequence", "context", "batch",
    "input_tokens", "output_tokens", "rate_per_s", "concurrency",
)  # fmt: skip
"""Columns that name a row, as far as its neighbours differ in them."""

ALONG = ("batch", "context", "sequence", "rate_per_s", "concurrency")
"""Columns that differ along a line of a picture."""

OF_PART = ("backend", "engine_version")
"""Columns that name a row only where rows of one part differ in them."""

COLORS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#eeca3b", "#ff9da6", "#8a8a8a")
"""Colors of parts."""

SHAPES = ("circle", "triangle-up", "square", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left", "arrow", "wedge")
"""Markers of precisions, splits and numbers of devices."""

MOST_SERIES = 10
"""Largest number of series of a picture, each with a color and a marker of its own."""


def labels(rows: Sequence[Record], without: Collection[str] = ()) -> list[str]:
    """Name each row by its part and by the conditions that differ among the rows."""
    differ = [name for name in CONDITIONS if name not in without and len({row.get(name) for row in rows}) > 1]
    if "split" in differ and "device_count" in differ:
        differ.remove("device_count")  # the split tells the devices
    for name in OF_PART:
        if name in differ and len({(row["hardware"], row.get(name)) for row in rows}) == len({row["hardware"] for row in rows}):
            differ.remove(name)
    names = dict.fromkeys(("hardware", *differ))
    return [" ".join(_word(name, row[name]) for name in names if row.get(name) not in (None, "one", "none")) for row in rows]


def _word(name: str, value: Any) -> str:
    """Write a condition so that its number names what it counts."""
    before = {"batch": "batch ", "context": "context ", "sequence": "sequence ", "device_count": "x"}.get(name, "")
    after = {"rate_per_s": "/s", "concurrency": " in flight"}.get(name, "")
    return f"{before}{value:g}{after}" if isinstance(value, float) else f"{before}{value}{after}"


def having(rows: Sequence[Record], *columns: str) -> list[Record]:
    """Return the rows that have values in all of the columns."""
    return [row for row in rows if all(row.get(column) is not None for column in columns)]


def drawn(
    rows: Sequence[Record], columns: Sequence[str], order: Callable[[Record], Any], best: str, most: int = MOST_SERIES, without: Collection[str] = ALONG
) -> tuple[set[str], str]:
    """Choose the series that a picture draws: the best one of each part, then the next best ones. Return their names, and a sentence that tells the
    rule where series are left out. `order` gives the place of a row, `columns` are those that a drawn row has, and `best` names the rule."""
    pairs = [(line, row) for line, row in zip(labels(rows, without), rows, strict=True) if having([row], *columns)]
    ordered: dict[str, str] = {}
    for line, row in sorted(pairs, key=lambda pair: order(pair[1])):
        ordered.setdefault(line, row["hardware"])
    first = {part: line for line, part in reversed(ordered.items())}
    kept = [line for line, part in ordered.items() if first[part] == line][:most]
    kept += [line for line in ordered if line not in kept][: most - len(kept)]
    if len(kept) == len(ordered):
        return set(kept), ""
    what, left = "servers" if "tpot_s" in rows[0] else "choices", len(ordered) - len(kept)
    others = f"the other {left} are" if left > 1 else "the other one is"
    return set(kept), f" Drawn: {len(kept)} of {len(ordered)} {what}, the {best} of each part first; {others} only in the table."


def placed(
    rows: Sequence[Record], x: str, y: str, chosen: Collection[str] | None = None, without: Collection[str] = ALONG
) -> list[Record]:
    """Return points of a picture, each with its name and with the name, color and marker of its series. `chosen` are the series to draw.

    A part has one color, and each of its other conditions one marker; with one part, a condition has one color.
    """
    lines, names = labels(rows, without), labels(rows)
    is_one = len({row["hardware"] for row in rows}) == 1
    found = []
    for row, line, name in zip(rows, lines, names, strict=True):
        kind = line.removeprefix(row["hardware"]).strip()
        if having([row], x, y) and (chosen is None or line in chosen):
            part, kind = (kind or line, "") if is_one else (row["hardware"], kind)
            found.append({"series": line, "name": name, "part": part, "kind": kind, "x": row[x], "y": row[y]})
    every = [row["hardware"] for row in rows] if not is_one else [point["part"] for point in found]
    colors = _looks(every, [point["part"] for point in found], COLORS)
    kinds = [line.removeprefix(row["hardware"]).strip() for row, line in zip(rows, lines, strict=True)] if not is_one else [""]
    shapes = _looks(kinds, [point["kind"] for point in found], SHAPES)
    return [point | {"color": colors[point["part"]], "shape": shapes[point["kind"]]} for point in found]


def _looks(every: Sequence[str], shown: Sequence[str], looks: Sequence[str]) -> dict[str, str]:
    """Give each name a look, the same one in each picture of a page unless the page has more names than looks."""
    names = list(dict.fromkeys(every))
    if len(names) > len(looks):
        names = list(dict.fromkeys(shown))
    return {name: looks[i % len(looks)] for i, name in enumerate(names)}
