"""The choice of part, split over devices, precision and batch that serves requests within limits.

With a given request rate, the smallest number of equal servers that meets both limits shares the requests equally, and `load` computes the
load of each server. Without a rate, one server runs at the largest batch within the limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..quantities import quantity, size
from . import lost
from .load import Curve, Load, Server, at_rate
from .lost import Loss, weight

COLUMNS = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "split", "device_count", "replicas", "devices",
    "batch", "context", "ttft_s", "tpot_s", "price_usd_per_hour", "price_kind", "million_output_tokens_usd", "saturated_million_tokens_usd",
    "requests_per_s", "tokens_per_s", "step_limit", "weight_byte", "kv_cache_byte", "peak_memory_byte", "is_simulated",
)  # fmt: skip

TEXTS = {
    "replicas": "Number of equal servers that share the requests.",
    "devices": "Number of devices of all servers.",
    "requests_per_s": "Rate of requests of all servers. [1/s]",
    "ttft_s": "Mean time to the first token under this rate; without a rate that of a request that arrives alone. [s]",
    "tpot_s": "Mean time per later token, with the prompts of others. [s]",
    "tokens_per_s": "Output tokens of all servers per second. [1/s]",
    "price_usd_per_hour": "Price of all devices, also idle ones; null when unknown. [USD/h]",
    "price_kind": "Kind of the price: `rent`, or `owned` if derived from a list price; null without a price.",
    "million_output_tokens_usd": "Price of all devices while they generate a million tokens at this rate, prompts and idle time included. [USD]",
    "saturated_million_tokens_usd": "The same at the largest rate within the limit on the time per token. [USD]",
}
"""Descriptions of columns that `serving_split` lacks, or has for one server."""

MOST_REPLICAS = 512
"""Largest number of servers tried for a rate: the number is doubled, then bisected."""

READ = (
    *(name for name in COLUMNS if name not in TEXTS),
    "tokens_per_s", "million_tokens_usd", "phase", "samples", "latency_s", "pass_s", "data", "device_byte", "free_byte",
)  # fmt: skip
"""Columns of `serving_split` that a choice needs."""

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
    """Largest price of all devices. [USD/h]"""


@dataclass(frozen=True, slots=True)
class Found:
    """Choices within limits, the cheapest first, and the reasons why other servers are not among them."""

    choices: list[dict[str, Any]]
    lost: list[Loss]
    """Lost servers, those that missed the least first."""

    def columns(self) -> tuple[str, ...]:
        """Return the columns of choices. Without a rate, servers are saturated anyway."""
        is_saturated = all(choice["million_output_tokens_usd"] == choice["saturated_million_tokens_usd"] for choice in self.choices)
        return tuple(name for name in COLUMNS if not (is_saturated and name == "saturated_million_tokens_usd"))

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows of choices."""
        return [tuple(choice[name] for name in self.columns()) for choice in self.choices]


def chosen(rows: Sequence[Record], limits: Limits, kinds: Mapping[str, str | None] | None = None) -> Found:
    """Find the cheapest choice of each server, and leave out those that another beats in dollars, devices and both times. `rows` are rows of
    `serving_split`: decode steps at several batches, and the prefill of one prompt. `kinds` are the kinds of the parts' prices."""
    servers: dict[tuple[Any, ...], list[Record]] = {}
    for row in rows:
        servers.setdefault(tuple(row[name] for name in lost.SERVER), []).append(row)
    losses: list[Loss] = []
    best: list[dict[str, Any]] = []
    for server, of_server in sorted(servers.items(), key=lambda pair: str(pair[0])):
        outcome = _cheapest(of_server, limits)
        if isinstance(outcome, Loss):
            losses.append(outcome)
        else:
            best.append(outcome | {"price_kind": (kinds or {}).get(server[1])})
    best.sort(key=lambda c: (weight(c, lost.COST), c["devices"], c["tpot_s"]))
    front = [choice for choice in best if not any(lost.beats(other, choice) for other in best)]
    for choice in best:
        if better := next((other for other in front if lost.beats(other, choice)), None):
            losses.append(lost.beaten(choice, better, servers))
    return Found(front, sorted(losses, key=lambda loss: (lost.KINDS.index(loss.reason), loss.miss, str(loss.server))))


