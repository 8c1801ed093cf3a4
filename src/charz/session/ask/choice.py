"""The choice of part, split over devices, precision and batch that serves requests within limits.

With a given request rate, the smallest number of equal servers that meets both limits shares the requests equally. `load` computes the mean times
of each server, and `loaded` replays the queue of the choices that an answer lists. Without a rate, servers run at the largest batch within the
limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..quantities import quantity, significant, size
from . import loaded, lost
from .lost import Loss, bought
from .queue import MET
from .server_rows import in_full_chunk
from .tried import COLUMNS, MEANS, MEMORY, MOST_REPLICAS, QUEUED, Limits, Splits, Tried

TEXTS = {
    "load_fraction": "Rate of requests as a share of the largest one.",
    "ttft_p99_s": "Time to the first token that 99 % of the requests keep, from a replay of random arrivals. [s]",
    "tpot_p99_s": "Mean time of a later token that 99 % of the requests keep, from a replay of random arrivals. [s]",
    "batch": "Number of requests that decode at once: with a rate, their mean number, raised to the next batch that was tried.",
    "slots": "Largest number of requests that a server runs at once in the replay, which its launch command sets.",
    "replicas": "Number of equal servers that share the requests.",
    "devices": "Number of devices of all servers.",
    "requests_per_s": "Rate of requests of all servers. [1/s]",
    "ttft_s": "Time to the first token of a request that arrives alone. [s]",
    "tpot_s": "Time of a step at this batch. [s]",
    "ttft_mean_s": "Mean time to the first token at this rate, from a replay of random arrivals. [s]",
    "tpot_mean_s": "Mean time per later token at this rate, with the prompts of others, from a replay of random arrivals. [s]",
    "tokens_per_s": "Output tokens of all servers per second. [1/s]",
    "price_usd_per_hour": "Price of all devices, also idle ones; null when unknown. [USD/h]",
    "price_kind": "Kind of the price: `rent`, or `owned` if derived from a list price; null without a price.",
    "weight_byte": "Weights on a device. [byte]",
    "kv_cache_byte": "KV cache on a device of as many requests as slots, which the server reserves. [byte]",
    "peak_memory_byte": "Memory of a device with as many requests as slots, the share that the server leaves free included. [byte]",
    "million_output_tokens_usd": "Price of all devices while they generate a million tokens at this rate, prompts and idle time included. [USD]",
    "saturated_million_output_tokens_usd": "The same with all slots taken: a lower bound for these slots, whose times may exceed the limits. [USD]",
}
"""Descriptions of columns that `serving_split` lacks, or has for one server."""

READ = (
    *(name for name in COLUMNS if name not in TEXTS or name in (*MEMORY, "batch")),
    "tokens_per_s", "million_tokens_usd", "phase", "samples", "latency_s", "pass_s", "data", "scenario_id", "device_byte", "free_byte",
)  # fmt: skip
"""Columns of `serving_split` that a choice needs."""

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """Choices within limits, the cheapest first, and the reasons why other servers are not among them."""

    choices: list[dict[str, Any]]
    lost: list[Loss]
    """Lost servers, those that missed the least first."""
    alone: Sequence[str] = ()
    """Sentences that compare choices of several devices with servers of one device."""

    def columns(self) -> tuple[str, ...]:
        """Return the columns of choices. Without a rate, servers are saturated anyway."""
        is_saturated = all(choice["million_output_tokens_usd"] == choice["saturated_million_output_tokens_usd"] for choice in self.choices)
        is_queued = any(choice["load_fraction"] is not None for choice in self.choices)
        left = {*(MEANS if is_queued else QUEUED), *(["saturated_million_output_tokens_usd"] if is_saturated else [])}
        return tuple(name for name in COLUMNS if name not in left)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows of choices."""
        times = {mean: time for time, mean in MEANS.items()}
        return [tuple(choice[times.get(name, name)] for name in self.columns()) for choice in self.choices]


def verdict(found: Found, limits: Limits) -> str:
    """Tell for each model the cheapest choice and how it meets the limits, or that none meets them."""
    times = [f"{name} {quantity(value, 's')}" for name, value in (("TTFT", limits.ttft_s), ("TPOT", limits.tpot_s)) if value is not None]
    load = "" if limits.rate is None else f" at {limits.rate:g} requests/s"
    within = "" if limits.usd_per_hour is None else f" within {significant(limits.usd_per_hour)} USD/h"
    who = "a prompt alone and a step of this batch meet" if limits.rate is None else f"{100 * MET:.0f} % of the requests meet"
    best = {choice["model"]: choice for choice in reversed(found.choices)}
    lines = []
    for model in sorted({*best, *(loss.server[0] for loss in found.lost)}):
        named = f"{model}: " if len(best) > 1 or len({loss.server[0] for loss in found.lost}) > 1 else ""
        lost_of = [loss for loss in found.lost if loss.server[0] == model]
        if choice := best.get(model):
            usd = choice["million_output_tokens_usd"]
            price = "of unknown price" if usd is None else f"{significant(usd)} USD a million output tokens, {quantity(choice['price_usd_per_hour'], 'USD/h')}"
            met = f"; {who} {' and '.join(times)}" if times else ""
            lines.append(f"{named}cheapest: {bought(choice)}: {price}{load}{within}{met}")
        else:
            nearest = f"; the nearest: {lost_of[0].server[1]} in {lost_of[0].server[4]}, {lost_of[0].reason}: {lost_of[0].detail}" if lost_of else ""
            lines.append(f"{named}none meets {' and '.join(times) or 'the limits'}{load}{within}{nearest}")
    return "\n".join(lines)


