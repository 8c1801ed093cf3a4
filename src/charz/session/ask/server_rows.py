"""A server of each target, built from the rows of its steps and prompts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..quantities import size
from .load import Curve, Server

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from ..scoped import Scoped

Target = tuple[str, str, str]
"""Part, backend and precision."""
Row = dict[str, Any]

WIDEST = 8
"""Usual number of devices of a node, beyond which a pipeline is proposed."""

_RUN = ("hardware", "backend", "precision", "scenario_id")
_KIND = ("hardware", "backend", "precision", "split", "tensor", "phase", "context", "sequence")
"""Columns of runs that differ by batch alone."""


def by_target(scoped: Scoped) -> dict[Target, list[Row]]:
    """Group the rows of every run by target: times, costs, static power, memory and the largest batch."""
    added = (("model_cost", ("static_w",)), ("largest_batch", ("largest_batch", "sample_byte")))
    known = [(columns, _known(scoped, view, columns)) for view, columns in added]
    rows = []
    for row in scoped.records("SELECT * FROM target_cost"):
        run = tuple(row[name] for name in _RUN)
        for columns, values in known:
            row |= values.get(run, dict.fromkeys(columns))
        rows.append(row)
    return _grouped(scoped, rows)


def of_replicas(scoped: Scoped) -> dict[Target, list[Row]]:
    """Group the rows of every run by target where one batch runs on each of the replicas that share the experts of a model, in each stage of a
    pipeline."""
    runs: dict[tuple[Any, ...], list[Row]] = {}
    for row in sorted(scoped.records("SELECT * FROM serving_split"), key=lambda row: row["batch"]):
        runs.setdefault(tuple(row[name] for name in _KIND), []).append(row)
    rows: list[Row] = []
    for kind in runs.values():
        most, sample_byte = largest_of({row["batch"]: row["free_byte"] for row in kind})
        rows += [_of_replica(row, most, sample_byte) for row in kind if row["latency_s"] is not None or row is kind[0]]
    return _grouped(scoped, rows)


def _of_replica(row: Row, most: int | None, sample_byte: float | None) -> Row:
    tokens = row["batch"] * row["data"] * row["sequence"]
    energy_j = None if row["token_j"] is None else row["token_j"] * tokens
    added = {"cache_byte": row["kv_cache_byte"], "kv_cache_byte": row["kv_cache_byte"] / row["data"]}
    return row | added | {"energy_j": energy_j, "largest_batch": most, "sample_byte": sample_byte}


def largest_of(free_byte: Mapping[int, float | None]) -> tuple[int | None, float | None]:
    """Return the largest batch that leaves no negative memory free, and the memory of a further sample, from what batches leave free.

    >>> largest_of({1: 70.0, 2: 60.0, 4: 40.0})
    (8, 10.0)
    """
    known = sorted((batch, free) for batch, free in free_byte.items() if free is not None)
    if len(known) < 2:
        return (known[0][0] if known[0][1] >= 0.0 else 0, None) if known else (None, None)
    (least, most_free), (last, least_free) = known[0], known[-1]
    sample_byte = (most_free - least_free) / (last - least)
    if sample_byte <= 0.0:
        return (last if least_free >= 0.0 else 0), None
    return max(0, int(least + most_free / sample_byte)), sample_byte


def _grouped(scoped: Scoped, rows: Iterable[Row]) -> dict[Target, list[Row]]:
    """Add what a run and a backend state to rows, and group them by target."""
    memory = {
        tuple(run): {"weight_byte": weights, "kv_cache_byte": cache, "cache_byte": cache, "held_byte": weights + buffers}
        for *run, weights, cache, buffers in scoped.execute(_MEMORY).fetchall()
    }
    chunk = dict(scoped.execute("SELECT backend, chunk_tokens FROM backend").fetchall())
    launch = dict(scoped.execute("SELECT scenario_id, launch_s FROM prompt_launch").fetchall())
    found: dict[Target, list[Row]] = {}
    for row in rows:
        known = memory[row["backend"], row["precision"], row["scenario_id"]]
        added = {"chunk_tokens": chunk[row["backend"]], "prompt_launch_s": launch.get(row["scenario_id"]) or 0.0, "held_byte": known["held_byte"]}
        found.setdefault((row["hardware"], row["backend"], row["precision"]), []).append(known | row | added)
    return found


def _known(scoped: Scoped, view: str, columns: Sequence[str]) -> dict[tuple[Any, ...], Row]:
    """Return columns of a view by run and part."""
    rows = scoped.records(f"SELECT {', '.join((*_RUN, *columns))} FROM {view}")
    return {tuple(row[name] for name in _RUN): {name: row[name] for name in columns} for row in rows}


_MEMORY = "SELECT run.backend, run.precision, run.scenario_id, weight_byte, kv_cache_byte, buffer_byte FROM run_memory"


def of_split(rows: Iterable[Row], devices: int, pipeline: int = 1, expert: int = 1) -> list[Row]:
    """Return the rows of a split among those of several splits. `devices` share each kernel."""
    return [row for row in rows if (row.get("tensor", row["device_count"]), row.get("pipeline", 1), row.get("expert", 1)) == (devices, pipeline, expert)]


def with_draft(rows: list[Row], drafts: list[Row], drafted: int, replicas: int = 1) -> list[Row]:
    """Add a draft model's steps to each step of a server, its prompt to each prompt, and its weights and cache to the memory.

    A step of the server follows `drafted` steps of the draft. Each replica has a draft of its own.
    """
    steps = {row["batch"]: row for row in drafts if row["phase"] == "decode"}
    prompts = {row["batch"]: row for row in drafts if row["phase"] != "decode"}
    return [
        _drafted(row, steps[row["batch"]], drafted, replicas)
        if row["sequence"] == 1 + drafted
        else _drafted(row, prompts[row["batch"]], 1, replicas)
        for row in rows
    ]  # fmt: skip


def _drafted(row: Row, draft: Row, count: int, replicas: int) -> Row:
    latency_s = None if None in (row["latency_s"], draft["latency_s"]) else row["latency_s"] + count * draft["latency_s"]
    energy_j = None if None in (row["energy_j"], draft["energy_j"]) else row["energy_j"] + count * replicas * draft["energy_j"]
    most, sample_byte = row["largest_batch"], row["sample_byte"]
    if most and sample_byte:
        room_byte = most * sample_byte - draft["held_byte"]
        most = max(0, int(room_byte / (sample_byte + (draft["sample_byte"] or 0.0))))
    return row | {"latency_s": latency_s, "energy_j": energy_j, "largest_batch": most}


def served(
    rows: list[Row], context: int, given: int, apart: Row | None, parts: int, replicas: int = 1, stages: int = 1, chunk: int | None = None
) -> tuple[Server, dict[str, Any]] | None:
    """Build a target's server from its steps and prompts, and its costs; None where no request fits.

    A step runs one batch on each of the replicas, and so does a chunk of prompts. `energy_j` and `device_count` are those of all replicas.
    Each of the `stages` of a pipeline has a batch of its own: a step lasts until a batch has passed all stages, and prompts follow each other at
    the pace of a stage. A prompt longer than a `chunk` of tokens is a row of one chunk for each of its chunks.
    """
    pieces = [r for r in rows if chunk is not None and chunk < given and (r["phase"], r["sequence"]) == ("prefill", chunk)]
    rows = [r for r in rows if r not in pieces]
    steps = sorted((r for r in rows if r["context"] == context and r["sequence"] != given), key=lambda r: r["batch"])
    prompts = sorted((r for r in rows if r["sequence"] == given and r not in steps), key=lambda r: r["batch"])
    prompts = [in_pieces(r, pieces[0], given / chunk) for r in prompts[:1]] if pieces and chunk else prompts
    if not steps or not prompts or any(r["latency_s"] is None for r in (*steps, *prompts)):
        return None
    most = steps[0]["largest_batch"]
    if not most:
        return None
    alone = prompts[0]
    chunk_tokens = chunk or alone["chunk_tokens"] or given
    full = next((r for r in prompts if r["batch"] == in_full_chunk(chunk_tokens, given)), alone)
    batches = [float(r["batch"] * replicas * stages) for r in steps]
    costs = {
        "prompt_j": None if full["energy_j"] is None else full["energy_j"] / (full["batch"] * replicas),
        "step_j": None if any(r["energy_j"] is None for r in steps) else Curve(batches, [stages * r["energy_j"] for r in steps]),
        "static_w": None if alone["static_w"] is None else alone["static_w"] * alone["device_count"],
        "usd_per_hour": None
        if alone["price_usd_per_hour"] is None
        else alone["price_usd_per_hour"] * alone["device_count"],
        "is_simulated": alone["is_simulated"],
        "engine_version": alone.get("engine_version"),
        "kv_precision": alone.get("kv_precision"),
        "weight_byte": _bytes(batches, steps, "weight_byte"),
        "cache_byte": _bytes(batches, steps, "cache_byte"),
        "peak_byte": _bytes(batches, steps, "peak_memory_byte"),
        "prompt_byte": max((r["peak_memory_byte"] for r in (alone, full) if r.get("peak_memory_byte") and r["batch"] <= most), default=0.0),
    }
    prompt_s, chunk_s = prompt_times(alone, full, alone["prompt_launch_s"], replicas)
    first_s, prompts_per_s = alone["latency_s"], float("inf")
    if apart is not None:
        if apart["latency_s"] is None or not apart["link_byte_per_s"]:
            return None
        first_s = apart["latency_s"] + alone["kv_cache_byte"] * alone["device_count"] / apart["link_byte_per_s"]
        prompt_s, chunk_s, prompts_per_s = 0.0, 0.0, parts / apart["latency_s"]
        costs["prompt_j"] = apart["energy_j"]
        known = costs["usd_per_hour"] is not None and apart["price_usd_per_hour"] is not None
        costs["usd_per_hour"] = (
            costs["usd_per_hour"] + parts * apart["price_usd_per_hour"] * apart["device_count"] if known else None
        )
    # A step that verifies draft tokens runs as a captured graph, unlike a prompt of as many tokens.
    curve = Curve(batches, [r["latency_s"] - r["prompt_launch_s"] for r in steps])
    in_chunk = chunk_tokens / given
    most_prompts = replicas * (float(full["batch"]) if in_chunk >= 1.0 else in_chunk)
    server = Server(
        curve, 0.0, prompt_s, first_s, float(most * replicas * stages), prompts_per_s, chunk_s, most_prompts, parts if apart is not None else 0
    )
    return server, costs


def prompt_times(alone: Mapping[str, Any], full: Mapping[str, Any], launch_s: float, replicas: int) -> tuple[float, float]:
    """Return the time that a prompt takes from steps, and the time of a chunk whatever it contains, from the runs of one prompt and of a full chunk
    of prompts on each replica. `launch_s` is the host's time of a prompt alone, in which the device works for others. [s]"""
    device_s = max(_paced_s(alone) - launch_s, 0.0)
    together_s = device_s if full is alone else max(_paced_s(full) - _paced_s(alone), 0.0) / (full["batch"] - alone["batch"])
    return together_s / replicas, max(device_s - together_s, 0.0)


