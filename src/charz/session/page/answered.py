"""A page of one answer: pictures of its columns, its messages and its table, as one file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..answer import Rows
from ..axes import amount
from ..quantities import quantity, significant, size
from . import document, pictures
from .content import Record, Section, Table

_CONDITIONS = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "split", "device_count", "sequence", "context", "batch",
    "input_tokens", "output_tokens", "rate_per_s", "concurrency",
)  # fmt: skip
"""Columns that name a row, as far as its neighbours differ in them."""

_ALONG = ("batch", "context", "sequence", "rate_per_s", "concurrency")
"""Columns that differ along a line of a picture."""

_COSTS = ("million_mixed_tokens_usd", "million_output_tokens_usd", "million_tokens_usd", "million_samples_usd", "million_inference_usd")

_LAYERS = {
    "weight_byte": "weights", "kv_cache_byte": "KV cache", "gradient_byte": "gradients", "optimizer_byte": "optimizer",
    "activation_byte": "activations", "scratch_byte": "scratch",
}  # fmt: skip

MOST_BARS = 24
"""Largest number of bars of a picture."""

EQUAL = 1.01
"""Ratio of throughputs below which they count as equal."""

SMALL_SHARE = 0.1
"""Share of a part's memory below which a picture leaves the capacity out, as bars would be too short to see."""


def text(session: Any, name: str, asked: Mapping[str, Any], rows: Rows, said: Sequence[str]) -> bytes:
    """Render the page of an answer."""
    command = _command(name, asked)
    others, rows = rows.beside, rows.page or rows
    table = Table(rows.columns, rows.fetch(), "", session.texts(rows.views) | dict(rows.texts), "Table", command)
    records = table.records()
    limits = {f"{limit}_s": amount(asked.get(limit), "s", f"--{limit}") for limit in ("ttft", "tpot")}
    query = "SELECT hardware, backend, dram_byte, reserve_fraction FROM part CROSS JOIN backend"
    memory = {(part, backend): (byte, free) for part, backend, byte, free in session.connection().execute(query).fetchall()}
    sections = (_speed(records, limits), _load(records, limits), _training(records), _time(records), _cost(records, limits), _memory(records, memory))
    found = [section for section in sections if section]
    if commands := [(row["hardware"], row["launch"]) for row in records if row.get("launch")]:
        listed = Table(("part", "command"), commands, "", {}, "Commands", command)
        what, best = ("training", "fastest training that trl has flags for") if name == "train" else ("server", "best server")
        told = f"A command starts the {what} of each row." if len(commands) > 1 else f"This command starts the {best}, on {commands[0][0]}."
        found.append(Section("launch", "Launch", told, tables=[listed]))
    if said:
        listed = Table(("remark",), [(line,) for line in said], "", {}, "Remarks", command)
        found.append(Section("remarks", "Remarks", "What the answer assumes and leaves out.", tables=[listed]))
    for title, beside in others:
        listed = Table(beside.columns, beside.fetch(), "", {}, title, command)
        found.append(Section("others", title, f"{len(listed.rows)} rows.", tables=[listed]))
    found.append(Section("table", "Table", f"The answer has {len(records)} rows.", tables=[table]))
    return document.text(f"{name} {_joined(asked.get('models', asked.get('model')))}", command, found, "")


def _command(name: str, asked: Mapping[str, Any]) -> str:
    """Write the command line of an answer."""
    words = ["charz", name, _joined(asked.get("models", asked.get("model"))).replace(",", " ")]
    for option, value in asked.items():
        if option in ("model", "models") or value in (None, False):
            continue
        value = f"{value:g}" if isinstance(value, float) else value
        words.append(f"--{option.rstrip('_').replace('_', '-')}" + ("" if value is True else f" {shlex.quote(_joined(value))}"))
    return " ".join(words)


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _labels(rows: Sequence[Record], without: Sequence[str] = ()) -> list[str]:
    """Name each row by its part and by the conditions that differ among the rows."""
    differ = [name for name in _CONDITIONS if name not in without and len({row.get(name) for row in rows}) > 1]
    if "split" in differ and "device_count" in differ:
        differ.remove("device_count")  # the split tells the devices
    names = dict.fromkeys(("hardware", *differ))
    return [" ".join(_word(name, row[name]) for name in names if row.get(name) not in (None, "one", "none")) for row in rows]


def _word(name: str, value: Any) -> str:
    """Write a condition so that its number names what it counts."""
    before = {"batch": "batch ", "context": "context ", "sequence": "sequence ", "device_count": "x"}.get(name, "")
    after = {"rate_per_s": "/s", "concurrency": " in flight"}.get(name, "")
    return f"{before}{value:g}{after}" if isinstance(value, float) else f"{before}{value}{after}"


def _known(rows: Sequence[Record], *columns: str) -> list[Record]:
    return [row for row in rows if all(row.get(column) is not None for column in columns)]


def _points(rows: Sequence[Record], x: str, y: str) -> list[Record]:
    """Return points of a picture, with the series and the name of each."""
    found = _known(rows, x, y)
    lines, names = _labels(found, _ALONG), _labels(found)
    return [{"series": line, "name": name, "x": row[x], "y": row[y]} for row, line, name in zip(found, lines, names, strict=True)]


