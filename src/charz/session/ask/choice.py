"""The choice of part, split over devices, precision and batch that serves requests within limits.

With a given request rate, the smallest number of equal servers that meets both limits shares the requests equally, and `load` computes the
load of each server. Without a rate, one server runs at the largest batch within the limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .load import Curve, Load, Server, at_rate

COLUMNS = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "split", "device_count", "replicas", "devices",
    "batch", "context", "requests_per_s", "ttft_s", "tpot_s", "step_limit", "tokens_per_s", "million_tokens_usd",
    "peak_memory_byte", "is_simulated",
)  # fmt: skip

MOST_REPLICAS = 512
"""Largest number of servers tried for a rate: the number is doubled, then bisected."""

_TARGET = ("model", "hardware", "backend", "engine_version", "precision", "kv_precision", "split", "context")

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


def chosen(rows: Sequence[Record], limits: Limits) -> list[tuple[Any, ...]]:
    """Return the Pareto front in devices, dollars, time to first token and time per token, the cheapest choice first. `rows` are rows of
    `serving_split`: decode steps at several batches, and the prefill of one prompt."""
    steps: dict[tuple[Any, ...], list[Record]] = {}
    prompts: dict[tuple[Any, ...], Record] = {}
    for row in rows:
        target = tuple(row[name] for name in _TARGET)
        if row["latency_s"] is None:
            continue
        if row["phase"] == "decode":
            steps.setdefault(target, []).append(row)
        elif row["batch"] == 1:
            prompts[target] = row
    tried = [
        _Tried.of(sorted(found, key=lambda row: row["samples"]), prompts[target], limits)
        for target, found in steps.items()
        if target in prompts
    ]
    front: list[dict[str, Any]] = []
    for one in sorted((one for one in tried if one is not None), key=lambda one: one.bound):
        if any(_beats(known, one.best) for known in front):
            continue
        choice = one.choice(limits)
        if choice is not None and not any(_beats(known, choice) for known in front):
            front = [known for known in front if not _beats(choice, known)] + [choice]
    front.sort(key=lambda c: (c["million_tokens_usd"] is None, c["million_tokens_usd"] or 0.0, c["devices"], c["tpot_s"]))
    return [tuple(choice[name] for name in COLUMNS) for choice in front]


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
        "million_tokens_usd": None if per_s is None else per_s * replicas / (rate * output) * 1e6,
    }  # fmt: skip


_WEIGHED = ("million_tokens_usd", "devices", "tpot_s", "ttft_s")


def _weight(choice: Record, name: str) -> float:
    """Return a number to minimize; a missing price counts as infinite."""
    return float("inf") if choice[name] is None else float(choice[name])


def _beats(one: Record, other: Record) -> bool:
    """Return True if `one` dominates `other`: no number is worse and at least one is better."""
    mine, its = ([_weight(c, name) for name in _WEIGHED] for c in (one, other))
    return all(a <= b for a, b in zip(mine, its, strict=True)) and mine != its
