"""Pictures of a page that `plot` lacks, as Vega-Lite specifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ask.charts import batch, binary, data, library, si, ticks
from .content import Record
from .series import COLORS


def _wide(chart: Any, height: int = 320) -> Record:
    found: Record = chart.to_dict()
    return {**found, "width": "container", "height": height, "autosize": {"type": "fit-x", "contains": "padding"}}


def parts(rows: Sequence[Record], bands: Mapping[str, Record]) -> Record:
    """Draw time of a run, with its interval, against energy of a sample, with every part named; without energies, bars of the time."""
    alt = library()
    points = [
        {"name": _named(row), "seconds": row["latency_s"], "joules": row["energy_per_sample_j"],
         "silicon": "simulated" if row["is_simulated"] else "silicon", **_band(row, bands)}
        for row in rows if row["energy_per_sample_j"] is not None
    ]  # fmt: skip
    if not points:
        bars = [{"name": _named(row), "seconds": row["latency_s"]} for row in rows]
        bar = alt.Chart(data(bars)).mark_bar().encode(x=alt.X("seconds:Q", axis=si("time of a run [s]")), y="name:N")
        return _wide(bar)
    base = alt.Chart(data(points)).encode(
        x=alt.X("seconds:Q", axis=si("time of a run [s]"), scale=alt.Scale(type="log", padding=40)),
        y=alt.Y("joules:Q", axis=si("energy of a sample [J]"), scale=alt.Scale(type="log", padding=30)),
    )
    marks = base.mark_point(filled=True, size=110).encode(
        shape=alt.Shape(
            "silicon:N", title="", scale=alt.Scale(domain=["silicon", "simulated"], range=["circle", "triangle-up"])
        ),
        # Field, title and domain equal those of the shape, so that both share one legend.
        color=alt.Color("silicon:N", title="", scale=alt.Scale(domain=["silicon", "simulated"])),
        tooltip=["name:N", alt.Tooltip("seconds:Q", format=".3~s"), alt.Tooltip("joules:Q", format=".3~s")],
    )
    intervals = base.mark_rule(strokeWidth=2, opacity=0.5).encode(x="p10_s:Q", x2="p90_s:Q")
    return _wide(intervals + marks + base.mark_text(dy=-12, fontSize=12).encode(text="name:N"))


def _named(row: Record) -> str:
    """Name a part with its precision."""
    return f"{row['hardware']} {row['precision']}"


def _band(row: Record, bands: Mapping[str, Record]) -> Record:
    """Return the interval of a part's time, or the time itself if the interval is unknown."""
    known = bands.get(row["hardware"], {})
    return {name: known.get(name) or row["latency_s"] for name in ("p10_s", "p90_s")}


def precisions(rows: Sequence[Record]) -> Record:
    """Draw the time of a run in each precision."""
    alt = library()
    bars = [{"precision": row["precision"], "seconds": row["latency_s"], "joules": row["energy_j"]} for row in rows]
    chart = (
        alt.Chart(data(bars))
        .mark_bar()
        .encode(
            x=alt.X("seconds:Q", axis=si("time of a run [s]")),
            y=alt.Y("precision:N", title=None, sort="x"),
            tooltip=["precision:N", alt.Tooltip("seconds:Q", format=".3~s"), alt.Tooltip("joules:Q", format=".3~s")],
        )
    )
    return _wide(chart, 34 * len(bars) + 30)


def batches(rows: Sequence[Record]) -> Record:
    """Draw the throughput of every part against the batch."""
    library()
    points = [
        {"part": f"{_named(row)} (simulated)" if row["is_simulated"] else _named(row),
         **{name: row[name] for name in ("backend", "batch", "throughput_per_s", "saturating_batch")}}
        for row in rows
    ]  # fmt: skip
    found = _wide(batch(points, ""))
    found.pop("title", None)
    return found


def serving(rows: Sequence[Record]) -> list[Record]:
    """Draw the time to the first token and the time of each later one against the context, by part."""
    alt = library()
    found = []
    for column, title in (("ttft_s", "time to first token [s]"), ("tpot_s", "time of a later token [s]")):
        points = [
            {"part": row["hardware"], "context": row["context"], "seconds": row[column]}
            for row in rows
            if row[column] is not None
        ]
        chart = (
            alt.Chart(data(points))
            .mark_line(point=True)
            .encode(
                x=alt.X(
                    "context:Q",
                    scale=alt.Scale(type="log", base=2),
                    axis=alt.Axis(title="context [tokens]", format="d"),
                ),
                y=alt.Y("seconds:Q", axis=si(title), scale=alt.Scale(type="log")),
                color=alt.Color("part:N", title="part"),
                tooltip=["part:N", "context:Q", alt.Tooltip("seconds:Q", format=".3~s")],
            )
        )
        found.append(_wide(chart, 260))
    return found


