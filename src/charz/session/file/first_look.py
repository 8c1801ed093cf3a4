"""First answers about a language model: its sizes, and how four parts serve it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..answer import Rows
from ..core import Core
from ..quantities import significant, size
from ..question import HALVES, Question
from ..scoped import Scoped

PARTS = ("rtx4090", "l40s", "h100_sxm5_80", "b200_sxm", "h200_sxm_141", "mi300x_192", "mi325x_256", "mi355x_288")
"""Parts that engineers often own or rent; earlier parts are preferred."""

MOST_PARTS = 4
"""Number of parts that are shown."""

PLAIN, NARROW = "bf16", "fp8"
"""Precision policies of the answer; a checkpoint's own policy replaces the second."""

DEVICES = (1, 2, 4, 8)
"""Numbers of devices of a node that are tried."""

BATCHES = (1, 32)
"""Batches of a step: a request alone, and a small load."""

_SHOWN = (
    "model", "hardware", "backend", "engine_version", "precision", "device_count", "batch", "context", "most_requests", "ttft_s", "tpot_s",
    "device_tokens_per_s", "million_decode_tokens_usd",
)  # fmt: skip

CONTEXT = 1024
"""Context at which the cache of a token is told, which a sliding window makes smaller on average."""

_SIZES = f"SELECT run.precision, weight_byte, (kv_cache_byte - lasting_cache_byte) / {CONTEXT} FROM run_memory ORDER BY 1"

Record = dict[str, Any]


def shown(session: Core, model: str) -> Rows | None:
    """Report the sizes of a language model, and return the smallest node of four parts that serves it; None without such a part."""
    room = _room(session)
    known = [part for part in PARTS if part in session._names("hardware") and room.get(part)]
    if not known:
        return None
    tell = session.messages.remark
    stored = dict(session.connection().execute("SELECT model, stored_policy FROM model").fetchall())[model]
    policies = tuple(dict.fromkeys((PLAIN, NARROW if stored in (None, *HALVES) else stored)))
    run = {"batch": 1, "phase": "decode", "context": CONTEXT}
    sized = "h100_sxm5_80" if "h100_sxm5_80" in known else known[0]
    scoped = session.asked(Question([model], [sized], precisions=policies, runs=[run], serves=True), "operator_work", "run_memory")
    sizes = {policy: (weights, token) for policy, weights, token in scoped.execute(_SIZES).fetchall()}
    tell(_parameters(session, model, scoped))
    tell(_bytes(session, sizes))
    weights = {policy: found[0] for policy, found in sizes.items()}
    parts, small = chosen(known, room, weights)
    for line in small:
        tell(line)
    if not parts:
        part = max(known, key=room.__getitem__)
        tell(f"no {DEVICES[-1]} devices are enough; next: charz llm {model} --on {part} --smallest --prompt 2000 --output 500")
        return Rows(_SHOWN, [])
    answered = _served(session, model, parts, policies, _tried(parts, room, weights))
    rows = [dict(zip(answered.columns, row, strict=True)) for row in answered.fetch()]
    kept = smallest(rows)
    for line in reasons(rows, kept, _left(session)):
        tell(line)
    tell(following(model, kept))
    return Rows(_SHOWN, [tuple(row[name] for name in _SHOWN) for row in kept], answered.views)


def _room(session: Core) -> dict[str, float]:
    """Return the memory of each part that a server uses."""
    connection = session.connection()
    memory = dict(connection.execute("SELECT hardware, dram_byte FROM part WHERE dram_byte IS NOT NULL").fetchall())
    free = dict(connection.execute("SELECT backend, reserve_fraction FROM backend").fetchall())
    served = connection.execute("SELECT hardware, backend FROM supported_backend WHERE serves").fetchall()
    found: dict[str, float] = {}
    for part, backend in served:
        if part in memory:
            found[part] = max(found.get(part, 0.0), memory[part] * (1.0 - (free[backend] or 0.0)))
    return found


def _left(session: Core) -> dict[tuple[str, str], float]:
    """Return the memory of each part without the context of a process of a backend."""
    connection = session.connection()
    memory = dict(connection.execute("SELECT hardware, dram_byte FROM part").fetchall())
    contexts = connection.execute("SELECT hardware, backend, context_byte FROM part_context").fetchall()
    return {(part, backend): memory[part] - context for part, backend, context in contexts if memory.get(part) is not None}


def _served(session: Core, model: str, parts: Sequence[str], policies: Sequence[str], devices: Sequence[int]) -> Rows:
    """Return the answer of `llm` for parts, without its remarks, which columns repeat."""
    serving: Any = session
    before = session.messages
    session.messages = replace(before, remark=lambda _: None)
    try:
        answered: Rows = type(serving).llm.asked.rows(serving, model, on=parts, precision=policies, devices=devices, batch=BATCHES)
    finally:
        session.messages = before
    return answered


