"""First answers about a language model: its sizes, and how four parts serve it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..answer import Rows
from ..core import Core
from ..quantities import significant, size
from ..question import Question

PARTS = ("rtx4090", "l40s", "h100_sxm5_80", "b200_sxm")
"""Parts that engineers often own, from a workstation's to a data center's."""

POLICIES = ("bf16", "fp8")

DEVICES = (1, 2, 4, 8)
"""Numbers of devices of a node that are tried."""

BATCHES = (1, 32)
"""Batches of a step: a request alone, and a small load."""

_SHOWN = (
    "model", "hardware", "backend", "engine_version", "precision", "device_count", "batch", "context", "most_requests", "ttft_s", "batch_ttft_s",
    "tpot_s", "device_tokens_per_s", "million_prompt_tokens_usd", "million_output_tokens_usd", "peak_memory_byte",
)  # fmt: skip

Record = dict[str, Any]


def shown(session: Core, model: str) -> Rows | None:
    """Report the sizes of a language model, and return the smallest node of each part that serves it; None without such a part."""
    parts = [part for part in PARTS if part in session._names("hardware")]
    if not parts:
        return None
    serving: Any = session
    answered: Rows = type(serving).llm.asked.rows(
        serving, model, on=parts, precision=POLICIES, devices=DEVICES, batch=BATCHES
    )
    rows = [dict(zip(answered.columns, row, strict=True)) for row in answered.fetch()]
    kept = smallest(rows)
    session.messages.remark(_parameters(session, model, parts[0]))
    session.messages.remark(_bytes(session, rows))
    asked = {(part, policy) for part in parts for policy in POLICIES}
    for part, policy in sorted(asked - {(row["hardware"], row["precision"]) for row in kept}):
        session.messages.remark(f"{part}, {policy}: does not fit {max(DEVICES)} devices, or does not run")
    session.messages.remark(f"next: charz llm {model} --on {parts[-2 if len(parts) > 1 else -1]} --prompt 2000 --output 500")
    return Rows(_SHOWN, [tuple(row[name] for name in _SHOWN) for row in kept], answered.views)


def smallest(rows: Sequence[Record]) -> list[Record]:
    """Return for each part and precision the rows of the smallest number of devices on which a request fits."""
    least: dict[tuple[str, str], int] = {}
    for row in rows:
        key = row["hardware"], row["precision"]
        if row["fits_device"] and row["batch"] == 1:
            least[key] = min(row["device_count"], least.get(key, row["device_count"]))
    return [row for row in rows if least.get((row["hardware"], row["precision"])) == row["device_count"]]


def _parameters(session: Core, model: str, part: str) -> str:
    """Tell the parameters of a model, and those that a token uses: all but the experts that it does not choose. Their number is the same on
    each part."""
    query = "SELECT parameter_count, expert_parameter_count FROM model LEFT JOIN expert_parameter USING (model) WHERE model = ?"
    ((count, experts),) = session.connection().execute(query, [model]).fetchall()
    if not experts:
        return f"{model}: {_billions(count)} parameters, all active"
    run = {"batch": 1, "phase": "decode", "context": 1024}
    scoped = session.asked(Question([model], [part], precisions=["bf16"], runs=[run], serves=True), "operator_work")
    used = scoped.value("SELECT SUM(macs) FROM operator_work SEMI JOIN (FROM operator_split WHERE is_expert) USING (model, operator_id)")
    return f"{model}: {_billions(count)} parameters, {_billions(count - experts + (used or 0.0))} active"


def _billions(count: float) -> str:
    return f"{significant(count / 1e9)} B" if count >= 1e9 else f"{significant(count / 1e6)} M"


def _bytes(session: Core, rows: Sequence[Record]) -> str:
    """Tell the bytes of the weights by precision, and of the cache of a token in the precision's format and in 8 bits."""
    alone = {row["precision"]: row for row in rows if row["device_count"] == 1 and row["batch"] == 1}
    weights = ", ".join(f"{size(row['weight_byte'])} in {policy}" for policy, row in sorted(alone.items()))
    token = next((row["kv_cache_token_byte"] for row in alone.values()), None)
    bits = dict(session.connection().execute("SELECT precision, bits FROM precision WHERE precision IN ('bf16', 'fp8_e4m3')").fetchall())
    narrow = None if token is None else token * bits["fp8_e4m3"] / bits["bf16"]
    return f"weights: {weights}; KV cache of a token: {size(token)} in bf16, {size(narrow)} with --kv-precision fp8_e4m3"
