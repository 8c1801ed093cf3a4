"""Altair charts of report views: one function for each kind of picture.

Axes carry SI prefixes (`~s`), of bytes binary ones, so values stay in the engine's units.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from charz.schema import user_file
from charz.schema.errors import CharzError, printable

Rows = list[dict[str, Any]]

WIDTH = 640
HEIGHT = 380
SUFFIXES = ("svg", "png", "html", "json", "pdf")
"""File suffixes of the formats in which a picture can be saved."""

_SETTINGS: dict[str, dict[str, Any]] = {"png": {"scale_factor": 2}, "html": {"inline": True}}
"""Settings of Altair by format: an HTML page contains its scripts, so that it opens without a network."""


def library() -> Any:
    """Return Altair without its limit on rows."""
    import altair

    altair.data_transformers.disable_max_rows()
    return altair


def save(chart: Any, out: Path, force: bool = False) -> None:
    """Write a chart in the format of the file's suffix. Overwrite a file that charz did not write only with `force`."""
    suffix = out.suffix.lower().lstrip(".")
    if suffix not in SUFFIXES:
        raise CharzError("unknown picture format", out.name, f"there are {', '.join(SUFFIXES)}")
    with tempfile.TemporaryDirectory(prefix="charz-") as folder:
        drawn = Path(folder, f"picture.{suffix}")
        chart.save(str(drawn), **_SETTINGS.get(suffix, {}))
        user_file.write(out, drawn.read_bytes(), force)


def data(rows: Rows) -> Any:
    """Convert rows for Altair. Control characters of names are escaped, since SVG forbids them."""
    plain = [{name: _printable(value) for name, value in row.items()} for row in rows]
    return library().Data(values=plain)


def _printable(value: Any) -> Any:
    return printable(value) if isinstance(value, str) else value


def titled(chart: Any, title: str, subtitle: str = "") -> Any:
    """Set title, subtitle and size of a chart."""
    alt = library()
    text = alt.TitleParams(printable(title), subtitle=printable(subtitle), anchor="start", subtitleColor="#555")
    return chart.properties(title=text, width=WIDTH, height=HEIGHT)


def si(title: str) -> Any:
    """Make an axis with SI prefixes."""
    return library().Axis(title=title, format="~s", grid=True, gridOpacity=0.4)


_BINARY = " : ".join(
    f"datum.value >= {2**power} ? format(datum.value / {2**power}, '.3~g') + ' {unit}'"
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB"))
)
"""Vega expression of an amount of memory in binary units, as texts write it, up to the bytes that remain."""


def binary(title: str) -> Any:
    """Make an axis of bytes in binary units."""
    label = f"{_BINARY} : format(datum.value, '.3~g') + ' B'"
    return library().Axis(title=title, labelExpr=label, grid=True, gridOpacity=0.4)


