"""Serve a language model: time to first token, time and cost of each token after it."""

from __future__ import annotations

from pathlib import Path
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
from .workspace import DatabaseOption, model_name, open_workspace

_COLUMNS = [
    "model", "hardware", "backend", "precision", "batch", "context", "ttft_s", "tpot_s", "tokens_per_s",
    "prompt_tokens_per_s", "token_j", "tokens_per_j", "million_tokens_usd", "weight_byte", "kv_cache_byte",
    "kv_cache_token_byte", "peak_memory_byte", "fits_device", "is_simulated",
]  # fmt: skip

PREFERRED_PRECISIONS = ("fp16", "bf16", "fp32", "int8")
"""As `workspace.PREFERRED_PRECISIONS`, but in the 16 bits that language models are served in where the part has them."""


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
    runs = [
        {"batch": b, "phase": phase, "sequence": sequence, "context": length}
        for b in numbers(batch) or [1]
        for length in lengths
        for phase, sequence in (("prefill", length), ("decode", None))
    ]
    grid = Grid(
        _decoders(db, names(models)),
        names(on),
        precisions=names([precision or ""]),
        preferred=PREFERRED_PRECISIONS,
        backends=names([backend or ""]),
        runs=runs,
    )
    with asked(db, grid, {"llm_serving"}) as scope:
        show(scope, "llm_serving", _COLUMNS, "ORDER BY model, hardware, backend, precision, batch, context")
    display.note("a decode step makes one token for each sample of the batch")


def _decoders(db: Path | None, models: list[str]) -> list[str]:
    """Those of the models that decode; a line names the others, and with no other left they are an error."""
    with open_workspace(db) as connection:
        query = "SELECT model FROM model WHERE has_context"
        known = {model for (model,) in connection.execute(query).fetchall()}
        others = [name for name in models if model_name(connection, name) not in known]
    if len(others) == len(models):
        raise CharzError("nothing to serve", ", ".join(others), _NO_CACHE, "ingest a causal language model")
    if others:
        display.note(f"left out: {', '.join(others)}, {_NO_CACHE}")
    return [name for name in models if name in known]


_NO_CACHE = "no attention of it reads a KV-cache"
