"""The choice of part, split over devices, precision and batch that serves requests within limits.

With a given request rate, the smallest number of equal servers that meets both limits shares the requests equally, and `load` computes the
load of each server. Without a rate, one server runs at the largest batch within the limits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..quantities import quantity, significant
from .load import Curve, Load, Server, at_rate

COLUMNS = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "split", "device_count", "replicas", "devices",
    "batch", "context", "requests_per_s", "ttft_s", "tpot_s", "step_limit", "tokens_per_s", "usd_per_hour", "million_tokens_usd",
    "weight_byte", "kv_cache_byte", "peak_memory_byte", "is_simulated",
)  # fmt: skip

MOST_REPLICAS = 512
"""Largest number of servers tried for a rate: the number is doubled, then bisected."""

READ = (
    *(name for name in COLUMNS if name not in ("replicas", "devices", "requests_per_s", "ttft_s", "tpot_s", "usd_per_hour")),
    "phase", "samples", "latency_s", "pass_s", "data",
)  # fmt: skip
"""Columns of `serving_split` that a choice needs."""

SAID_LINES = 24
"""Largest number of servers of which each has a line of its own."""

_SERVER = ("model", "hardware", "backend", "engine_version", "precision", "kv_precision")

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a choice."""

    output: int
    """Tokens generated per request."""
    rate: float | None = None
    """Requests per second, summed over all servers; None for one saturated server. [1/s]"""
    ttft_s: float | None = None
    tpot_s: float | None = None
    usd_per_hour: float | None = None
    """Largest rent of all devices. [USD/h]"""


@dataclass(slots=True)
class Found:
    """Choices within limits, the cheapest first, and the reasons why the other parts are not among them."""

    rows: list[tuple[Any, ...]]
    lost: dict[str, dict[str, str]]
    """Reason by server (part and precision), by kind of reason."""

    def lines(self) -> list[str]:
        """Tell why each server lost: one line a server, or one line a kind of reason if there are more than `SAID_LINES`."""
        if sum(map(len, self.lost.values())) <= SAID_LINES:
            return [f"{server}: {reason}" for of_kind in self.lost.values() for server, reason in of_kind.items()]
        return [f"{kind}: {', '.join(of_kind)}" for kind, of_kind in self.lost.items()]


def chosen(rows: Sequence[Record], limits: Limits) -> Found:
    """Find the cheapest choice of each server, and leave out those that another beats in dollars, devices and both times. `rows` are rows of
    `serving_split`: decode steps at several batches, and the prefill of one prompt."""
    servers: dict[tuple[Any, ...], list[Record]] = {}
    for row in rows:
        servers.setdefault(tuple(row[name] for name in _SERVER), []).append(row)
    found = Found([], {})
    best: dict[str, dict[str, Any]] = {}
    for server, of_server in sorted(servers.items(), key=lambda pair: str(pair[0])):
        choice, kind, reason = _cheapest(of_server, limits)
        name = _said(server, servers)
        if choice is None:
            found.lost.setdefault(kind, {})[name] = reason
        else:
            best[name] = choice
    for name, choice in best.items():
        if better := next((of for of, known in best.items() if _beats(known, choice)), None):
            found.lost.setdefault(BEATEN, {})[name] = f"{BEATEN}: {better} does the same for {_usd(best[better])} in place of {_usd(choice)}"
    front = [choice for name, choice in best.items() if name not in found.lost.get(BEATEN, {})]
    front.sort(key=lambda c: (c["million_tokens_usd"] is None, c["million_tokens_usd"] or 0.0, c["devices"], c["tpot_s"]))
    found.rows = [tuple(choice[name] for name in COLUMNS) for choice in front]
    return found


BEATEN = "no gain in cost, devices or times"
"""Kind of reason of a choice that another beats."""


def _said(server: tuple[Any, ...], servers: Collection[tuple[Any, ...]]) -> str:
    """Name a server by its part, and by what distinguishes it from other servers of the same part."""
    alike = [other for other in servers if other[1] == server[1]]
    return " ".join(str(value) for i, value in enumerate(server) if i == 1 or len({other[i] for other in alike}) > 1)


def _usd(choice: Record) -> str:
    usd = choice["million_tokens_usd"]
    return "an unknown price" if usd is None else f"{significant(usd)} USD a million tokens"


def _cheapest(rows: Sequence[Record], limits: Limits) -> tuple[dict[str, Any] | None, str, str]:
    """Return the cheapest choice among the splits of a server, or None with the kind of reason and the reason."""
    steps: dict[tuple[Any, ...], list[Record]] = {}
    prompts: dict[Any, list[Record]] = {}
    for row in rows:
        if row["latency_s"] is None:
            continue
        if row["phase"] == "decode":
            steps.setdefault((row["split"], row["context"]), []).append(row)
        elif row["batch"] == 1:
            prompts.setdefault(row["split"], []).append(row)
    pairs = []
    for (split, context), of_split in steps.items():
        reached = [row for row in prompts.get(split, []) if row["context"] <= context]
        if reached:
            pairs.append((sorted(of_split, key=lambda row: row["samples"]), max(reached, key=lambda row: row["context"])))
    if not pairs:
        kind = "does not fit"
        return None, kind, f"{kind} on {max(row['device_count'] for row in rows)} devices"
    tried = [one for of_split, prompt in pairs if (one := _Tried.of(of_split, prompt, limits)) is not None]
    choice: dict[str, Any] | None = None
    for one in sorted(tried, key=lambda one: one.bound):
        if choice is not None and _order(one.best) > _order(choice):
            continue
        other = one.choice(limits)
        if other is not None and (choice is None or _order(other) < _order(choice)):
            choice = other
    if choice is None:
        return None, *_why_none(pairs, limits)
    if limits.usd_per_hour is not None and (choice["usd_per_hour"] is None or choice["usd_per_hour"] > limits.usd_per_hour):
        known = "its price is unknown" if choice["usd_per_hour"] is None else f"{significant(choice['usd_per_hour'])} USD an hour"
        return None, "above the budget", f"above the budget: {known}"
    return choice, "", ""