def _speed(rows: Sequence[Record], limits: Mapping[str, float | None]) -> Section | None:
    """Show tokens a second against the time of a token and the time to the first token, with the objectives."""
    points = _points(rows, "tpot_s", "tokens_per_s")
    if not points:
        return None
    told = [f"{name.removesuffix('_s').upper()} {quantity(limit, 's')}" for name, limit in limits.items() if limit is not None]
    kept = f" Dashed: the objectives {' and '.join(told)}." if told else ""
    pool, whose = _within(_known(rows, "tpot_s", "tokens_per_s"), points, limits)
    most = max(point["y"] for point in points)
    first = "batch_ttft_s" if _known(rows, "batch_ttft_s") else "ttft_s"
    title = "time to the first token of a batch [s]" if first == "batch_ttft_s" else "time to the first token [s]"
    largest = max(point["y"] for point in pool)
    best = min((point for point in pool if point["y"] * EQUAL >= largest), key=lambda point: point["x"])
    if len(points) > 1 and min(point["y"] for point in points) * EQUAL >= most:
        times = _points(rows, "tpot_s", first)
        charts = [pictures.against(times, "time of a later token [s]", title, limits["tpot_s"], limits["ttft_s"])] if times else []
        finding = f"All rows generate {significant(most)} tokens a second. {best['name']} takes the least time of a later token: {quantity(best['x'], 's')}."
        return Section("speed", "Times", finding + kept, charts)
    charts = [pictures.against(points, "time of a later token [s]", "tokens/s", limits["tpot_s"])]
    if firsts := _points(rows, first, "tokens_per_s"):
        charts.append(pictures.against(firsts, title, "tokens/s", limits["ttft_s"]))
    finding = f"{whose}{best['name']} generates most: {significant(best['y'])} tokens a second at {quantity(best['x'], 's')} a token.{kept}"
    return Section("speed", "Throughput", finding, charts)


def _within(rows: Sequence[Record], shown: Sequence[Any], limits: Mapping[str, float | None]) -> tuple[Sequence[Any], str]:
    """Return what is shown of the rows that meet the objectives, and words that tell so; all where none meets them or none is stated."""
    stated = {name: limit for name, limit in limits.items() if limit is not None}
    if not stated:
        return shown, ""
    found = [
        each
        for row, each in zip(rows, shown, strict=True)
        if not row.get("is_saturated") and all(row.get(name) is not None and row[name] <= limit for name, limit in stated.items())
    ]
    return (found, "Within the objectives ") if found else (shown, "No row meets the objectives. ")


def _training(rows: Sequence[Record]) -> Section | None:
    """Show the throughput of each split of a training."""
    column = next((name for name in ("tokens_per_s", "samples_per_s") if "step_s" in rows[0] and _known(rows, name)), None) if rows else None
    if column is None:
        return None
    what = column.removesuffix("_per_s")
    known = sorted(zip(_labels(_known(rows, column)), _known(rows, column), strict=True), key=lambda pair: -pair[1][column])
    name, best = known[0]
    whole = f" The whole training takes {quantity(best['whole_s'], 's')} and {quantity(best['whole_usd'], 'USD')}." if best.get("whole_s") else ""
    bars = [{"name": name, "layer": "speed", "order": 0, "value": row[column]} for name, row in known[:MOST_BARS]]
    finding = f"{name} is the fastest: {significant(best[column])} {what} a second, {quantity(best['step_s'], 's')} a step.{whole}{_cut(known)}"
    return Section("training", "Speed", finding, [pictures.bars(bars, f"{what} a second")])


def _cut(rows: Sequence[Any]) -> str:
    """Tell how many rows a picture leaves out."""
    return f" The picture has {MOST_BARS} of {len(rows)} rows, the table all." if len(rows) > MOST_BARS else ""


def _load(rows: Sequence[Record], limits: Mapping[str, float | None]) -> Section | None:
    """Show median and 99th percentile of the times to the first and per later token against the load, and where the server saturates."""
    x = next((name for name in ("rate_per_s", "concurrency") if len(_known(rows, name, "ttft_p50_s")) > 0), None)
    if x is None:
        return None
    ends = dict(zip(_labels(rows, _ALONG), (row.get("saturation_per_s") for row in rows), strict=True)) if x == "rate_per_s" else {}
    title = "requests a second" if x == "rate_per_s" else "requests in flight"
    charts = []
    for name, what in (("ttft", "time to the first token [s]"), ("tpot", "time of a later token [s]")):
        found = [
            {**point, "series": f"{point['series']} {word}"} for word in ("p50", "p99") for point in _points(rows, x, f"{name}_{word}_s")
        ]
        if found:
            charts.append(pictures.against(found, title, what, None, limits[f"{name}_s"], [end for end in ends.values() if end is not None]))
    told = ", ".join(f"{name} saturates at {significant(end)} requests a second" for name, end in ends.items() if end is not None)
    return Section("load", "Load", f"{told} (red lines)." if told else "Requests in flight follow each other.", charts)