def _cheapest(rows: Sequence[Record], limits: Limits) -> dict[str, Any] | Loss:
    """Return the cheapest choice among the splits of a server, or its loss."""
    server = tuple(rows[0][name] for name in lost.SERVER)
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
        return _not_fitting(server, rows)
    tried = [one for of_split, prompt in pairs if (one := _Tried.of(of_split, prompt, limits)) is not None]
    choice: dict[str, Any] | None = None
    for one in sorted(tried, key=lambda one: one.bound):
        if choice is not None and _order(one.best) > _order(choice):
            continue
        other = one.choice(limits)
        if other is not None and (choice is None or _order(other) < _order(choice)):
            choice = other
    if choice is None:
        return _why_none(server, pairs, limits)
    usd = choice["price_usd_per_hour"]
    if limits.usd_per_hour is not None and (usd is None or usd > limits.usd_per_hour):
        return Loss(server, lost.BUDGET, "its price is unknown" if usd is None else quantity(usd, "USD/h"), float("inf") if usd is None else usd)
    return choice


def _not_fitting(server: tuple[Any, ...], rows: Sequence[Record]) -> Loss:
    """Tell by how much the split that comes nearest exceeds the memory of a device."""
    known = [row for row in rows if row["latency_s"] is None and row["free_byte"] is not None and row["device_byte"]]
    least = max(known, key=lambda row: row["free_byte"] / row["device_byte"], default=None)
    if least is None:
        return Loss(server, lost.FIT, "its memory is unknown", float("inf"))
    where = "a device" if least["device_count"] == 1 else f"each of {least['device_count']} devices"
    told = f"{size(-least['free_byte'])} too much on {where} of {size(least['device_byte'])}"
    return Loss(server, lost.FIT, told, -least["free_byte"] / least["device_byte"])


def _why_none(server: tuple[Any, ...], pairs: Sequence[tuple[list[Record], Record]], limits: Limits) -> Loss:
    """Tell why no split of a server is within the limits, with its number."""
    step_s = min(of_split[0]["latency_s"] for of_split, _ in pairs)
    first_s = min(prompt["latency_s"] for _, prompt in pairs)
    if limits.tpot_s is not None and step_s > limits.tpot_s:
        return Loss(server, lost.TPOT, f"{quantity(step_s, 's')} a token", step_s)
    if limits.ttft_s is not None and first_s > limits.ttft_s:
        return Loss(server, lost.TTFT, f"{quantity(first_s, 's')} to the first token", first_s)
    return Loss(server, lost.RATE, f"up to {MOST_REPLICAS} servers were tried", step_s)


def _order(choice: Record) -> tuple[float, ...]:
    return tuple(weight(choice, name) for name in lost.WEIGHED)


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
        best = _record(allowed[0], fewest, rate, first_s, allowed[0]["latency_s"], limits.output, server.capacity)
        return cls(allowed, server, fewest, best, _order(best))

    def choice(self, limits: Limits) -> dict[str, Any] | None:
        """Find the smallest number of servers that meets the limits. Return None if no number does."""
        widest, server = self.allowed[-1], self.server
        if limits.rate is None:
            return _record(widest, 1, server.capacity, server.first_s, widest["latency_s"], limits.output, server.capacity)
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
        return _record(running, high, limits.rate, found.first_s or 0.0, found.step_s, limits.output, server.capacity)

    def _load(self, replicas: int, limits: Limits) -> Load | None:
        """Compute the load of each of `replicas` servers. Return None if the load exceeds a limit."""
        found = at_rate(self.server, (limits.rate or 0.0) / replicas)
        is_kept = (
            not found.is_saturated and found.first_s is not None
            and (limits.ttft_s is None or found.first_s <= limits.ttft_s)
            and (limits.tpot_s is None or found.step_s <= limits.tpot_s)
        )  # fmt: skip
        return found if is_kept else None


def _record(row: Record, replicas: int, rate: float, ttft_s: float, tpot_s: float, output: int, capacity: float) -> dict[str, Any]:
    """Make the row of a choice. The price covers all devices, also idle ones; `capacity` is the largest rate of one server."""
    per_s = None if row["million_tokens_usd"] is None else row["million_tokens_usd"] / 1e6 * row["tokens_per_s"]
    return {
        **{name: row[name] for name in COLUMNS if name in row},
        "batch": row["samples"], "replicas": replicas, "devices": replicas * row["device_count"], "requests_per_s": rate,
        "ttft_s": ttft_s, "tpot_s": tpot_s, "tokens_per_s": rate * output,
        "price_usd_per_hour": None if per_s is None else per_s * replicas * 3600.0,
        "million_output_tokens_usd": None if per_s is None else per_s * replicas / (rate * output) * 1e6,
        "saturated_million_tokens_usd": None if per_s is None else per_s / (capacity * output) * 1e6,
    }  # fmt: skip
