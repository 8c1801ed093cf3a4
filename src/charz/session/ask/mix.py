"""Requests of a language model that a server runs at once, and their cost, from the rows of `llm_serving`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from charz.schema.errors import CharzError, some

from ..axes import sizes
from ..quantities import quantity, significant

COLUMNS = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "device_count", "batch", "context", "fits_device",
    "most_requests", "request_tokens", "ttft_s", "batch_ttft_s", "tpot_s", "tokens_per_s", "device_tokens_per_s", "prompt_tokens_per_s",
    "million_prompt_tokens_usd", "million_decode_tokens_usd", "million_mixed_tokens_usd", "price_kind", "token_j", "tokens_per_j",
    "peak_memory_byte", "weight_byte", "kv_cache_byte", "kv_cache_token_byte", "lasting_cache_byte", "step_limit", "mfu_fraction", "mbu_fraction",
    "is_simulated",
)  # fmt: skip

SMALLEST = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "device_count", "split", "nodes", "price_usd_per_hour",
    "whole_usd_per_hour", "batch", "context", "most_requests", "ttft_s", "tpot_s", "tokens_per_s", "million_mixed_tokens_usd", "price_kind", "peak_memory_byte",
    "weight_byte", "kv_cache_byte", "is_simulated",
)  # fmt: skip
"""Columns of the smallest nodes."""

MADE = ("most_requests", "request_tokens", "million_mixed_tokens_usd", "price_kind", "split", "nodes", "price_usd_per_hour", "whole_usd_per_hour")
"""Columns that `llm_serving` lacks."""

TEXTS = {
    "split": "Devices of the server: tp share each kernel, pp are stages of layers, of which each node has one.",
    "price_usd_per_hour": "Price of these devices, of which the costs are: their share of a node. [USD/h]",
    "whole_usd_per_hour": "Price of the whole nodes that these devices are part of, where the part is sold in nodes. [USD/h]",
    "nodes": "Share of a node that is sold whole, or the number of nodes; null for fewer devices of a part that is sold alone.",
}
"""Descriptions of columns of the smallest nodes."""

MEANT = (
    "a decode step generates one token for each sample of the batch",
    "compare by million mixed tokens cost first: a request's prompt and output together at this batch, all of the time busy; the costs of prompt tokens,"
    " and of output tokens in decode alone, are its parts; --rate adds idle time",
)
"""Sentences about the numbers of an answer."""

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
            "million_mixed_tokens_usd": mixed_usd(row["million_prompt_tokens_usd"], row["million_decode_tokens_usd"], mix),
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
    lines = [f"batch: the largest of {tried} that these devices run, at which the costs are; --batch names another"] if is_loaded else []
    named = [f"{_named(row)} in {row['precision']} (at most {row['most_requests']} of {row['request_tokens']:,} tokens)" for row in rows if is_tight(row)]
    return [*lines, *([f"no margin, so last in order: {some(named, 3)}; the next number of devices has one"] if named else [])]


def smallest(rows: Sequence[Record]) -> tuple[list[dict[str, Any]], list[Record]]:
    """Return the rows of the fewest devices that fit, for each server and batch, and the largest rows of those that fit no number of devices."""
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
    return found, left


def apart(rows: Sequence[Record]) -> list[str]:
    """Compare for each server one of the most devices with as many servers of one device: at the largest batch, each has an equal share of the
    requests if that batch was asked for, else the same batch."""
    groups: dict[tuple[Any, ...], dict[tuple[int, int], Record]] = {}
    for row in rows:
        if row.get("tokens_per_s"):
            kept = tuple(row[name] for name in _SERVER if name != "device_count")
            groups.setdefault((*kept, row["context"], row.get("power")), {})[row["device_count"], row["batch"]] = row
    lines = []
    for of_server in groups.values():
        count = max(devices for devices, _ in of_server)
        if count == 1:
            continue
        pairs = [(one, of_server.get((count, count * batch)) or of_server.get((count, batch))) for (devices, batch), one in of_server.items() if devices == 1]
        known = [(one, many) for one, many in pairs if many is not None]
        if known:
            one, many = max(known, key=lambda pair: (pair[1]["batch"] == count * pair[0]["batch"], pair[0]["batch"]))
            lines.append(
                f"{one['hardware']} in {one['precision']}: {count} servers of one device at batch {one['batch']} generate"
                f" {significant(count * one['tokens_per_s'])} tokens a second ({quantity(one['tpot_s'], 's')} a token), one server of {count} at batch"
                f" {many['batch']} {significant(many['tokens_per_s'])} ({quantity(many['tpot_s'], 's')}); the price is the same"
            )
    return lines if len(lines) <= SAID_ROWS else []


def hourly(row: Record, node: int) -> dict[str, float | None]:
    """Return the price of the devices of a row, and that of the whole nodes of `node` devices that have them. [USD/h]"""
    million_usd, count = row["million_decode_tokens_usd"], row["device_count"]
    usd = None if million_usd is None or row["tokens_per_s"] is None else million_usd / 1e6 * row["tokens_per_s"] * 3600.0
    return {"price_usd_per_hour": usd, "whole_usd_per_hour": None if usd is None else usd / count * -(-count // node) * node}


def verdict(rows: Sequence[Record]) -> str:
    """Tell the cheapest row, and what its whole node costs where it has a share of one; empty without a price. Rows without a margin come last."""
    priced = [row for row in rows if row["million_mixed_tokens_usd"] is not None]
    if not priced:
        return ""
    best = min(priced, key=lambda row: (is_tight(row), row["million_mixed_tokens_usd"]))
    share, whole = (quantity(best[name], "USD/h") for name in ("price_usd_per_hour", "whole_usd_per_hour"))
    node = "" if share == whole else f" as {best['nodes']}, which is rented whole at {whole}"
    cost = f"{significant(best['million_mixed_tokens_usd'])} USD a million mixed tokens"
    return f"cheapest: {best['device_count']} x {best['hardware']}, {best['precision']}, {best['split']}: {cost}, {share}{node}"


def unfit(left: Sequence[Record]) -> list[str]:
    """Tell which servers fit on no number of devices."""
    if len(left) <= SAID_ROWS:
        return [f"{_named(row)}, {row['precision']}, batch {row['batch']}: does not fit" for row in left]
    parts = sorted({str(row["hardware"]) for row in left})
    return [f"does not fit: {len(parts)} parts, among them {', '.join(parts[:3])}; --on names those that you mean"]


def _named(row: Record) -> str:
    return str(row["hardware"]) if row["device_count"] == 1 else f"{row['device_count']} {row['hardware']}"


def _server(row: Record) -> tuple[Any, ...]:
    return (*(row[name] for name in _SERVER), row.get("power"))
