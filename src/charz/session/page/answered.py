"""A page of one answer: pictures of its columns, its messages and its table, as one file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..answer import Rows
from ..ask import lost
from ..ask.queue import MET
from ..ask.tried import MEANS
from ..axes import amount
from ..quantities import quantity, significant, size
from . import document, pictures
from .content import Record, Section, Table
from .series import ALONG, drawn, having, labels, placed

_COSTS = {
    "million_mixed_tokens_usd": "a million mixed tokens", "million_output_tokens_usd": "a million output tokens", "million_tokens_usd": "a million tokens",
    "million_samples_usd": "a million samples", "million_inference_usd": "a million samples",
}  # fmt: skip
"""Words for each cost, of which a picture shows the first that rows have."""

_MEANT = {
    "million_mixed_tokens_usd": " Mixed tokens are those of a request: its prompt and its output, at this batch, all of the time busy.",
    "million_output_tokens_usd": " Output tokens pay for their prompts and for idle time.",
}
"""Sentences that tell what the tokens of a cost pay for."""

_LAYERS = {
    "weight_byte": "weights", "kv_cache_byte": "KV cache", "gradient_byte": "gradients", "optimizer_byte": "optimizer",
    "activation_byte": "activations", "scratch_byte": "scratch",
}  # fmt: skip

ORDERED = {lost.COST, "devices", "requests_per_s", "load_fraction", "tpot_p99_s", "tpot_s", "ttft_s"}
"""Columns by which `llm` and `serve` order servers of equal cost."""

MOST_BARS = 24
"""Largest number of bars of a picture."""

_WITHIN = "Within the objectives "
"""Words before a finding about rows that meet the objectives."""

EQUAL = 1.01
"""Ratio of throughputs below which they count as equal."""

SMALL_SHARE = 0.1
"""Share of a part's memory below which a picture leaves the capacity out, as bars would be too short to see."""


def text(session: Any, name: str, asked: Mapping[str, Any], rows: Rows, said: Sequence[str]) -> bytes:
    """Render the page of an answer."""
    command = _command(name, asked)
    others, verdict, rows = rows.beside, rows.verdict, rows.page or rows
    table = Table(rows.columns, rows.fetch(), "", session.texts(rows.views) | dict(rows.texts), "Table", command)
    records = [{**{time: row[mean] for time, mean in MEANS.items() if mean in row}, **row} for row in table.records()]
    limits = {f"{limit}_s": amount(asked.get(limit), "s", f"--{limit}") for limit in ("ttft", "tpot")}
    query = "SELECT hardware, backend, dram_byte, reserve_fraction FROM part CROSS JOIN backend"
    memory = {(part, backend): (byte, free) for part, backend, byte, free in session.connection().execute(query).fetchall()}
    is_loaded = bool(asked.get("rate") or asked.get("concurrency"))
    sections = (
        _speed(records, limits), _load(records, limits), _training(records), _time(records), _cost(records, limits, is_loaded), _memory(records, memory),
    )  # fmt: skip
    found = [section for section in (Section("choice", "Choice", verdict) if verdict else None, *sections) if section]
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
    found.append(Section("table", "Table", f"Rows of the answer: {len(records)}.", tables=[table]))
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


def _speed(rows: Sequence[Record], limits: Mapping[str, float | None]) -> Section | None:
    """Show tokens a second against the time of a token and the time to the first token, with the objectives."""
    points = placed(rows, "tpot_s", "tokens_per_s")
    if not points:
        return None
    told = [f"{name.removesuffix('_s').upper()} {quantity(limit, 's')}" for name, limit in limits.items() if limit is not None]
    kept = f" Dashed: the objectives {' and '.join(told)}." if told else ""
    pool, whose = _within(having(rows, "tpot_s", "tokens_per_s"), points, limits)
    most = max(point["y"] for point in points)
    first = "batch_ttft_s" if having(rows, "batch_ttft_s") else "ttft_s"
    statistic = "mean " if "ttft_mean_s" in rows[0] and "ttft_p50_s" not in rows[0] else "median " if "ttft_p50_s" in rows[0] else ""
    title, later = f"{statistic}time to the first token [s]", f"{statistic}time of a later token [s]"
    if first == "batch_ttft_s":
        title = "time to the first token of a batch [s]"
    largest = max(point["y"] for point in pool)
    best = min((point for point in pool if point["y"] * EQUAL >= largest), key=lambda point: point["x"])

    def order(row: Record) -> tuple[Any, ...]:
        is_fast = row["tokens_per_s"] * EQUAL >= largest
        return not _meets(row, limits), not is_fast, row["tpot_s"] if is_fast else -row["tokens_per_s"]

    chosen, cut = drawn(rows, ("tpot_s", "tokens_per_s"), order, "fastest")
    if len(points) > 1 and min(point["y"] for point in points) * EQUAL >= most:
        times = placed(rows, "tpot_s", first, chosen)
        charts = [pictures.against(times, later, title, limits["tpot_s"], limits["ttft_s"])] if times else []
        finding = f"All rows generate {significant(most)} tokens a second. {best['name']} takes the least time of a later token: {quantity(best['x'], 's')}."
        return Section("speed", "Times", finding + kept + cut, charts)
    charts = [pictures.against(placed(rows, "tpot_s", "tokens_per_s", chosen), later, "tokens/s", limits["tpot_s"])]
    if firsts := placed(rows, first, "tokens_per_s", chosen):
        charts.append(pictures.against(firsts, title, "tokens/s", limits["ttft_s"]))
    most_of = "generates most" if best["y"] == largest else f"generates most within {100 * (EQUAL - 1):.0f} %"
    finding = f"{whose}{best['name']} {most_of}: {significant(best['y'])} tokens a second at {quantity(best['x'], 's')} a token.{kept}{cut}"
    return Section("speed", "Throughput", finding, charts)


