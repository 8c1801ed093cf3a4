"""Serve a language model: time to first token, time and cost of each token after it."""

from __future__ import annotations

from typing import Annotated

import typer

from charz.schema.errors import CharzError

from . import display
from .grid import (
    BackendsOption,
    BatchesOption,
    Grid,
    ModelsArgument,
    PartsOption,
    PrecisionsOption,
    asked,
    names,
    numbers,
    show,
)
from .workspace import DatabaseOption

_COLUMNS = [
    "model", "hardware", "backend", "precision", "batch", "context", "ttft_s", "tpot_s", "tokens_per_s",
    "prompt_tokens_per_s", "token_j", "tokens_per_j", "million_tokens_usd", "weight_byte", "kv_cache_byte",
    "kv_cache_token_byte", "peak_memory_byte", "fits_device", "is_simulated",
]  # fmt: skip


def command(
    models: ModelsArgument,
    on: PartsOption = None,
    batch: BatchesOption = None,
    context: Annotated[str | None, typer.Option("--context", help="Tokens attended to: 1024 or 512:8192.")] = None,
    precision: PrecisionsOption = None,
    backend: BackendsOption = None,
    db: DatabaseOption = None,
) -> None:
    """Answer for prefill and decode of language models, against batch and context."""
    lengths = numbers(context) or [1024]
    policies = names([precision or ""]) or ["fp16"]
    extra = [
        {"batch": b, "policy": policy, "phase": phase, "sequence": sequence, "context": length}
        for b in numbers(batch) or [1]
        for policy in policies
        for length in lengths
        for phase, sequence in (("prefill", length), ("decode", None))
    ]
    grid = Grid(names(models), names(on), precisions=policies, backends=names([backend or ""]), extra=extra)
    with asked(db, grid, {"llm_serving"}) as connection:
        if not show(
            connection, "llm_serving", _COLUMNS, "ORDER BY model, hardware, backend, precision, batch, context"
        ):
            raise CharzError(
                "nothing to serve", ", ".join(grid.models), "only models whose attention reads a KV-cache decode",
                "ingest a causal language model, or widen --on and --precision",
            )  # fmt: skip
    display.note("a decode step makes one token for each sample of the batch")