def chosen(
    rows: Sequence[Record], limits: Limits, kinds: Mapping[str, str | None] | None = None, chunks: Mapping[str, float | None] | None = None
) -> Found:
    """Find the cheapest choice of each server, and leave out those that another beats in dollars, devices and both times. `rows` are rows of
    `serving_split`: decode steps at several batches, and the prefill of one prompt. `kinds` are the kinds of the parts' prices, and `chunks` the
    tokens of prompts that a step of each backend takes."""
    servers: dict[tuple[Any, ...], list[Record]] = {}
    for row in rows:
        servers.setdefault(tuple(row[name] for name in lost.SERVER), []).append(row)
    ordered = sorted(servers.items(), key=lambda pair: str(pair[0]))
    found = [_splits(server, of_server, limits, chunks or {}, (kinds or {}).get(server[1])) for server, of_server in ordered]
    front, beaten = loaded.settled([one for one in found if isinstance(one, Splits)], limits, servers)
    losses = [*(one for one in found if isinstance(one, Loss)), *beaten]
    alone = [line for one in front if (line := loaded.compared(one, limits))]
    choices = [one.choice for one in front]
    return Found(choices, sorted(losses, key=lost.nearest), alone)


def _splits(
    server: tuple[Any, ...], rows: Sequence[Record], limits: Limits, chunks: Mapping[str, float | None], price_kind: str | None
) -> Splits | Loss:
    """Return the splits of a server within the limits without load, or the loss of a server that has none."""
    steps: dict[tuple[Any, ...], list[Record]] = {}
    prompts: dict[Any, list[Record]] = {}
    for row in rows:
        if row["latency_s"] is None:
            continue
        if row["phase"] == "decode":
            steps.setdefault((row["split"], row["context"]), []).append(row)
        else:
            prompts.setdefault(row["split"], []).append(row)
    pairs = []
    for (split, context), of_split in steps.items():
        reached = [row for row in prompts.get(split, []) if row["context"] <= context and row["batch"] == 1]
        if reached:
            alone = max(reached, key=lambda row: row["context"])
            count = in_full_chunk(chunks.get(alone["backend"]), alone["context"])
            full = next((row for row in prompts[split] if (row["batch"], row["context"]) == (count, alone["context"])), alone)
            pairs.append((sorted(of_split, key=lambda row: row["samples"]), alone, full))
    if not pairs:
        return _not_fitting(server, rows)
    tried = [one for each in pairs if (one := Tried.of(*each, limits, chunks)) is not None]
    none = _why_none(server, pairs, limits)
    fits_alone = any(prompt["device_count"] == 1 for _, prompt, _ in pairs)
    return Splits(server, tried, none, price_kind, fits_alone) if tried else none


def _not_fitting(server: tuple[Any, ...], rows: Sequence[Record]) -> Loss:
    """Tell by how much the split that comes nearest exceeds the memory of a device."""
    known = [row for row in rows if row["latency_s"] is None and row["free_byte"] is not None and row["device_byte"]]
    least = max(known, key=lambda row: row["free_byte"] / row["device_byte"], default=None)
    if least is None:
        return Loss(server, lost.FIT, "its memory is unknown", float("inf"))
    where = "a device" if least["device_count"] == 1 else f"each of {least['device_count']} devices"
    told = f"{size(-least['free_byte'])} too much on {where} of {size(least['device_byte'])}"
    return Loss(server, lost.FIT, told, -least["free_byte"] / least["device_byte"])


def _why_none(server: tuple[Any, ...], pairs: Sequence[tuple[list[Record], Record, Record]], limits: Limits) -> Loss:
    """Tell why no split of a server is within the limits, with its number."""
    step_s = min(of_split[0]["latency_s"] for of_split, *_ in pairs)
    first_s = min(prompt["latency_s"] for _, prompt, _ in pairs)
    if limits.tpot_s is not None and step_s > limits.tpot_s:
        return Loss(server, lost.TPOT, f"{quantity(step_s, 's')} a token", step_s)
    if limits.ttft_s is not None and first_s > limits.ttft_s:
        return Loss(server, lost.TTFT, f"{quantity(first_s, 's')} to the first token", first_s)
    told = f"{', '.join(map(str, limits.devices))} devices were tried" if limits.devices else f"up to {MOST_REPLICAS} servers were tried"
    return Loss(server, lost.RATE, told, step_s)