def chosen(known: Sequence[str], room: Mapping[str, float], weights: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """Choose the first parts on which the weights fit a node in the narrowest precision, and tell why an earlier one is left out."""
    policy, needed = min(weights.items(), key=lambda pair: pair[1])
    parts: list[str] = []
    small: list[str] = []
    for part in known:
        if len(parts) == MOST_PARTS:
            break
        if room[part] * DEVICES[-1] >= needed:
            parts.append(part)
        else:
            have = size(room[part] * DEVICES[-1])
            small.append(f"{part}: too small: the weights in {policy} need {size(needed)}, a server on {DEVICES[-1]} devices uses at most {have}")
    return parts, small


def _tried(parts: Sequence[str], room: Mapping[str, float], weights: Mapping[str, float]) -> tuple[int, ...]:
    """Return the numbers of devices on which the weights may fit one of the parts."""
    most, least = max(room[part] for part in parts), min(weights.values())
    return tuple(count for count in DEVICES if count * most >= least)


def smallest(rows: Sequence[Record]) -> list[Record]:
    """Return for each part and precision the rows of the smallest number of devices on which every batch fits; where no node fits them all, those
    of the smallest that fits a request, without the batches that do not fit."""
    counts: dict[tuple[str, str], dict[int, int]] = {}
    for row in rows:
        fitting = counts.setdefault((row["hardware"], row["precision"]), {})
        if row["fits_device"]:
            fitting[row["device_count"]] = fitting.get(row["device_count"], 0) + 1
    least = {key: min(fitting, key=lambda count: (-fitting[count], count)) for key, fitting in counts.items() if fitting}
    return [row for row in rows if row["fits_device"] and least.get((row["hardware"], row["precision"])) == row["device_count"]]


def reasons(rows: Sequence[Record], kept: Sequence[Record], memory: Mapping[tuple[str, str], float]) -> list[str]:
    """Tell the memory that a part lacks in a precision that fits no node."""
    shown = {(row["hardware"], row["precision"]) for row in kept}
    lines = {}
    for row in rows:
        key, count = (row["hardware"], row["precision"]), row["device_count"]
        if key not in shown and count == DEVICES[-1] and row["batch"] == BATCHES[0] and row["peak_memory_byte"] is not None:
            need, have = (f"{count * byte / 2**30:,.0f} GiB" for byte in (row["peak_memory_byte"], memory[row["hardware"], row["backend"]]))
            lines[key] = f"{', '.join(key)}: a request needs {need} on {count} devices, which have {have}"
    return list(lines.values())


def following(model: str, kept: Sequence[Record]) -> str:
    """Return the next command, for the cheapest row of the largest batch."""
    if not kept:
        return f"next: charz llm {model} --smallest --prompt 2000 --output 500"
    largest = [row for row in kept if row["batch"] == max(row["batch"] for row in kept)]
    best = min(largest, key=lambda row: (row["million_decode_tokens_usd"] is None, row["million_decode_tokens_usd"] or 0.0))
    devices = f" --devices {best['device_count']}" if best["device_count"] > 1 else ""
    return f"next: charz llm {model} --on {best['hardware']} --precision {best['precision']}{devices} --prompt 2000 --output 500"


STATE_BYTE = 18.0
"""Bytes of a trained parameter: weights and gradients in 16 bits, a copy of the weights and two moments of Adam in 32 bits, and a margin."""

FROZEN_BYTE = 0.8
"""Bytes of a frozen parameter in 4 bits, with a margin for adapters and activations."""

MOST_FULL = 0.8
"""Share of a part's memory that weights and states may take where activations follow."""


def training(model: str, parameters: float, memory: Mapping[str, float]) -> list[str]:
    """Return the next commands for a language model with a backward pass: adapters on the first part that takes them, and all weights on as many
    devices of a data center's part as they need, at least a node."""
    name = model.removesuffix(",train")
    lines = []
    for part in ("rtx4090", "h100_sxm5_80", "mi300x_192"):
        if parameters * FROZEN_BYTE <= MOST_FULL * memory.get(part, 0.0):
            lines.append(f"next: charz train {name} --on {part} --adapter 16 --frozen nf4 --sequence 1024 --tokens 1e8")
            break
    part = "h100_sxm5_80"
    if part in memory:
        needed = parameters * STATE_BYTE / (MOST_FULL * memory[part])
        count = next(2**i for i in range(3, 32) if 2**i >= needed)
        lines.append(f"or all weights: charz train {name} --on {part} --devices {count} --zero 3 --sequence 1024 --tokens 1e8")
    return lines


def _parameters(session: Core, model: str, scoped: Scoped) -> str:
    """Tell the parameters of a model, and those that a token uses: all but the experts that it does not choose."""
    query = "SELECT parameter_count, expert_parameter_count FROM model LEFT JOIN expert_parameter USING (model) WHERE model = ?"
    ((count, experts),) = session.connection().execute(query, [model]).fetchall()
    if not experts:
        return f"{model}: {_billions(count)} parameters, all active"
    query = "SELECT operator_id, SUM(macs) FROM operator_work WHERE precision = ? GROUP BY operator_id"
    work = dict(scoped.execute(query, [PLAIN]).fetchall())
    query = "SELECT operator_id FROM operator_split WHERE is_expert AND model = ?"
    used = sum(work.get(operator) or 0.0 for (operator,) in session.connection().execute(query, [model]).fetchall())
    return f"{model}: {_billions(count)} parameters, {_billions(count - experts + used)} active"


def _billions(count: float) -> str:
    count = float(f"{count:.3g}")
    return f"{significant(count / 1e9)} B" if count >= 1e9 else f"{significant(count / 1e6)} M"


def _bytes(session: Core, sizes: Mapping[str, tuple[float, float]]) -> str:
    """Tell the bytes of the weights by precision, and of the cache of a token in the precision's format and in 8 bits."""
    weights = ", ".join(f"{size(found)} in {policy}" for policy, (found, _) in sizes.items())
    token = next((found for _, found in sizes.values()), None)
    bits = dict(session.connection().execute("SELECT precision, bits FROM precision WHERE precision IN ('bf16', 'fp8_e4m3')").fetchall())
    narrow = None if token is None else token * bits["fp8_e4m3"] / bits["bf16"]
    return f"weights: {weights}; KV cache of a token: {size(token)} in bf16, {size(narrow)} with --kv-precision fp8_e4m3"
