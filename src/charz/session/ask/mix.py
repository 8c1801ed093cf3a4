"""Requests of a language model that a server runs at once, and their cost, from the rows of `llm_serving`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from charz.schema.errors import CharzError, some

from ..axes import sizes

COLUMNS = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "device_count", "batch", "context", "fits_device",
    "most_requests", "request_tokens", "ttft_s", "batch_ttft_s", "tpot_s", "tokens_per_s", "device_tokens_per_s", "prompt_tokens_per_s",
    "million_prompt_tokens_usd", "million_output_tokens_usd", "million_mixed_tokens_usd", "price_kind", "token_j", "tokens_per_j",
    "peak_memory_byte", "weight_byte", "kv_cache_byte", "kv_cache_token_byte", "lasting_cache_byte", "step_limit", "mfu_fraction", "mbu_fraction",
    "is_simulated",
)  # fmt: skip

SMALLEST = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "device_count", "batch", "context", "most_requests",
    "ttft_s", "tpot_s", "tokens_per_s", "million_mixed_tokens_usd", "price_kind", "peak_memory_byte",
    "weight_byte", "kv_cache_byte", "is_simulated",
)  # fmt: skip
"""Columns of the smallest nodes."""

MADE = ("most_requests", "request_tokens", "million_mixed_tokens_usd", "price_kind")
"""Columns that `llm_serving` lacks."""

LOADS = "1,4,16,32"
"""Batches of which the smallest node has the largest that fits, unless the user names batches."""

USUAL_TOKENS = 1024
"""Tokens of a prompt, or of the context, that nobody named."""

SAID_ROWS = 12
"""Largest number of rows of which a message repeats the requests."""

_SERVER = ("model", "hardware", "backend", "engine_version", "precision", "kv_precision", "device_count")

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Mix:
    """Requests that are alike."""

    prompt: int
    """Tokens of a prompt."""
    output: int
    """Tokens generated for a request."""
    context: int
    """Tokens attended to by the step of which the time is asked."""
    tokens: int
    """Tokens that a request keeps in the cache at most."""

    @classmethod
    def of_context(cls, context: int, output: int) -> Mix:
        """Describe requests whose prompt fills the context; their answers are priced at this context."""
        return cls(context, output, context, context)

    @classmethod
    def of_prompt(cls, prompt: int, output: int) -> Mix:
        """Describe requests with a prompt and an answer: on average half of the answer is in the cache."""
        return cls(prompt, output, prompt + output // 2, prompt + output)


def mixes(prompts: Sequence[int], contexts: Sequence[int], output: int) -> list[Mix]:
    """Return the requests that a question asks about. Raise `CharzError` if both lengths are given."""
    if prompts and contexts:
        raise CharzError("two lengths", "--prompt and --context", next="give one: with --prompt the context follows from --output")
    if prompts:
        return [Mix.of_prompt(prompt, output) for prompt in prompts]
    return [Mix.of_context(context, output) for context in contexts or [USUAL_TOKENS]]


def runs(mix: Mix, batches: Sequence[int], together: Collection[int] | None = None) -> list[dict[str, Any]]:
    """Return the runs that answer for a mix: steps of each batch, a prompt alone, as many prompts as each batch or `together` names, and a step at the
    longest context."""
    counts = sorted({1, *(batches if together is None else together)})
    prompts = [{"batch": count, "phase": "prefill", "sequence": mix.prompt, "context": mix.prompt} for count in counts]
    steps = [{"batch": batch, "phase": "decode", "sequence": None, "context": mix.context} for batch in batches]
    last = {"batch": min(batches), "phase": "decode", "sequence": None, "context": mix.tokens}
    return [*prompts, *steps, *([] if mix.context == mix.tokens else [last])]


def priced(rows: Sequence[Record], largest: Mapping[tuple[int, str], int | None], mix: Mix, batches: Sequence[int]) -> list[dict[str, Any]]:
    """Add the number of requests that fit at once, and the cost of a mix, to the rows of steps. `largest` gives the largest batch by
    scenario and part."""
    most = {
        _server(row): largest.get((row["scenario_id"], row["hardware"]))
        for row in rows
        if row["context"] == mix.tokens
    }
    return [
        {
            **row, "most_requests": most.get(_server(row)), "request_tokens": mix.tokens,
            "million_mixed_tokens_usd": mixed_usd(row["million_prompt_tokens_usd"], row["million_output_tokens_usd"], mix),
        }
        for row in rows
        if row["context"] == mix.context and row["batch"] in batches and row["prompt_tokens"] in (mix.prompt, None)
    ]  # fmt: skip


def mixed_usd(prompt_usd: float | None, output_usd: float | None, mix: Mix) -> float | None:
    """Return the cost of a million tokens, of which prompts and answers have the shares that a request gives them. [USD]"""
    if prompt_usd is None or output_usd is None:
        return None
    return (mix.prompt * prompt_usd + mix.output * output_usd) / (mix.prompt + mix.output)


def said(rows: Sequence[Record]) -> list[str]:
    """Tell for each server how many requests it runs at once."""
    lines = dict.fromkeys(
        f"{_named(row)}, {row['precision']}: "
        f"{f'at most {most:,} requests' if (most := row['most_requests']) else 'no request'} of {row['request_tokens']:,} tokens{'' if most else ' fits'}"
        for row in rows
        if row["most_requests"] is not None
    )
    return list(lines) if len(lines) <= SAID_ROWS else []


def by_load(rows: Sequence[Record], batches: Sequence[int]) -> dict[int, list[Record]]:
    """Group the rows by the largest of the batches that each server keeps at once, and at least the smallest batch."""
    groups: dict[int, list[Record]] = {}
    for row in rows:
        groups.setdefault(max((size for size in batches if size <= (row["most_requests"] or 0)), default=min(batches)), []).append(row)
    return groups


def server(row: Record) -> tuple[Any, ...]:
    """Return what tells a row of a server from others: the server, its devices, the context and the power limit."""
    return (*(row[name] for name in _SERVER), row["context"], row.get("power"))


def is_tight(row: Record) -> bool:
    """Return True if a server keeps at most one request at its full length, which leaves no margin."""
    most = row.get("most_requests")
    return most is not None and most <= 1


def tight(rows: Sequence[Record], is_loaded: bool) -> list[str]:
    """Tell the batch of the smallest nodes, and which of them leave no margin."""
    tried = ", ".join(map(str, sizes(LOADS)))
    lines = [f"batch: the largest of {tried} that the node runs, at which its costs are; --batch names another"] if is_loaded else []
    named = [f"{_named(row)} in {row['precision']} (at most {row['most_requests']} of {row['request_tokens']:,} tokens)" for row in rows if is_tight(row)]
    return [*lines, *([f"no margin, so last in order: {some(named, 3)}; the next number of devices has one"] if named else [])]


def smallest(rows: Sequence[Record]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of the fewest devices that fit, for each server and batch, and tell which servers fit on no number of devices."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for row in rows:
        server = tuple(row[name] for name in _SERVER if name != "device_count")
        groups.setdefault((*server, row["batch"], row["context"], row.get("power")), []).append(row)
    found, left = [], []
    for of_server in groups.values():
        fitting = [row for row in of_server if row["fits_device"]]
        if fitting:
            found.append(dict(min(fitting, key=lambda row: row["device_count"])))
        else:
            left.append(max(of_server, key=lambda row: row["device_count"]))
    if len(left) <= SAID_ROWS:
        told = [f"{_named(row)}, {row['precision']}, batch {row['batch']}: does not fit" for row in left]
    else:
        parts = sorted({str(row["hardware"]) for row in left})
        told = [f"does not fit: {len(parts)} parts, among them {', '.join(parts[:3])}; --on names those that you mean"]
    return found, told


def _named(row: Record) -> str:
    return str(row["hardware"]) if row["device_count"] == 1 else f"{row['device_count']} {row['hardware']}"


def _server(row: Record) -> tuple[Any, ...]:
    return (*(row[name] for name in _SERVER), row.get("power"))
