"""Which parts, degrees, precision and batch serve requests within limits, from steps and prompts that are known.

A replica is as many devices as share each kernel. Under a rate, as few replicas as keep both limits take equal shares of the
requests, and `load` says how each runs; without a rate one replica runs at the largest batch within the limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .load import Curve, Server, at_rate

COLUMNS = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "device_count", "replicas", "devices", "batch",
    "context", "requests_per_s", "ttft_s", "tpot_s", "step_limit", "tokens_per_s", "million_tokens_usd", "peak_memory_byte",
    "is_simulated",
)  # fmt: skip

MOST_REPLICAS = 512
"""Replicas up to which a rate is tried: doubled, then halved in between."""

_TARGET = ("model", "hardware", "backend", "engine_version", "precision", "kv_precision", "device_count", "context")

Record = Mapping[str, Any]


def chosen(
    steps: Sequence[Record], output: int, rate: float | None, ttft: float | None, tpot: float | None
) -> list[tuple[Any, ...]]:
    """The choices that no other beats in devices, dollars, time to first token and time per token, the cheapest first; `steps` are
    rows of `llm_serving`."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for row in steps:
        if row["tpot_s"] is not None and row["ttft_s"] is not None:
            groups.setdefault(tuple(row[name] for name in _TARGET), []).append(row)
    found = [choice for rows in groups.values() for choice in _choices(sorted(rows, key=_batch), output, rate, ttft, tpot)]
    front = [choice for choice in found if not any(_beats(other, choice) for other in found)]
    front.sort(key=lambda c: (c["million_tokens_usd"] is None, c["million_tokens_usd"] or 0.0, c["devices"], c["tpot_s"]))
    return [tuple(choice[name] for name in COLUMNS) for choice in front]


def _batch(row: Record) -> int:
    return int(row["batch"])


def _choices(
    rows: Sequence[Record], output: int, rate: float | None, ttft: float | None, tpot: float | None
) -> Iterator[dict[str, Any]]:
    """The choice of a target, or none."""
    allowed = [row for row in rows if tpot is None or row["tpot_s"] <= tpot]
    if not allowed or rows[0]["batch"] != 1:
        return
    prompt_s, widest = rows[0]["ttft_s"], allowed[-1]
    curve = Curve([float(row["batch"]) for row in allowed], [row["tpot_s"] for row in allowed])
    server = Server(curve, float(max(output - 1, 1)), prompt_s, prompt_s, float(widest["batch"]))
    if rate is None:
        if ttft is None or prompt_s <= ttft:
            yield _record(widest, 1, server.rate(widest["batch"]), prompt_s, widest["tpot_s"], output)
        return

    def load(replicas: int) -> Any:
        found = at_rate(server, rate / replicas)
        is_kept = (
            not found.is_saturated and found.first_s is not None
            and (ttft is None or found.first_s <= ttft) and (tpot is None or found.step_s <= tpot)
        )  # fmt: skip
        return found if is_kept else None

    replicas = 1
    while replicas <= MOST_REPLICAS and load(replicas) is None:
        replicas *= 2
    if replicas > MOST_REPLICAS:
        return
    low, high = replicas // 2, replicas
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if load(middle) is not None else (middle, high)
    held = load(high)
    running = next((row for row in allowed if row["batch"] >= held.batch), widest)
    yield _record(running, high, rate, held.first_s, held.step_s, output)


def _record(row: Record, replicas: int, rate: float, ttft_s: float, tpot_s: float, output: int) -> dict[str, Any]:
    """Rent is that of all devices, busy or not."""
    per_s = None if row["million_tokens_usd"] is None else row["million_tokens_usd"] / 1e6 * row["tokens_per_s"]
    return {
        **{name: row[name] for name in COLUMNS if name in row},
        "replicas": replicas, "devices": replicas * row["device_count"], "requests_per_s": rate, "ttft_s": ttft_s, "tpot_s": tpot_s,
        "tokens_per_s": rate * output, "million_tokens_usd": None if per_s is None else per_s * replicas / (rate * output) * 1e6,
    }  # fmt: skip


_WEIGHED = ("devices", "million_tokens_usd", "ttft_s", "tpot_s")


def _beats(one: Record, other: Record) -> bool:
    """Whether a choice is no worse in anything and better in something; what has no price is never cheaper."""
    mine, its = ([float("inf") if c[name] is None else c[name] for name in _WEIGHED] for c in (one, other))
    return all(a <= b for a, b in zip(mine, its, strict=True)) and mine != its
