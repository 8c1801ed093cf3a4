"""Splits of a server on a part, and the smallest number of equal servers that meets limits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from charz.schema.errors import some

from ..quantities import quantity
from . import lost, splits
from .load import Curve, Load, Server, at_rate
from .lost import HIGH_LOAD, Loss, order
from .server_rows import prompt_times

COLUMNS = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "split", "device_count", "replicas", "devices",
    "batch", "slots", "context", "load_fraction", "ttft_s", "ttft_mean_s", "ttft_p99_s", "tpot_s", "tpot_mean_s", "tpot_p99_s",
    "price_usd_per_hour", "price_kind", "million_output_tokens_usd", "saturated_million_output_tokens_usd", "requests_per_s", "tokens_per_s",
    "step_limit", "weight_byte", "kv_cache_byte", "peak_memory_byte", "is_simulated",
)  # fmt: skip

MEANS = {"ttft_s": "ttft_mean_s", "tpot_s": "tpot_mean_s"}
"""Columns of a time without load, and of its mean in a replayed queue."""

QUEUED = ("load_fraction", "ttft_mean_s", "ttft_p99_s", "tpot_mean_s", "tpot_p99_s")
"""Columns of a replayed queue, which there is at a rate alone."""

MOST_REPLICAS = 512
"""Largest number of servers tried for a rate: the number is doubled, then bisected."""

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
    devices: tuple[int, ...] = ()
    """Numbers of devices of all servers; empty for any."""


def crowded(choices: Sequence[Record], most_batch: int) -> list[str]:
    """Tell which choices run near their largest rate, and which of them at the largest batch of a replica that was tried."""
    lines = []
    full = [choice for choice in choices if (choice["load_fraction"] or 0.0) > HIGH_LOAD]
    if full:
        named = some([f"{choice['devices']} {choice['hardware']} in {choice['precision']} at {100 * choice['load_fraction']:.0f} %" for choice in full], 3)
        lines.append(f"above {100 * HIGH_LOAD:.0f} % of the largest rate, where waiting times grow fast: {named}; one more server leaves room")
    limited = [
        choice for choice in choices if choice["slots"] == most_batch * splits.batches(choice["split"])
        and (choice["load_fraction"] is None or choice["load_fraction"] > HIGH_LOAD)
    ]  # fmt: skip
    if limited:
        told = f"{most_batch} requests at once in a replica are the most that were tried: so many limit {len(limited)} of {len(choices)} choices"
        lines.append(f"{told}; --batch takes more")
    return lines


def over_budget(choice: Record, limits: Limits) -> Loss | None:
    """Return the loss of a choice that is dearer than the budget, or of unknown price."""
    usd = choice["price_usd_per_hour"]
    if limits.usd_per_hour is None or (usd is not None and usd <= limits.usd_per_hour):
        return None
    told = "its price is unknown" if usd is None else quantity(usd, "USD/h")
    return Loss(tuple(choice[name] for name in lost.SERVER), lost.BUDGET, told, float("inf") if usd is None else usd)


def _in_chunk(chunk: float | None, tokens: int) -> float:
    """Return the number of prompts in a full chunk: a whole one, or below 1 where a prompt takes several chunks."""
    share = 1.0 if chunk is None else chunk / tokens
    return float(int(share)) if share >= 1.0 else share


def _allowed(fewest: int, device_count: int, limits: Limits) -> int | None:
    """Return the smallest number of servers from `fewest` on that limits allow; None if they allow none."""
    if not limits.devices:
        return fewest if fewest <= MOST_REPLICAS else None
    return min((n // device_count for n in limits.devices if n % device_count == 0 and n // device_count >= fewest), default=None)


@dataclass(frozen=True, slots=True)
class Tried:
    """A split on a part."""

    allowed: list[Record]
    """Decode steps within the limit on time per token, in order of batch."""
    server: Server
    fewest: int
    """Smallest number of servers that are not saturated."""
    best: dict[str, Any]
    """Lower bounds on devices, dollars and times of the candidate."""
    bound: tuple[float, ...]

    @classmethod
    def of(cls, steps: list[Record], prompt: Record, full: Record, limits: Limits, chunks: Mapping[str, float | None]) -> Tried | None:
        """Build a candidate from its steps, a prompt alone and a full chunk of prompts. Return None if a single request already exceeds a limit."""
        allowed = [row for row in steps if limits.tpot_s is None or row["latency_s"] <= limits.tpot_s]
        first_s = prompt["latency_s"]
        if not allowed or steps[0]["batch"] != 1 or (limits.ttft_s is not None and first_s > limits.ttft_s):
            return None
        curve = Curve([float(row["samples"]) for row in allowed], [row["latency_s"] for row in allowed])
        prompt_s, chunk_s = prompt_times(prompt, full, prompt.get("launch_s", 0.0), prompt["data"])
        server = Server(
            curve, float(max(limits.output - 1, 1)), prompt_s, first_s, float(allowed[-1]["samples"]), chunk_s=chunk_s,
            most_prompts=prompt["data"] * _in_chunk(chunks.get(prompt["backend"]), prompt["context"]),
        )  # fmt: skip
        fewest = _allowed(1 if limits.rate is None else int(limits.rate / server.capacity) + 1, prompt["device_count"], limits)
        if fewest is None:
            return None
        rate = fewest * server.capacity if limits.rate is None else limits.rate
        best = _record(allowed[0], fewest, rate, first_s, allowed[0]["latency_s"], limits.output, server, allowed[-1])
        best["load_fraction"] = None if limits.rate is None else rate / (fewest * server.capacity)
        return cls(allowed, server, fewest, best, order(best))

    def choice(self, limits: Limits) -> dict[str, Any] | None:
        """Find the smallest number of servers that meets the limits. Return None if no number does."""
        if limits.rate is None:
            widest, server = self.allowed[-1], self.server
            rate = self.fewest * server.capacity
            return _record(widest, self.fewest, rate, server.first_s, widest["latency_s"], limits.output, server, widest)
        return self.at_least(self.fewest, limits)

    def at_least(self, fewest: int, limits: Limits) -> dict[str, Any] | None:
        """Find the smallest number of servers from `fewest` on that meets the limits."""
        if limits.rate is None:
            return None
        if limits.devices:
            count = self.allowed[0]["device_count"]
            numbers = sorted(n // count for n in limits.devices if n % count == 0 and n // count >= fewest)
            replicas = next((n for n in numbers if self._load(n, limits) is not None), None)
        else:
            replicas = self._fewest(fewest, limits)
        found = None if replicas is None else self._load(replicas, limits)
        if replicas is None or found is None:
            return None
        running = next((row for row in self.allowed if row["samples"] >= found.batch), self.allowed[-1])
        made = _record(running, replicas, limits.rate, found.first_s or 0.0, found.step_s, limits.output, self.server, self.allowed[-1])
        return made | {"load_fraction": limits.rate / (replicas * self.server.capacity)}

    def _fewest(self, fewest: int, limits: Limits) -> int | None:
        """Double the number of servers until they meet the limits, then bisect."""
        low, high = fewest - 1, fewest
        while high <= MOST_REPLICAS and self._load(high, limits) is None:
            low, high = high, 2 * high
        if high > MOST_REPLICAS:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._load(middle, limits) is None else (low, middle)
        return high

    def _load(self, replicas: int, limits: Limits) -> Load | None:
        """Compute the load of each of `replicas` servers. Return None if the load exceeds a limit."""
        found = at_rate(self.server, (limits.rate or 0.0) / replicas)
        is_kept = (
            not found.is_saturated and found.first_s is not None
            and (limits.ttft_s is None or found.first_s <= limits.ttft_s)
            and (limits.tpot_s is None or found.step_s <= limits.tpot_s)
        )  # fmt: skip
        return found if is_kept else None


MEMORY = ("weight_byte", "kv_cache_byte", "peak_memory_byte")
"""Memory of a device, which a server reserves for as many requests as its slots."""


def _record(
    row: Record, replicas: int, rate: float, ttft_s: float, tpot_s: float, output: int, server: Server, widest: Record
) -> dict[str, Any]:
    """Make the row of a choice, whose memory is that of the `widest` step. The price covers all devices, also idle ones."""
    per_s = None if row["million_tokens_usd"] is None else row["million_tokens_usd"] / 1e6 * row["tokens_per_s"]
    return {
        **{name: (widest if name in MEMORY else row)[name] for name in COLUMNS if name in row},
        "batch": row["samples"], "slots": int(server.most), "replicas": replicas, "devices": replicas * row["device_count"], "requests_per_s": rate,
        "ttft_s": ttft_s, "tpot_s": tpot_s, "tokens_per_s": rate * output, **dict.fromkeys(QUEUED),
        "price_usd_per_hour": None if per_s is None else per_s * replicas * 3600.0,
        "million_output_tokens_usd": None if per_s is None else per_s * replicas / (rate * output) * 1e6,
        "saturated_million_output_tokens_usd": None if per_s is None else per_s / (server.capacity * output) * 1e6,
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Splits:
    """Splits of a server on a part."""

    server: tuple[Any, ...]
    """Values of `lost.SERVER`."""
    tried: Sequence[Tried]
    """Splits within the limits without load."""
    none: Loss
    """Loss of the server if no split meets the limits at the rate."""
    price_kind: str | None = None
    fits_alone: bool = False
    """True if one device has room for a request."""

    @property
    def alone(self) -> Tried | None:
        """Split of one device within the limits; None if the limits leave it out."""
        return next((one for one in self.tried if one.allowed[0]["device_count"] == 1), None)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A choice of a server, and its split."""

    choice: dict[str, Any]
    tried: Tried
    of: Splits


