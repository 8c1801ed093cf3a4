"""Pictures of a page that `plot` lacks, as Vega-Lite specifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ask.charts import batch, data, library, si
from .content import Record


def _wide(chart: Any, height: int = 320) -> Record:
    found: Record = chart.to_dict()
    return {**found, "width": "container", "height": height}


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