def _meets(row: Record, limits: Mapping[str, float | None]) -> bool:
    """Tell whether a row meets the stated objectives: in a queue 99 % of its requests, else one alone."""
    stated = {name: limit for name, limit in limits.items() if limit is not None}
    if stated and row.get("met_fraction") is not None:
        return bool(row["met_fraction"] >= MET)
    if row.get("is_saturated"):
        return not stated
    times = [(row.get(f"{name.removesuffix('_s')}_p99_s", row.get(name)), limit) for name, limit in stated.items()]
    return all(time is not None and limit is not None and time <= limit for time, limit in times)


def _within(rows: Sequence[Record], shown: Sequence[Any], limits: Mapping[str, float | None]) -> tuple[Sequence[Any], str]:
    """Return what is shown of the rows that meet the objectives, and words that tell so; all where none meets them or none is stated."""
    if all(limit is None for limit in limits.values()):
        return shown, ""
    found = [each for row, each in zip(rows, shown, strict=True) if _meets(row, limits)]
    return (found, _WITHIN) if found else (shown, "No row meets the objectives. ")


def _training(rows: Sequence[Record]) -> Section | None:
    """Show the throughput of each split of a training."""
    column = next((name for name in ("tokens_per_s", "samples_per_s") if "step_s" in rows[0] and having(rows, name)), None) if rows else None
    if column is None:
        return None
    what = column.removesuffix("_per_s")
    known = sorted(zip(labels(having(rows, column)), having(rows, column), strict=True), key=lambda pair: -pair[1][column])
    name, best = known[0]
    whole = f" The whole training takes {quantity(best['whole_s'], 's')} and {quantity(best['whole_usd'], 'USD')}." if best.get("whole_s") else ""
    bars = [{"name": name, "layer": "speed", "order": 0, "value": row[column]} for name, row in known[:MOST_BARS]]
    finding = f"{name} is the fastest: {significant(best[column])} {what} a second, {quantity(best['step_s'], 's')} a step.{whole}{_cut(known)}"
    return Section("training", "Speed", finding, [pictures.bars(bars, f"{what} a second")])


def _cut(rows: Sequence[Any]) -> str:
    """Tell how many rows a picture leaves out."""
    return f" The picture has {MOST_BARS} of {len(rows)} rows, the table all." if len(rows) > MOST_BARS else ""


MOST_LOADED = 5
"""Largest number of servers in a picture of loads, which has two lines for each."""


def _load(rows: Sequence[Record], limits: Mapping[str, float | None]) -> Section | None:
    """Show median and 99th percentile of the times to the first and per later token against the load, and where the server saturates."""
    x = next((name for name in ("rate_per_s", "concurrency") if len(having(rows, name, "ttft_p50_s")) > 0), None)
    if x is None:
        return None

    def order(row: Record) -> tuple[Any, ...]:
        usd = row.get("million_output_tokens_usd")
        return not _meets(row, limits), usd is None, usd or 0.0, -(row.get("saturation_per_s") or 0.0)

    chosen, cut = drawn(rows, (x, "ttft_p50_s"), order, "cheapest", MOST_LOADED)
    known = [(line, row.get("saturation_per_s")) for line, row in zip(labels(rows, ALONG), rows, strict=True) if line in chosen and x == "rate_per_s"]
    ends = {line: float(end) for line, end in known if end is not None}
    title = "requests a second" if x == "rate_per_s" else "requests in flight"
    charts = []
    for name, what in (("ttft", "time to the first token [s]"), ("tpot", "time of a later token [s]")):
        found = [
            {**point, "series": f"{point['series']} {word}", "word": word}
            for word in ("p50", "p99") for point in placed(rows, x, f"{name}_{word}_s", chosen)
        ]  # fmt: skip
        if found:
            charts.append(pictures.against(found, title, what, None, limits[f"{name}_s"], list(ends.values())))
    told = ", ".join(f"{name} saturates at {significant(end)} requests a second" for name, end in ends.items())
    return Section("load", "Load", (f"{told} (red lines)." if told else "Requests in flight follow each other.") + cut, charts)


