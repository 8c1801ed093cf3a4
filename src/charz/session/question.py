"""Questions about models on parts, and the scope of a session."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from charz.schema.conditions import PHASES

from .axes import cache_state, formats, names, one_of, sizes
from .parameters import (
    Backend,
    Backends,
    Batch,
    Batches,
    Cache,
    Cap,
    Caps,
    Context,
    Devices,
    IncludeTransfer,
    KvPrecisions,
    Models,
    Parts,
    Phase,
    Precision,
    Precisions,
    Sequence_,
    Sequences,
    Versions,
)

SINGLE = "fp32"
"""Single precision. In a question that names no precision, the backend's default precision policy replaces fp32."""

PREFERRED_PRECISIONS = (SINGLE, "bf16", "fp16", "int8")
"""Precision policies to try if a question names no precision. A part takes the first policy that it computes in. The policies that its family
assumes (`hardware_family.assumed_precision`) are tried before."""

DEFAULT_MODE = "default"
"""Name of a part's default power mode."""

DEFAULT_BATCHES = (1, 8, 64)
"""Batches compared by commands that recommend a batch."""

ENGINES = {"vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt_llm", "llama.cpp": "llama_cpp"}
"""Backend of each server that `--launch` names."""

HALVES = ("bf16", "fp16")
"""Policies of 16 bits."""

EIGHT_BITS = "fp8"
"""Policy that commands for servers try in addition to a model's 16 bits."""

SERVED_PRECISIONS = ("fp16", "bf16", "fp32", "int8")
"""Policies of language model servers, tried like `PREFERRED_PRECISIONS`, 16 bits first."""

TARGET = ("model", "hardware", "backend", "precision", "batch", "sequence")
"""Columns that identify a target in printed tables."""


HEADER = ("model", "hardware", "backend", "precision", "batch", "sequence", "power")
"""Columns that the heading above a table lists unless the table has them."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about models on parts. An empty axis takes the defaults."""

    models: Sequence[str] = ()
    hardware: Sequence[str] = ()
    batches: Sequence[int] = ()
    sequences: Sequence[int] = ()
    precisions: Sequence[str] = ()
    backends: Sequence[str] = ()
    caps: Sequence[str] = ()
    """Power modes by name, or limits such as `150w`; empty means each part's default."""
    every_backend: bool = False
    """True if, without `backends`, a part takes every backend that runs on the part except unfused counterparts. False if a part takes the assumed
    backend only."""
    is_as_run: bool = False
    """True if a part takes only the usual backend for a precision, if a row of `default_backend` names one."""
    with_counterparts: bool = False
    """True if `every_backend` includes unfused counterparts."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Further columns of every scenario."""
    runs: Sequence[Mapping[str, Any]] = ()
    """Runs as columns of a scenario. They replace the product of batches and sequences."""
    preferred: Sequence[str] = PREFERRED_PRECISIONS
    """Policies to try without `precisions`, after the policies that the family assumes. Servers of language models try only these policies."""
    beside: Sequence[str] = ()
    """Policies that a part takes in addition, without `precisions`, if its first policy has 16 bits and the part computes in them."""
    is_first: bool = True
    """True if, without `precisions`, a part takes the first policy only."""
    is_as_stored: bool = False
    """True if, without `precisions`, models take the policy of their checkpoint, provided that all have the same policy."""
    is_strict: bool = False
    """True if a preferred fp32 means exactly fp32, not the backend's default policy."""
    serves: bool = False
    """True if, without `backends`, a part takes a backend that serves language models, provided that such a backend runs on the part."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Models, parts and scenarios of a session; an empty field means all."""

    models: tuple[str, ...] = ()
    hardware: tuple[str, ...] = ()
    scenarios: tuple[int, ...] = ()
    """Ids of stored scenarios, for questions that name no conditions."""


def header(targets: Sequence[Mapping[str, Any]], without: Collection[str] = ()) -> str:
    """Join the conditions of targets into a heading."""
    told = {name: dict.fromkeys(str(target[name]) for target in targets) for name in HEADER if name not in without}
    return ", ".join(f"{name} {' and '.join(values)}" for name, values in told.items())


def of_axes(
    models: Models,
    on: Parts,
    batch: Batches,
    sequence: Sequences,
    precision: Precisions,
    backend: Backends,
    cap: Caps,
    fields: dict[str, Any] | None = None,
) -> Question:
    """Make a question about every combination of the arguments. Omitted arguments take the defaults."""
    return Question(
        names(models),
        names(on),
        sizes(batch),
        sizes(sequence),
        names(precision),
        names(backend),
        names(cap),
        fields=fields or {},
    )


def single(
    model: str,
    on: str,
    batch: Batch = None,
    sequence: Sequence_ = None,
    precision: Precision = None,
    backend: Backend = None,
    cache: Cache = "warm",
    cap: Cap = None,
    include_transfer: IncludeTransfer = False,
) -> Question:
    """Make a question about one target. Omitted arguments take the defaults."""
    return Question(
        [model],
        [on],
        [batch] if batch else [],
        [sequence] if sequence else [],
        [precision] if precision else [],
        [backend] if backend else [],
        [cap] if cap else [],
        fields={"cache_state": cache_state(cache), **transferred(include_transfer)},
    )


def transferred(includes: bool) -> dict[str, float]:
    """Return the condition of a run that includes the transfer of all inputs over the host's link, or no condition."""
    return {"input_host_fraction": 1.0} if includes else {}


def served(
    question: Question,
    phase: Phase = None,
    context: Context = None,
    devices: Devices = None,
    version: Versions = None,
    kv_precision: KvPrecisions = None,
) -> Question:
    """Turn a question into a question about a served language model if any of these conditions is given: phase, context, devices, version of the
    server, format of the KV cache."""
    if phase is None and context is None and devices is None and version is None and kv_precision is None:
        return question
    phase = one_of("phase", phase or ("decode" if context else "forward"), PHASES)
    runs = list(_served_runs(question, phase, context, devices, version, kv_precision))
    return replace(question, runs=runs, preferred=SERVED_PRECISIONS, serves=True, is_as_stored=True)


def _served_runs(
    question: Question, phase: str, context: Context, devices: Devices, version: Versions, kv_precision: KvPrecisions
) -> Iterator[dict[str, Any]]:
    prompts = [context] if context and phase == "prefill" else [None]
    lengths = [None] if phase == "decode" else question.sequences or prompts
    for batch in question.batches or [1]:
        for sequence in lengths:
            for count in sizes(devices) or [1]:
                for engine in (*names(version),) or (None,):
                    for kept in formats(kv_precision):
                        yield {
                            "batch": batch, "phase": phase, "sequence": sequence, "engine_version": engine,
                            "context": context, "kv_precision": kept, "device_count": count if count > 1 else None,
                        }  # fmt: skip