def in_full_chunk(chunk_tokens: float | None, tokens: int) -> int:
    """Return the number of prompts in the run of a full chunk, at least one."""
    return 1 if chunk_tokens is None else max(1, int(chunk_tokens // tokens))


def full_chunks(connection: DuckDBPyConnection, tokens: int) -> set[int]:
    """Return the numbers of prompts of which the full chunks of the servers consist."""
    query = "SELECT DISTINCT chunk_tokens FROM backend WHERE serves"
    return {in_full_chunk(chunk, tokens) for (chunk,) in connection.execute(query).fetchall()}


def _paced_s(row: Mapping[str, Any]) -> float:
    """Return the time from a run to the next, which stages of a pipeline make shorter than the time of a run. [s]"""
    paced = row.get("pass_s")
    return float(row["latency_s"] if paced is None else paced)


def _bytes(batches: list[float], rows: list[Row], column: str) -> Curve | None:
    """Return the bytes of a device by running requests; None where some are unknown. Two batches give the bytes of another one."""
    values = [row.get(column) for row in rows]
    return None if any(value is None for value in values) else Curve(batches, [float(value) for value in values if value is not None])


def _least(rows: Sequence[Row]) -> Row | None:
    """Return the run that needs the least memory among those whose need is known."""
    known = [row for row in rows if row.get("peak_memory_byte") is not None and row.get("device_byte")]
    return min(known, key=lambda row: row["peak_memory_byte"], default=None)


def least_byte(rows: Sequence[Row]) -> float:
    """Return the memory of a device that the smallest run needs; infinite if unknown. [byte]"""
    least = _least(rows)
    return float("inf") if least is None else float(least["peak_memory_byte"])


def lacking(rows: Sequence[Row], devices: int | None) -> str:
    """Tell why a target has no server: the memory that the smallest run needs, and the devices that may have it. Without `devices` no others are named."""
    least = _least(rows)
    if least is None or least["peak_memory_byte"] <= least["device_byte"]:
        return "where no request fits or the step has no time"
    need, have = least["peak_memory_byte"], least["device_byte"]
    told = f"where a request needs at least {size(need)} on each device of {size(have)}"
    if devices is None:
        return told
    more = next(devices * 2**i for i in range(1, 32) if need <= have * 2**i)
    tried = f"--devices {more}" if more <= WIDEST else f"--devices {more} --pipeline {more // WIDEST}"
    return f"{told}; try {tried} or more"


def in_pieces(prompt: Row, piece: Row, count: float) -> Row:
    """Return the row of a prompt that is computed in pieces: their times and energies add up, and each needs the memory of one."""
    summed = {name: count * piece[name] for name in ("latency_s", "energy_j", "pass_s", "prompt_launch_s") if piece.get(name) is not None}
    return prompt | summed | {"peak_memory_byte": piece.get("peak_memory_byte")}