def _time(rows: Sequence[Record]) -> Section | None:
    """Show energy against time of runs."""
    energy = next((name for name in ("energy_per_sample_j", "sample_j") if _known(rows, name, "latency_s")), None)
    if energy is None:
        return None
    points = _points(rows, "latency_s", energy)
    fast, frugal = min(points, key=lambda p: p["x"]), min(points, key=lambda p: p["y"])
    finding = f"{fast['name']} is the fastest at {quantity(fast['x'], 's')}, {frugal['name']} takes the least energy: {quantity(frugal['y'], 'J')} a sample."
    return Section("time", "Time and energy", finding, [pictures.against(points, "time of a run [s]", "energy of a sample [J]")])


def _cost(rows: Sequence[Record], limits: Mapping[str, float | None]) -> Section | None:
    """Show costs against the number of devices, or as bars where all rows have the same number."""
    column = next((name for name in _COSTS if _known(rows, name)), None)
    if column is None:
        return None
    count = "devices" if "devices" in rows[0] else "device_count"
    known = _known(rows, column)
    what = "a million tokens" if "tokens" in column else "a million samples"
    pool, whose = _within(known, list(zip(_labels(known), known, strict=True)), limits)
    known = [row for _, row in pool]
    if len({row.get(count) for row in known}) > 1:
        lines = _labels(known, (*_ALONG, "split", "device_count"))
        cheapest = {(line, row[count]): row for line, row in sorted(zip(lines, known, strict=True), key=lambda pair: -pair[1][column])}
        points = [{**point, "series": line} for point, (line, _) in zip(_points(list(cheapest.values()), count, column), cheapest, strict=True)]
        chart = pictures.against(points, "devices", f"USD {what}")
    else:
        best = sorted(zip(_labels(known), known, strict=True), key=lambda pair: pair[1][column])[:MOST_BARS]
        chart = pictures.bars([{"name": name, "layer": "cost", "order": 0, "value": row[column]} for name, row in best], f"USD {what}")
    name, least = min(pool, key=lambda pair: pair[1][column])
    cut = "" if len({row.get(count) for row in known}) > 1 else _cut(known)
    return Section("cost", "Cost", f"{whose}{name} is the cheapest: {significant(least[column])} USD {what}.{cut}", [chart])


def layers(row: Record, device: tuple[float | None, float | None]) -> dict[str, float]:
    """Return the parts of the memory of a row. What no column names are activations, after the share that a server leaves free. The context of the
    process of a training is not part of the row's peak."""
    capacity, free = device
    known = {word: float(row[column]) for column, word in _LAYERS.items() if row.get(column) is not None}
    reserve = (free or 0.0) * capacity if "kv_cache_byte" in row and capacity is not None else 0.0
    rest = row["peak_memory_byte"] - sum(known.values()) - reserve
    context = {"context": float(row["context_byte"])} if row.get("context_byte") else {}
    if rest > 0.0:
        name = "activations" if known else "in use"
        known[name] = known.get(name, 0.0) + rest
    return known | ({"reserve": reserve} if reserve else {}) | context


def _memory(rows: Sequence[Record], devices: Mapping[tuple[str, str], tuple[float | None, float | None]]) -> Section | None:
    """Show the memory of each row as a stack, with the capacity of its part. Rows that differ in their load alone are drawn once."""
    known = _known(rows, "peak_memory_byte")
    alike = {(label, row["peak_memory_byte"]): row for label, row in zip(_labels(known, ("rate_per_s", "concurrency")), known, strict=True)}
    if not alike:
        return None
    found = [(name, row, devices.get((row["hardware"], row["backend"]), (None, None))) for (name, _), row in alike.items()]
    shares = [(row["peak_memory_byte"] / device[0], name, row, device[0]) for name, row, device in found if device[0] is not None]
    worst = max(shares, key=lambda share: share[0], default=None)
    is_small = worst is not None and worst[0] < SMALL_SHARE
    stacks, marks = [], []
    for name, row, device in found[:MOST_BARS]:
        stacks += [{"name": name, "layer": word, "order": i, "value": byte} for i, (word, byte) in enumerate(layers(row, device).items())]
        if device[0] is not None and not is_small:
            marks.append({"name": name, "value": device[0], "fits": "no" if _exceeds(row, device[0]) else "yes"})
    over = [name for _, name, row, capacity in shares if _exceeds(row, capacity)]
    if worst is None:
        finding = "No capacity is known."
    else:
        told = f"{worst[1]} takes the largest share: {size(worst[2]['peak_memory_byte'])} of {size(worst[3])}"
        whole = "Every row fits" if not over else f"{len(over)} of {len(found)} rows do not fit (red line)"
        finding = f"{whole}. {told}{'' if is_small else ' (line: the capacity)'}."
    return Section("memory", "Memory of a device", finding + _cut(found), [pictures.bars(stacks, "memory [byte]", marks)])


def _exceeds(row: Record, capacity: float) -> bool:
    """Return True if a row does not fit its part."""
    fits = row.get("fits_device")
    return row["peak_memory_byte"] > capacity if fits is None else not fits
