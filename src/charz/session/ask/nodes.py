"""Servers of a language model on several nodes: tensor parallel inside a node, and a pipeline from node to node over the network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..question import Question
from . import mix, prices, server_rows, splits
from .lost import SERVER

if TYPE_CHECKING:
    from ..core import Core

PIPELINES = (2, 4)
"""Numbers of nodes that are tried for a server that no node keeps."""

_OWN = ("batch", "phase", "sequence", "context", "device_count")
"""Fields of a run that an answer for several nodes states anew."""

_READ = (
    *SERVER, "split", "tensor", "pipeline", "device_count", "phase", "batch", "context", "sequence", "latency_s", "million_tokens_usd", "tokens_per_s",
    "token_j", "free_byte", "peak_memory_byte", "weight_byte", "kv_cache_byte", "price_usd_per_hour", "step_limit", "is_simulated",
)  # fmt: skip

Record = Mapping[str, Any]


def spread(
    session: Core, question: Question, left: Sequence[Record], asked: Sequence[mix.Mix], batches: Sequence[int], is_loaded: bool
) -> tuple[list[dict[str, Any]], list[Record]]:
    """Answer for servers that no node keeps, on the fewest nodes of `PIPELINES` that do, and return the servers that none of them keeps. `left` are
    their rows on the most devices of a node. A server `is_loaded` with the largest of the batches that it keeps; else it gets each of them."""
    sizes = prices.node_sizes(session.connection())
    tensors = {row["hardware"]: min(row["device_count"], sizes.get(row["hardware"], sizes["*"])) for row in left}
    if not left or question.caps:
        return [], list(left)
    stages = sorted({-(-batch // count) for batch in batches for count in PIPELINES})
    own = {repr(kept): kept for run in question.runs for kept in [{name: value for name, value in run.items() if name not in _OWN}]}
    runs = [
        {**kept, **run, "device_count": tensor if tensor > 1 else None}
        for kept in own.values() for tensor in sorted(set(tensors.values())) for one in asked for run in _runs(one, stages, max(batches))
    ]  # fmt: skip
    unique = list({repr(run): run for run in runs}.values())
    parts = replace(question, hardware=list(tensors), precisions=sorted({row["precision"] for row in left}), runs=unique)
    made = list(splits.served(splits.Degrees(PIPELINES, [1], [1], sorted(set(tensors.values())), most=splits.MOST_STATED)))
    rows: list[dict[str, Any]] = []
    for one_build in session.by_build(parts):
        scoped = session.asked(one_build, "serving_split")
        splits.hold(scoped, made)
        rows += scoped.records(f"SELECT {', '.join(_READ)} FROM serving_split")
    found: list[dict[str, Any]] = []
    others: list[Record] = []
    for row in left:
        key = tuple(row[name] for name in SERVER)
        own_rows = [each for each in rows if tuple(each[name] for name in SERVER) == key and each["tensor"] == tensors[row["hardware"]]]
        kept = _fewest(own_rows, [one for one in asked if one.context == row["context"]], [row["batch"]] if not is_loaded else batches, is_loaded)
        found += kept
        others += [] if kept else [{**row, "device_count": tensors[row["hardware"]] * PIPELINES[-1]}]
    return found, others


def _runs(one: mix.Mix, stages: Sequence[int], most: int) -> list[dict[str, Any]]:
    """Return the runs of a mix, and steps at the longest context of two batches, whose memory tells that of a further request. Prompts come alone, or as
    many as a stage has of the largest batch."""
    longest = [{"batch": batch, "phase": "decode", "sequence": None, "context": one.tokens} for batch in {stages[0], max(stages[-1], 2)}]
    return [*mix.runs(one, stages, {-(-most // count) for count in PIPELINES}), *longest]


def _fewest(rows: Sequence[Record], asked: Sequence[mix.Mix], batches: Sequence[int], is_loaded: bool) -> list[dict[str, Any]]:
    """Return the rows of a server on the fewest nodes that keep a request of each mix; none if no number of nodes does."""
    for count in PIPELINES:
        of_split = [row for row in rows if row["pipeline"] == count]
        found = [list(_served(of_split, one, batches, is_loaded)) for one in asked]
        if found and all(found):
            return [row for of_mix in found for row in of_mix]
    return []


def _served(rows: Sequence[Record], one: mix.Mix, batches: Sequence[int], is_loaded: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of a split for a mix, at each batch that it keeps, or at the largest one if it `is_loaded`.

    A stage has its share of the batch. A request waits for all stages in each step, so as many requests as the batch generate a token in the time
    of a step.
    """
    steps = {row["batch"]: row for row in rows if row["phase"] == "decode" and row["context"] == one.context}
    prompts = {row["batch"]: row for row in rows if row["phase"] == "prefill" and row["sequence"] == one.prompt}
    longest = {row["batch"]: row["free_byte"] for row in rows if row["phase"] == "decode" and row["context"] == one.tokens}
    most, _ = server_rows.largest_of(longest)
    if not most or 1 not in prompts or prompts[1]["latency_s"] is None:
        return
    stages = prompts[1]["pipeline"]
    kept = [batch for batch in batches if batch <= most * stages]
    for batch in kept[-1:] if is_loaded else kept:
        step = steps.get(-(-batch // stages))
        if step is None or step["latency_s"] is None:
            continue
        prompt = max((row for row in prompts.values() if row["latency_s"] is not None and row["batch"] <= step["batch"]), key=lambda row: row["batch"])
        tokens_per_s = batch / step["latency_s"]
        per_s = None if step["price_usd_per_hour"] is None else step["price_usd_per_hour"] * step["device_count"] / 3600.0
        decode_usd = None if per_s is None else per_s / tokens_per_s * 1e6
        yield {
            **{name: step[name] for name in (*SERVER, "split", "device_count", "weight_byte", "kv_cache_byte", "step_limit", "is_simulated")},
            "batch": batch, "context": one.context, "fits_device": True, "most_requests": most * stages, "request_tokens": one.tokens,
            "ttft_s": prompts[1]["latency_s"], "tpot_s": step["latency_s"], "tokens_per_s": tokens_per_s, "million_decode_tokens_usd": decode_usd,
            "million_mixed_tokens_usd": mix.mixed_usd(prompt["million_tokens_usd"], decode_usd, one),
            "peak_memory_byte": max(step["peak_memory_byte"], prompt["peak_memory_byte"]),
        }  # fmt: skip