def against(
    points: Sequence[Record], x: str, y: str, most_x: float | None = None, most_y: float | None = None, ends: Sequence[float] = ()
) -> Record:
    """Draw one quantity against another, with a line for each series, dashed limits, and red rules where a server saturates."""
    alt = library()
    counts = sorted({point["x"] for point in points}) if x == "devices" else None
    across = alt.X("x:Q", axis=_axis(x, counts), scale=alt.Scale(type="log", nice=False, padding=24))
    up = alt.Y("y:Q", axis=_axis(y), scale=alt.Scale(type="log", nice=False, padding=24))
    tooltip = ["name:N", alt.Tooltip("x:Q", title=x, format=".3~s"), alt.Tooltip("y:Q", title=y, format=".3~s")]
    points = [{"part": point["series"], "kind": "", "word": "", "color": COLORS[0], "shape": "circle", **point} for point in points]
    dashes = {point["word"]: _DASHES[i] for i, point in enumerate({point["word"]: point for point in points}.values())}
    color = _look(alt.Color, "part", {point["part"]: point["color"] for point in points})
    shape = _look(alt.Shape, "kind", {point["kind"]: point["shape"] for point in points})
    base = alt.Chart(data(points)).encode(x=across, y=up, color=color, detail="series:N", tooltip=tooltip)
    line = base.mark_line(opacity=0.5).encode(order="x:Q", strokeDash=_look(alt.StrokeDash, "word", dashes))
    chart = line + base.mark_point(filled=True, size=70, opacity=0.9).encode(shape=shape)
    for name, values, ink, dash in (("x", [most_x], "#555", [5, 4]), ("y", [most_y], "#555", [5, 4]), ("x", ends, "#b00", [1, 0])):
        rules = [{name: value} for value in values if value is not None]
        if rules:
            channel = {name: f"{name}:Q"}
            chart = chart + alt.Chart(data(rules)).mark_rule(color=ink, strokeDash=dash, strokeWidth=2).encode(**channel)
    longest = max((len(point[name]) for point in points for name in ("part", "kind")), default=0)
    return _wide(chart) | {"usermeta": {"columns": 2 if longest <= LONGEST else 1}}


_DASHES = ([1, 0], [6, 4], [2, 2])
"""Dashes of lines of one series that differ in what they show."""

LONGEST = 22
"""Number of letters of a name up to which a legend has two columns on a narrow page."""


def _look(channel: Any, field: str, looks: Mapping[str, Any]) -> Any:
    """Encode a name by its look, with a legend where there are several names."""
    legend = library().Legend(title=None, symbolOpacity=1, symbolLimit=0, labelLimit=220) if len(looks) > 1 else None
    return channel(f"{field}:N", scale=library().Scale(domain=list(looks), range=list(looks.values())), legend=legend)


def _axis(title: str, values: Any = None) -> Any:
    """Make an axis with SI prefixes, which prices lack, and with ticks at `values` where they are given."""
    if title.startswith("USD") or values:
        return library().Axis(title=title, format="~g", grid=True, gridOpacity=0.4, **({"values": values} if values else {}))
    return si(title)


_COLORS = {
    "weights": "#4c78a8", "KV cache": "#f58518", "gradients": "#b279a2", "optimizer": "#eeca3b", "activations": "#72b7b2", "scratch": "#9d755d",
    "reserve": "#d8d5d2",
}  # fmt: skip
"""Colors of the parts of a memory: none is red, which marks what does not fit."""


def bars(stacks: Sequence[Record], title: str, marks: Sequence[Record] = ()) -> Record:
    """Draw a stacked bar for each name, and a line at its limit: red where the bar exceeds it."""
    alt = library()
    names = list(dict.fromkeys(row["name"] for row in stacks))
    axis = binary(title.removesuffix(" [byte]")) if title.endswith("[byte]") else _axis(title)
    if title.endswith("[byte]"):
        sums = {name: sum(row["value"] for row in stacks if row["name"] == name) for name in names}
        axis.values = ticks(max([*sums.values(), *(mark["value"] for mark in marks)]))
    y = alt.Y("name:N", title=None, sort=names, axis=alt.Axis(labelLimit=190))
    layers = list(dict.fromkeys(row["layer"] for row in stacks))
    scale = alt.Scale(domain=layers, range=[_COLORS.get(layer, "#4c78a8") for layer in layers])
    color = alt.Color("layer:N", title="", sort=layers, scale=scale, legend=alt.Legend(orient="bottom") if len(layers) > 1 else None)
    chart = alt.Chart(data(list(stacks))).mark_bar().encode(
        x=alt.X("value:Q", axis=axis, stack=True), y=y, color=color, order="order:O",
        tooltip=["name:N", "layer:N", alt.Tooltip("value:Q", format=".4~s")],
    )  # fmt: skip
    drawn = chart
    for fits, ink in (("yes", "#222"), ("no", "#b00")):
        if chosen := [mark for mark in marks if mark.get("fits", "yes") == fits]:
            drawn = drawn + alt.Chart(data(chosen)).mark_tick(color=ink, thickness=3).encode(x="value:Q", y=y)
    return _wide(drawn, 28 * len(names) + 40)