def _time(rows: Sequence[Record]) -> Section | None:
    """Show energy against time of runs."""
    energy = next((name for name in ("energy_per_sample_j", "sample_j") if having(rows, name, "latency_s")), None)
    if energy is None:
        return None
    points = placed(rows, "latency_s", energy)
    fast, frugal = min(points, key=lambda p: p["x"]), min(points, key=lambda p: p["y"])
    finding = f"{fast['name']} is the fastest at {quantity(fast['x'], 's')}, {frugal['name']} takes the least energy: {quantity(frugal['y'], 'J')} a sample."
    order = {(point["x"], point["y"]): point["x"] if point["y"] > frugal["y"] else 0.0 for point in points}
    chosen, cut = drawn(rows, ("latency_s", energy), lambda row: order[row["latency_s"], row[energy]], "fastest")
    chart = pictures.against(placed(rows, "latency_s", energy, chosen), "time of a run [s]", "energy of a sample [J]")
    return Section("time", "Time and energy", finding + cut, [chart])


def _cost(rows: Sequence[Record], limits: Mapping[str, float | None], is_loaded: bool = False) -> Section | None:
    """Show costs against the number of devices, or as bars where all rows have the same number. Where rows have phases, the cost is that of steps, and
    where loads are stated, that of the largest one within the objectives."""
    steps = [row for row in rows if row.get("phase") == "decode"]
    rows = steps or rows
    column = next((name for name in _COSTS if having(rows, name)), None)
    if column is None:
        return None
    count = "devices" if "devices" in rows[0] else "device_count"
    known = having(rows, column)
    what = "a million decode tokens" if steps else _COSTS[column]
    pool, whose = _within(known, list(zip(labels(known), known, strict=True)), limits)
    load = next((name for name in ("rate_per_s", "concurrency") if is_loaded and having(rows, name)), None)
    if load and len({row[load] for _, row in pool}) > 1:
        most = max(row[load] or 0.0 for _, row in pool)
        pool, whose = [(name, row) for name, row in pool if row[load] == most], _at_load(whose, most)
    known = [row for _, row in pool]
    name, least = min(pool, key=lambda pair: lost.order(pair[1]) if pair[1].keys() >= ORDERED else (pair[1][column],))
    if len({row.get(count) for row in known}) > 1:
        without = (*ALONG, "split", "device_count")
        cheapest = {(line, row[count]): row for line, row in sorted(zip(labels(known, without), known, strict=True), key=lambda pair: -pair[1][column])}
        lines = list(cheapest.values())
        chosen, cut = drawn(lines, (count, column), lambda row: row[column], "cheapest", without=without)
        chart = pictures.against(placed(lines, count, column, chosen, without), "devices", f"USD {what}")
    else:
        best = sorted(pool, key=lambda pair: pair[1][column])[:MOST_BARS]
        chart = pictures.bars([{"name": name, "layer": "cost", "order": 0, "value": row[column]} for name, row in best], f"USD {what}")
        cut = _cut(known)
    return Section("cost", "Cost", f"{whose}{name} is the cheapest: {significant(least[column])} USD {what}.{_MEANT.get(column, '')}{cut}", [chart])


def _at_load(whose: str, most: float) -> str:
    """Return words for a stated load, after those about the objectives."""
    if whose == _WITHIN:
        return f"At {most:g}, the largest load within the objectives, "
    return f"{whose}At {most:g}, the largest load, "


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
    known = having(rows, "peak_memory_byte")
    alike = {(label, row["peak_memory_byte"]): row for label, row in zip(labels(known, ("rate_per_s", "concurrency")), known, strict=True)}
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
    if any(name in known[0] for name in ("slots", "most_batch")):
        finding += " It is the memory of as many requests as the server lets run at once, as in the table."
    return Section("memory", "Memory of a device", finding + _cut(found), [pictures.bars(stacks, "memory [byte]", marks)])


def _exceeds(row: Record, capacity: float) -> bool:
    """Return True if a row does not fit its part."""
    fits = row.get("fits_device")
    return row["peak_memory_byte"] > capacity if fits is None else not fits
