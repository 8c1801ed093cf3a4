"""Servers that lost within limits, each with one reason and its number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ..quantities import quantity, significant
from ..question import HALVES

SERVER = ("model", "hardware", "backend", "engine_version", "precision", "kv_precision")
"""Columns that name a server, whatever its split."""

BEATEN = "no gain in cost, devices or times"
BUDGET = "above the budget"
RATE = "above the limits at this rate"
LOAD = "above the limits in the queue"
TTFT = "TTFT above the limit without load"
TPOT = "TPOT above the limit at batch 1"
FIT = "does not fit"

KINDS = (BEATEN, BUDGET, LOAD, RATE, TTFT, TPOT, FIT)
"""Reasons, beginning with that of the nearest misses."""

COST = "million_output_tokens_usd"

WEIGHED = (COST, "devices", "tpot_s", "ttft_s")
"""Numbers by which choices are compared."""

HIGH_LOAD = 0.8
"""Share of the largest rate above which a small rise of the rate makes waiting times much longer."""

SAID_LINES = 8
"""Largest number of lost servers of which each has a line of its own."""

SAID_NEAREST = 3
"""Number of lost parts that a line names."""

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Loss:
    """A server that lost."""

    server: tuple[Any, ...]
    """Values of `SERVER`."""
    reason: str
    """One of `KINDS`."""
    detail: str
    """Number that decided."""
    miss: float
    """Number that orders the servers of a reason, the nearest miss first."""
    short: str = ""
    """Beginning of the detail, for a line about several servers."""


def nearest(loss: Loss) -> tuple[int, float, str]:
    """Return a sort key: the nearest miss comes first."""
    return KINDS.index(loss.reason), loss.miss, str(loss.server)


def weight(choice: Record, name: str) -> float:
    """Return a number to minimize, without the digits that differ with the order of a sum; a missing price counts as infinite."""
    return float("inf") if choice[name] is None else float(f"{choice[name]:.9g}")


def order(server: Record) -> tuple[float, ...]:
    """Return the numbers by which servers of `llm` and `serve` are ordered: the cheapest first. Of equal prices, the larger
    rate comes first, one above `HIGH_LOAD` comes after one with a smaller load, and then the shorter times decide, p99 before the median."""
    load = max(server["load_fraction"] or 0.0, HIGH_LOAD)
    times = [weight(server, name) for name in ("tpot_p99_s", "tpot_s", "ttft_s")]
    return (weight(server, COST), server["devices"], -weight(server, "requests_per_s"), float(f"{load:.9g}"), *times)


def bought(server: Record) -> str:
    """Name the devices of a server, or of several equal ones, and their split."""
    split = server["split"] if server["replicas"] == 1 else f"{server['replicas']} servers of {server['split']}"
    return f"{server['devices']} x {server['hardware']}, {server['precision']}, {split}"


def beats(one: Record, other: Record) -> bool:
    """Return True if `one` dominates `other` for the same model: no number is worse and at least one is better. A choice in 16 bits, which changes
    no weight, is not dominated by one in fewer bits."""
    if other["precision"] in HALVES and one["precision"] not in HALVES:
        return False
    mine, its = ([weight(c, name) for name in WEIGHED] for c in (one, other))
    return bool(one["model"] == other["model"]) and all(a <= b for a, b in zip(mine, its, strict=True)) and mine != its


def beaten(choice: Record, better: Record, servers: Collection[tuple[Any, ...]], is_bound: bool = False) -> Loss:
    """Make the loss of a choice that a row of the answer beats. `servers` are all servers, of which names need to differ. With `is_bound`, the
    queue of the choice was not replayed, which may need more devices."""
    usd, least = choice[COST], better[COST]
    miss = float("inf") if usd is None or not least else usd / least
    name = named(tuple(better[column] for column in SERVER), servers)
    own = "" if choice["device_count"] == 1 else f" than {choice['split']}"
    told = _gains(better, choice, "at least " if is_bound else "")
    if not told:
        return Loss(tuple(choice[column] for column in SERVER), BEATEN, f"{name} ties in cost, devices and times", miss)
    return Loss(tuple(choice[column] for column in SERVER), BEATEN, f"{name} is better{own}: {', '.join(told)}", miss, f"{name}: {told[0]}")


def _gains(better: Record, choice: Record, bound: str) -> list[str]:
    """List the numbers in which one choice is better, as far as they differ in print. `bound` precedes numbers that a queue may raise."""
    return [
        words
        for column, words in (
            (COST, _dollars(better, choice, bound)),
            ("devices", f"{better['devices']} instead of {bound}{choice['devices']} devices"),
            ("tpot_s", f"{quantity(better['tpot_s'], 's')} instead of {quantity(choice['tpot_s'], 's')} a token"),
            ("ttft_s", f"{quantity(better['ttft_s'], 's')} instead of {quantity(choice['ttft_s'], 's')} to the first token"),
        )
        if weight(better, column) < weight(choice, column) and _differs(words)
    ]


def _differs(words: str) -> bool:
    first, _, rest = words.partition(" instead of ")
    return not rest.removeprefix("at least ").startswith(f"{first} ")


def _dollars(better: Record, choice: Record, bound: str) -> str:
    if choice[COST] is None:
        return f"{choice['hardware']} has no known price (--rent states one)"
    return f"{significant(weight(better, COST))} instead of {bound}{significant(choice[COST])} USD a million tokens"


def named(server: tuple[Any, ...], servers: Iterable[tuple[Any, ...]]) -> str:
    """Name a server by its part, and by what distinguishes it from other servers of the same part."""
    alike = [other for other in servers if other[1] == server[1]]
    return " ".join(str(value) for i, value in enumerate(server) if i == 1 or len({other[i] for other in alike}) > 1)


def lines(losses: Sequence[Loss], kept: Sequence[Record]) -> list[str]:
    """Tell why servers lost: a line for each, or for each reason the number of parts and the nearest of them. A part counts once, for its
    nearest miss, and not at all if it is a choice in another precision. `losses` begin with the nearest misses."""
    servers = [loss.server for loss in losses] + [tuple(row[name] for name in SERVER) for row in kept]
    if len(losses) <= SAID_LINES:
        return [f"{named(loss.server, servers)}: {loss.reason}: {loss.detail}" for loss in losses]
    counted = {(row["model"], row["hardware"]) for row in kept}
    first: list[Loss] = []
    for loss in losses:
        if loss.server[:2] not in counted:
            counted.add(loss.server[:2])
            first.append(loss)
    found = [f"why others lost (--lost lists {len(losses)} servers with the numbers that decided):"]
    for reason, of_reason in groupby(first, key=lambda loss: loss.reason):
        group = list(of_reason)
        nearest = ", ".join(f"{named(loss.server, servers)} ({loss.short or loss.detail})" for loss in group[:SAID_NEAREST])
        found.append(f"- {reason}: {len(group)} part{'s' if len(group) > 1 else ''}{', the nearest' if len(group) > SAID_NEAREST else ':'} {nearest}")
    return found


def table(losses: Sequence[Loss]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return columns and rows of a table of losses, without the columns of the server that tell no two rows apart."""
    keys = [i for i, name in enumerate(SERVER) if name in ("model", "hardware", "backend", "precision")]
    if len({tuple(loss.server[i] for i in keys) for loss in losses}) < len(losses):
        keys = list(range(len(SERVER)))
    rows = [(*(loss.server[i] for i in keys), loss.reason, loss.detail) for loss in losses]
    return (*(SERVER[i] for i in keys), "reason", "detail"), rows