def ticks(most_byte: float) -> list[float]:
    """Return ticks of a linear axis of bytes, at most nine, at multiples of a power of two."""
    step = 2.0 ** math.ceil(math.log2(max(most_byte, 8.0) / 8.0))
    return [step * i for i in range(int(most_byte // step) + 2)]


def _positive(title: str) -> dict[str, Any]:
    """Make a logarithmic axis; powers of two for bytes."""
    alt = library()
    if title.endswith(_BYTES):
        return {"axis": binary(title.removesuffix(_BYTES)), "scale": alt.Scale(type="log", base=2, nice=True)}
    return {"axis": si(title), "scale": alt.Scale(type="log", nice=True)}


_BYTES = " [byte]"
"""End of the title of an axis of bytes, whose labels have the unit."""


def _tight(title: str, rows: Rows, column: str) -> dict[str, Any]:
    """Make a logarithmic axis that spans the range of the data, or whole decades for a single value."""
    if len({row[column] for row in rows}) < 2:
        return _positive(title)
    known = _positive(title)
    return {"axis": known["axis"], "scale": library().Scale(type="log", base=2 if title.endswith(_BYTES) else 10, nice=False, padding=30)}


def roofline(points: Rows, roofs: Rows, title: str) -> Any:
    """Draw every kernel's attained rate against arithmetic intensity, under the rooflines of the part."""
    alt = library()
    base = alt.Chart(data(points)).mark_circle(opacity=0.65, stroke="#333", strokeWidth=0.4)
    marks = base.encode(
        x=alt.X(
            "arithmetic_intensity:Q", **_positive("arithmetic intensity [operations/byte in or out of the kernel]")
        ),
        y=alt.Y("attained_ops_per_s:Q", **_positive("attained rate [operations/s]")),
        size=alt.Size(
            "latency_s:Q", title="time [s]", legend=alt.Legend(format="~s"), scale=alt.Scale(range=[15, 500])
        ),
        color=alt.Color("kernel_class:N", title="kernel"),
        tooltip=["kernel:N", "latency_s:Q", "bottleneck:N"],
    )
    lines = alt.Chart(data(roofs)).mark_line(color="#444", strokeWidth=1.5)
    roof = lines.encode(
        x="arithmetic_intensity:Q",
        y="rate_ops_per_s:Q",
        detail="roof:N",
        strokeDash=alt.StrokeDash("roof:N", title="roof"),
    )
    return titled(roof + marks, title, "each circle is a kernel; its area is proportional to the time")


def tiling(points: Rows, title: str) -> Any:
    """Draw tile count against the bytes that a kernel moves, by part."""
    alt = library()
    chart = alt.Chart(data(points)).mark_point(filled=True, opacity=0.7, size=50)
    return titled(
        chart.encode(
            x=alt.X("footprint_byte:Q", **_positive("unique bytes of the kernel [byte]")),
            y=alt.Y("tile_count:Q", **_positive("tiles")),
            color=alt.Color("part:N", title="part"),
            shape=alt.Shape("strategy:N", title="tiling strategy"),
            tooltip=["kernel:N", "tile_m:Q", "tile_n:Q", "tile_k:Q"],
        ),
        title,
        "matrix kernels; a larger tile memory means fewer tiles for the same kernel",
    )


def pareto(points: Rows, title: str) -> Any:
    """Draw latency against energy of every choice, colored by model if there are several, else by family, and label the choices on the Pareto
    front."""
    alt = library()
    x = alt.X("latency_s:Q", **_positive("time of a run [s]"))
    y = alt.Y("sample_j:Q", **_positive("energy of a sample [J]"))
    others = alt.Chart(data([p for p in points if not p["is_front"]])).mark_circle(opacity=0.25, size=28)
    front_rows = sorted((p for p in points if p["is_front"]), key=lambda p: p["latency_s"])
    front = alt.Chart(data(front_rows)).mark_point(filled=True, size=90, stroke="#222", strokeWidth=0.8)
    names = alt.Chart(data(_apart(front_rows))).mark_text(align="left", dx=6, dy=14, fontSize=10, color="#222")
    group = "model" if len({p["model"] for p in points}) > 1 else "family"
    color = alt.Color(f"{group}:N", title=group, legend=alt.Legend(symbolOpacity=1))
    shape = alt.Shape(
        "silicon:N", title="", scale=alt.Scale(domain=["silicon", "simulated"], range=["circle", "triangle-up"])
    )
    return titled(
        others.encode(x=x, y=y, color=color)
        + front.encode(x=x, y=y, color=color, shape=shape, tooltip=["label:N"])
        + names.encode(x=x, y=y, text="label:N"),
        title,
        "large marks: no other choice is better in latency, energy, memory and price together",
    )


_OBJECTIVES = {
    "latency_s": "time of a run [s]", "energy_j": "energy of a run [J]", "edp_js": "energy times time [J s]",
    "area_mm2": "area of the silicon [mm2]", "rest_w": "idle power [W]", "part_usd": "manufacturing cost [USD]",
}  # fmt: skip


def explored(points: Rows, front: Rows, objectives: Sequence[str], title: str) -> Any:
    """Draw the objectives of every part of a design space, colored by limiting resource, with the points of the front numbered. The size of a
    mark shows a third objective. Each point shows its values on hover."""
    alt = library()
    across, up, *third = objectives
    x, y = (
        axis(f"{name}:Q", **_tight(_OBJECTIVES[name], points, name)) for axis, name in ((alt.X, across), (alt.Y, up))
    )
    color = alt.Color("limited_by:N", title="limited by", legend=alt.Legend(symbolOpacity=1))
    tooltip = [
        alt.Tooltip(
            f"{name}:N" if isinstance(value, str) else f"{name}:Q", **({} if isinstance(value, str) else _SHORT)
        )
        for name, value in points[0].items()
    ]
    ordered = sorted(front, key=lambda p: p[across])
    others = alt.Chart(data(points)).mark_circle(opacity=0.3, size=24).encode(x=x, y=y, color=color, tooltip=tooltip)
    line = alt.Chart(data(ordered if not third else [])).mark_line(
        color="#222", strokeWidth=1, interpolate="step-after"
    )
    marks = alt.Chart(data(ordered)).mark_point(filled=True, size=80, stroke="#222", strokeWidth=0.8)
    marks = marks.encode(x=x, y=y, color=color, tooltip=tooltip)
    if third:
        marks = marks.encode(
            size=alt.Size(f"{third[0]}:Q", title=_OBJECTIVES[third[0]], legend=alt.Legend(format="~s"))
        )
    span = max(p[across] for p in points) / min(p[across] for p in points)
    texts = alt.Chart(data(_spread(ordered, across, span ** (1 / 20)))).mark_text(
        align="right", dx=-6, dy=11, fontSize=10
    )
    return titled(
        others + line.encode(x=x, y=y) + marks + texts.encode(x=x, y=y, text="point:Q"),
        title,
        f"{'line' if not third else 'large'}: undominated parts; numbers as in the table",
    )


_SHORT = {"format": ".5~s"}
"""Format of numbers on hover."""


def _spread(ordered: Rows, column: str, ratio: float) -> Rows:
    """Filter rows, ordered by a column, so that each exceeds the row before by a ratio. Labels would overlap otherwise."""
    kept: Rows = []
    for row in ordered:
        if not kept or row[column] >= ratio * kept[-1][column]:
            kept.append(row)
    return kept


def _apart(front: Rows) -> Rows:
    """Choose the rows to label: of each model among silicon parts and among simulated parts, the rows that use less energy than every faster row, far enough
    apart for their labels."""
    named: Rows = []
    for kind in sorted({(row["model"], row["silicon"]) for row in front}):
        last = least = float("inf")
        for row in front:
            if (row["model"], row["silicon"]) == kind and row["sample_j"] < least:
                least = row["sample_j"]
                if least < 0.75 * last:
                    named.append(row)
                    last = least
    return named


def memory(steps: Rows, title: str) -> Any:
    """Draw the memory in use during each kernel, weights at the bottom and activations on top of them, and mark the peak."""
    alt = library()
    layers = [
        {"kernel": row["position"], "what": what, "layer": layer, "byte": row[column]}
        for row in steps
        for layer, (what, column) in enumerate(
            (("weights, buffers, KV-cache", "resident_byte"), ("activations", "allocated_byte"))
        )
    ]
    area = alt.Chart(data(layers)).mark_area(interpolate="step-after", opacity=0.85)
    peak = max(steps, key=lambda row: row["total_byte"])
    mark = {
        "kernel": peak["position"],
        "byte": peak["total_byte"],
        "label": f"peak at {peak['operator']} ({peak['module'] or 'model'})",
    }
    on_right = peak["position"] > len(steps) * 0.6
    point = alt.Chart(data([mark])).mark_point(color="#b00", filled=True, size=70)
    text = alt.Chart(data([mark])).mark_text(
        align="right" if on_right else "left", dx=-8 if on_right else 8, dy=-9, color="#b00"
    )
    x = alt.X("kernel:Q", title="kernel, in order of execution")
    axis = binary("memory in use")
    axis.values = ticks(peak["total_byte"])
    y = alt.Y("byte:Q", axis=axis)
    colors = alt.Scale(domain=["activations", "weights, buffers, KV-cache"], range=["#4c78a8", "#bab0ac"])
    return titled(
        area.encode(
            x=x,
            y=alt.Y("byte:Q", axis=axis, stack=True),
            color=alt.Color("what:N", title="", scale=colors),
            order="layer:Q",
        )
        + point.encode(x=x, y=y)
        + text.encode(x=x, y=y, text="label:N"),
        title,
    )


def edp(kernels: Rows, title: str) -> Any:
    """Draw the cumulative share of the energy-delay product, largest kernel first, marked at 50, 80, 90 and 99 %."""
    alt = library()
    marks = [
        {"edp_rank": rank, "cumulative_fraction": level, "label": f"{rank} kernels make {level:.0%}"}
        for level in (0.5, 0.8, 0.9, 0.99)
        if (rank := next((k["edp_rank"] for k in kernels if k["cumulative_fraction"] >= level), None)) is not None
    ]
    x = alt.X("edp_rank:Q", title="kernels, largest share first")
    share = {
        "axis": alt.Axis(title="cumulative share of the energy-delay product", format="%"),
        "scale": alt.Scale(domain=[0, 1], nice=False),
    }
    y = alt.Y("cumulative_fraction:Q", **share)
    bars = (
        alt.Chart(data(kernels))
        .mark_bar(opacity=0.55)
        .encode(x=x, y=alt.Y("edp_fraction:Q", **share), color=alt.Color("kernel_class:N", title="kernel"))
    )
    line = alt.Chart(data(kernels)).mark_line(color="#333", interpolate="step-after").encode(x=x, y=y)
    points = alt.Chart(data(marks)).mark_point(filled=True, color="#b00", size=60).encode(x=x, y=y)
    far = 0.5 * len(kernels)  # near the legend, texts are left of their mark
    texts = (
        alt.Chart(data([m for m in marks if (m["edp_rank"] > far) is is_far]))
        .mark_text(align="right" if is_far else "left", dx=-9 if is_far else 9, dy=-7 if is_far else 9, color="#b00")
        .encode(x=x, y=y, text="label:N")
        for is_far in (False, True)
    )
    return titled(alt.layer(bars, line, points, *texts), title)


def batch(points: Rows, title: str) -> Any:
    """Draw throughput against batch, and mark the batch at which each part saturates."""
    alt = library()
    x = alt.X("batch:Q", scale=alt.Scale(type="log", base=2), axis=alt.Axis(title="batch", format="d"))
    y = alt.Y("throughput_per_s:Q", **_positive("samples/s"))
    color = alt.Color("part:N", title="part")
    line = alt.Chart(data(points)).mark_line(point=alt.OverlayMarkDef(size=35)).encode(x=x, y=y, color=color)
    saturated = [{**p, "label": f"saturates at {p['batch']}"} for p in points if p["batch"] == p["saturating_batch"]]
    ring = alt.Chart(data(saturated)).mark_point(size=190, strokeWidth=2, filled=False).encode(x=x, y=y, color=color)
    text = (
        alt.Chart(data(saturated))
        .mark_text(dy=17, dx=4, align="left", fontSize=10)
        .encode(x=x, y=y, text="label:N", color=color)
    )
    return titled(line + ring + text, title, "ring: smallest batch within 10 % of the best throughput that fits")


def fusion(bars: Rows, title: str) -> Any:
    """Draw the time of each run, split by pace."""
    alt = library()
    order = list(dict.fromkeys(b["pace"] for b in sorted(bars, key=lambda b: b["rank"])))
    colors = alt.Scale(domain=order, range=["#4c78a8", "#f58518", "#e45756", "#72b7b2", "#bab0ac"])
    slowest_first = list(dict.fromkeys(b["run"] for b in sorted(bars, key=lambda b: -b["total_s"])))
    chart = (
        alt.Chart(data(bars))
        .mark_bar()
        .encode(
            y=alt.Y("run:N", title=None, sort=slowest_first),
            x=alt.X(
                "seconds:Q",
                axis=si("time of a run [s]"),
                scale=alt.Scale(domain=[0, 1.3 * max(b["total_s"] for b in bars)], nice=False),
            ),
            color=alt.Color("pace:N", title="pace set by", scale=colors, sort=order),
            order=alt.Order("rank:Q"),
        )
    )
    totals = {b["run"]: b for b in bars}.values()
    text = (
        alt.Chart(data(list(totals)))
        .transform_calculate(label="format(datum.total_s, '.3~s') + 's, ' + datum.kernel_count + ' kernels'")
        .mark_text(align="left", dx=5, color="#333")
        .encode(y=alt.Y("run:N", sort=slowest_first), x="total_s:Q", text="label:N")
    )
    return titled(chart + text, title, "eager and backends named unfused run every operator as one kernel; the others fuse operators")


def shmoo(points: Rows, levels: Rows, title: str) -> Any:
    """Draw the attained rate against problem size, as the working set exceeds each memory level in turn; color shows the tile."""
    alt = library()
    x = alt.X("footprint_byte:Q", **_tight("unique bytes of the largest kernel [byte]", points, "footprint_byte"))
    y = alt.Y("attained_ops_per_s:Q", **_tight("attained rate [operations/s]", points, "attained_ops_per_s"))
    ordered = sorted(points, key=lambda p: p["footprint_byte"])
    line = alt.Chart(data(ordered)).mark_line(color="#999", strokeWidth=1).encode(x=x, y=y, detail="series:N")
    ends = {p["series"]: p for p in ordered}.values()
    name = (
        alt.Chart(data(list(ends)))
        .mark_text(align="right", dy=16, color="#555", fontSize=11)
        .encode(x=x, y=y, text="series:N")
    )
    tiles = list(dict.fromkeys(printable(p["tile"]) for p in ordered))
    mark = (
        alt.Chart(data(ordered))
        .mark_point(filled=True, size=60)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "tile:N",
                title="tile (m x n x k)",
                scale=alt.Scale(domain=tiles, range=_colors(len(tiles))),
                legend=alt.Legend(symbolLimit=0),
            ),
            shape=alt.Shape("weights:N", title="weights come from"),
            tooltip=["model:N", "batch:Q", "tile:N", "served:N"],
        )
    )
    low, high = ordered[0]["footprint_byte"], ordered[-1]["footprint_byte"]
    inside = [level for level in levels if low <= level["capacity_byte"] <= high]
    rule = alt.Chart(data(inside)).mark_rule(strokeDash=[5, 4], color="#b00").encode(x=alt.X("capacity_byte:Q"))
    text = (
        alt.Chart(data(_merged(inside)))
        .mark_text(angle=270, align="right", dy=-6, color="#b00")
        .encode(x="capacity_byte:Q", y=alt.value(8), text="label:N")
    )
    return titled(
        line + rule + mark + name + text, title, "dashed: size of a memory level; a new color is a tiling transition"
    )


def _colors(count: int) -> list[str]:
    """Return distinct colors: hues in equal steps, every second color darker."""
    return [f"hsl({360 * i / max(count, 1):.0f}, 75%, {(55, 35)[i % 2]}%)" for i in range(count)]


def _merged(levels: Rows, nearness: float = 1.2) -> Rows:
    """Merge the labels of levels of similar size, whose texts would overlap."""
    kept: Rows = []
    for level in levels:
        if kept and level["capacity_byte"] <= nearness * kept[-1]["capacity_byte"]:
            kept[-1] = {**kept[-1], "label": f"{kept[-1]['label']}, {level['label']}"}
        else:
            kept.append(level)
    return kept
