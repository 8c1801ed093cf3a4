"""A graph of kernels as text: SVG for people, DOT for Graphviz."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from charz.schema.errors import printable

from ..quantities import quantity

if TYPE_CHECKING:
    import networkx

    Kernels = networkx.DiGraph[int]

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 230, 40, 26, 26, 24
LEAST_ROWS = 12
"""Smallest number of stages in a column of the picture."""

HEAD = 64
"""Height of the title and the legend. [pixel]"""

_COOL, _HOT = (0xEE, 0xF2, 0xF7), (0xC2, 0x41, 0x0C)
"""Colors of a kernel without time, and of the slowest kernel."""


def dot(graph: Kernels) -> str:
    """Return the graph in DOT, which Graphviz lays out."""
    most = _most(graph)
    lines = ["digraph kernels {", "  rankdir=TB;", '  node [shape=box, style=filled, fontname="sans-serif"];']
    for number, kernel in graph.nodes(data=True):
        share = _share(kernel, most)
        label = _quoted("\n".join(_lines(kernel)))
        lines.append(f'  {number} [label={label}, fillcolor="{_color(share)}", fontcolor="{_ink(share)}"];')
    lines += [f"  {start} -> {end};" for start, end in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def svg(graph: Kernels) -> str:
    """Return the graph in SVG. Each stage is a row, so edges lead down, or right within a stage. Color shows a kernel's share of the time."""
    places = _places(graph)
    width = max((x for x, _ in places.values()), default=0) + BOX_WIDTH + MARGIN
    height = max((y for _, y in places.values()), default=0) + BOX_HEIGHT + MARGIN
    most = _most(graph)
    width = max(width, 2 * MARGIN + 3 * BOX_WIDTH)
    body = [_edge(places[start], places[end]) for start, end in graph.edges]
    body += [_box(places[number], kernel, _share(kernel, most)) for number, kernel in graph.nodes(data=True)]
    conditions = graph.graph
    title = f"{conditions['model']} on {conditions['hardware']}, {conditions['backend']}, {conditions['precision']}, batch {conditions['batch']}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="system-ui, sans-serif" font-size="12">',
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            f'<text x="{MARGIN}" y="28" font-size="16" fill="#111">{_text(title)}</text>',
            f'<text x="{MARGIN}" y="48" fill="#555">{_text(_legend(graph, most))}</text>',
            *body,
            "</svg>\n",
        ]
    )


WRITERS: dict[str, Callable[[Any], str]] = {".svg": svg, ".dot": dot}
"""Functions that convert a graph to text, by suffix of the file's name."""


def _places(graph: Kernels) -> dict[int, tuple[int, int]]:
    """Compute the upper left corner of each box. Stages follow each other from top to bottom, in several columns if there are many. Kernels of a
    stage are side by side in order of execution."""
    stages: dict[int, list[int]] = {}
    for number, kernel in graph.nodes(data=True):
        stages.setdefault(kernel["stage"], []).append(number)
    rows = max(LEAST_ROWS, round(3 * math.sqrt(len(stages))))
    ordered = [stages[stage] for stage in sorted(stages)]
    places, left = {}, MARGIN
    for first in range(0, len(ordered), rows):
        column = ordered[first : first + rows]
        for row, numbers in enumerate(column):
            for place, number in enumerate(numbers):
                places[number] = (left + place * (BOX_WIDTH + GAP_X), HEAD + row * (BOX_HEIGHT + GAP_Y))
        left += max(len(numbers) for numbers in column) * (BOX_WIDTH + GAP_X) + GAP_X
    return places


def _edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    """Draw a line to a kernel of the next stage, or a curve around the boxes to a kernel of a later stage or another column."""
    if 0 < end[1] - start[1] <= BOX_HEIGHT + GAP_Y:
        middle = BOX_WIDTH // 2
        path = f"M{start[0] + middle} {start[1] + BOX_HEIGHT} L{end[0] + middle} {end[1]}"
    elif end[1] <= start[1]:
        x, y, to_y = start[0] + BOX_WIDTH, start[1] + BOX_HEIGHT // 2, end[1] + BOX_HEIGHT // 2
        bow = (x + end[0]) // 2
        path = f"M{x} {y} C{bow} {y} {bow} {to_y} {end[0]} {to_y}"
    else:
        x, to_x = start[0] + BOX_WIDTH, end[0] + BOX_WIDTH
        y, to_y = start[1] + BOX_HEIGHT // 2, end[1] + BOX_HEIGHT // 2
        bow = max(x, to_x) + GAP_X - 4
        path = f"M{x} {y} C{bow} {y} {bow} {to_y} {to_x} {to_y}"
    return f'<path d="{path}" fill="none" stroke="#94a3b8"/>'


def _box(place: tuple[int, int], kernel: dict[str, Any], share: float) -> str:
    x, y = place
    name, cost = (_text(line if len(line) <= 34 else f"{line[:33]}…") for line in _lines(kernel))
    about = _text(f"{kernel['operator']} ({kernel['module'] or 'model'}): {kernel['bottleneck']}")
    return (
        f'<g><title>{about}</title><rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="5" '
        f'fill="{_color(share)}" stroke="#64748b"/><text x="{x + 8}" y="{y + 16}" fill="{_ink(share)}">{name}</text>'
        f'<text x="{x + 8}" y="{y + 32}" fill="{_ink(share)}">{cost}</text></g>'
    )


def _lines(kernel: dict[str, Any]) -> tuple[str, str]:
    """Return the texts of a box: the kernel, and its time and energy."""
    costs = (quantity(kernel["latency_s"], "s"), quantity(kernel["energy_j"], "J"))
    return printable(kernel["kernel"]), ", ".join(costs)


def _legend(graph: Kernels, most: float) -> str:
    total = sum(kernel["latency_s"] or 0.0 for _, kernel in graph.nodes(data=True))
    return f"{len(graph)} kernels, {quantity(total, 's')}; the darkest takes {quantity(most, 's')}"


def _most(graph: Kernels) -> float:
    return max((kernel["latency_s"] or 0.0 for _, kernel in graph.nodes(data=True)), default=0.0)


def _share(kernel: dict[str, Any], most: float) -> float:
    return (kernel["latency_s"] or 0.0) / most if most else 0.0


def _color(share: float) -> str:
    return "#" + "".join(f"{round(cool + (hot - cool) * share):02x}" for cool, hot in zip(_COOL, _HOT, strict=True))


def _ink(share: float) -> str:
    """Return the color of readable text on a box."""
    return "#ffffff" if share > 0.6 else "#111111"


def _text(value: str) -> str:
    return escape(printable(value))


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