def _why_none(pairs: Sequence[tuple[list[Record], Record]], limits: Limits) -> tuple[str, str]:
    """Return the kind of reason why no split of a server is within the limits, and the reason with its number."""
    step_s = min(of_split[0]["latency_s"] for of_split, _ in pairs)
    first_s = min(prompt["latency_s"] for _, prompt in pairs)
    if limits.tpot_s is not None and step_s > limits.tpot_s:
        return "TPOT above the limit at batch 1", f"TPOT {quantity(step_s, 's')} at batch 1"
    if limits.ttft_s is not None and first_s > limits.ttft_s:
        return "TTFT above the limit without load", f"TTFT {quantity(first_s, 's')} without load"
    return "above the limits under this rate", f"above the limits under this rate with {MOST_REPLICAS} servers"


def _order(choice: Record) -> tuple[float, ...]:
    return tuple(_weight(choice, name) for name in _WEIGHED)


@dataclass(frozen=True, slots=True)
class _Tried:
    """A candidate split on a part."""

    allowed: list[Record]
    """Decode steps within the limit on time per token, in order of batch."""
    server: Server
    fewest: int
    """Smallest number of servers that are not saturated."""
    best: dict[str, Any]
    """Lower bounds on devices, dollars and times of the candidate."""
    bound: tuple[float, ...]

    @classmethod
    def of(cls, steps: list[Record], prompt: Record, limits: Limits) -> _Tried | None:
        """Build a candidate. Return None if a single request already exceeds a limit."""
        allowed = [row for row in steps if limits.tpot_s is None or row["latency_s"] <= limits.tpot_s]
        first_s = prompt["latency_s"]
        if not allowed or steps[0]["batch"] != 1 or (limits.ttft_s is not None and first_s > limits.ttft_s):
            return None
        curve = Curve([float(row["samples"]) for row in allowed], [row["latency_s"] for row in allowed])
        prompt_s = prompt["pass_s"] / prompt["data"]
        server = Server(curve, float(max(limits.output - 1, 1)), prompt_s, first_s, float(allowed[-1]["samples"]))
        fewest = 1 if limits.rate is None else int(limits.rate / server.capacity) + 1
        if fewest > MOST_REPLICAS:
            return None
        rate = server.capacity if limits.rate is None else limits.rate
        best = _record(allowed[0], fewest, rate, first_s, allowed[0]["latency_s"], limits.output)
        return cls(allowed, server, fewest, best, tuple(_weight(best, name) for name in _WEIGHED))

    def choice(self, limits: Limits) -> dict[str, Any] | None:
        """Find the smallest number of servers that meets the limits. Return None if no number does."""
        widest, server = self.allowed[-1], self.server
        if limits.rate is None:
            return _record(widest, 1, server.capacity, server.first_s, widest["latency_s"], limits.output)
        high, found = self.fewest, self._load(self.fewest, limits)
        while found is None:
            high *= 2
            if high > MOST_REPLICAS:
                return None
            found = self._load(high, limits)
        low = max(self.fewest - 1, high // 2)
        while high - low > 1:
            middle = (low + high) // 2
            load = self._load(middle, limits)
            low, high, found = (middle, high, found) if load is None else (low, middle, load)
        running = next((row for row in self.allowed if row["samples"] >= found.batch), widest)
        return _record(running, high, limits.rate, found.first_s or 0.0, found.step_s, limits.output)

    def _load(self, replicas: int, limits: Limits) -> Load | None:
        """Compute the load of each of `replicas` servers. Return None if the load exceeds a limit."""
        found = at_rate(self.server, (limits.rate or 0.0) / replicas)
        is_kept = (
            not found.is_saturated and found.first_s is not None
            and (limits.ttft_s is None or found.first_s <= limits.ttft_s)
            and (limits.tpot_s is None or found.step_s <= limits.tpot_s)
        )  # fmt: skip
        return found if is_kept else None


def _record(row: Record, replicas: int, rate: float, ttft_s: float, tpot_s: float, output: int) -> dict[str, Any]:
    """Make the row of a choice. The rent covers all devices, also idle ones."""
    per_s = None if row["million_tokens_usd"] is None else row["million_tokens_usd"] / 1e6 * row["tokens_per_s"]
    return {
        **{name: row[name] for name in COLUMNS if name in row},
        "batch": row["samples"], "replicas": replicas, "devices": replicas * row["device_count"], "requests_per_s": rate,
        "ttft_s": ttft_s, "tpot_s": tpot_s, "tokens_per_s": rate * output,
        "usd_per_hour": None if per_s is None else per_s * replicas * 3600.0,
        "million_tokens_usd": None if per_s is None else per_s * replicas / (rate * output) * 1e6,
    }  # fmt: skip


_WEIGHED = ("million_tokens_usd", "devices", "tpot_s", "ttft_s")


def _weight(choice: Record, name: str) -> float:
    """Return a number to minimize, without the digits that differ with the order of a sum; a missing price counts as infinite."""
    return float("inf") if choice[name] is None else float(f"{choice[name]:.9g}")


def _beats(one: Record, other: Record) -> bool:
    """Return True if `one` dominates `other`: no number is worse and at least one is better."""
    mine, its = ([_weight(c, name) for name in _WEIGHED] for c in (one, other))
    return all(a <= b for a, b in zip(mine, its, strict=True)) and mine != its