def replayed(row: Mapping[str, Any], degrees: Mapping[str, Mapping[str, int]], limits: Limits, prompt: int, named: Collection[str]) -> str:
    """Return the command that replays the arrivals of a choice at length. It repeats the options `named` by the user,
    of which a stated rent is `PART=USD`."""
    split = degrees[row["split"]]
    given = "".join(f" --{name} {split[name]}" for name in ("tensor", "pipeline", "expert") if split[name] > 1)
    if row["replicas"] > 1:
        given = f" --devices {row['devices']} --tensor {split['tensor']}" + given.replace(f" --tensor {split['tensor']}", "")
    given += f" --slots {row['slots'] // split['expert']}"
    for option, column in (("backend", "backend"), ("version", "engine_version"), ("kv-precision", "kv_precision")):
        given += f" --{option} {row[column]}" if option in named else ""
    given += "".join(f" --rent {rent}" for rent in named if rent.partition("=")[0] == row["hardware"])
    kept = "".join(f" --{name} {value:g}s" for name, value in (("ttft", limits.ttft_s), ("tpot", limits.tpot_s)) if value is not None)
    command = f"charz serve {row['model']} --on {row['hardware']} --precision {row['precision']}{given} --rate {limits.rate:g}"
    return f"times and load: a replay of random arrivals; `{command} --input {prompt} --output {limits.output}{kept}` tells more"
