"""One model through the whole of ingest: build, trace, lower, compile, columns."""

from __future__ import annotations

import time
from typing import Any

import charz

from . import compile as compiler
from .export import Request, trace
from .graph import Graph
from .lower import lower
from .rows import workload
from .write import Ingested, content_hash


def ingest(request: Request, rules: Any = None, started: float | None = None) -> Ingested:
    """A requested model as rows. `rules` are the catalog's rule rows the compiler needs."""
    started = time.perf_counter() if started is None else started
    traced = trace(request)
    graph = lower(traced.program, traced.symbols, type(request.module).__name__)
    columns = workload(graph)
    model = {
        "model": request.name,
        "source": request.source,
        "architecture_family": request.family,
        "input_signature": signature(graph),
        "resolution": request.resolution,
        "is_batch_symbolic": traced.is_batch_symbolic,
        "is_sequence_symbolic": traced.is_sequence_symbolic,
        "has_context": any(t.role == "kv_cache" for t in graph.tensors),
        "is_training": False,
        "specialized_reason": traced.reason,
        "default_batch": 1 if traced.is_batch_symbolic else request.default_batch,
        "default_sequence": request.default_sequence,
        "parameter_count": sum(p.numel() for p in request.module.parameters()),
        "published_macs": request.published_macs,
    }
    model["content_hash"] = content_hash(columns, model)
    columns.update(compiler.compile_graph(graph, rules) if hasattr(compiler, "compile_graph") and rules else {})
    model["rules_fingerprint"] = ""
    model["charz_version"] = charz.__version__
    model["ingest_s"] = time.perf_counter() - started
    return Ingested(model, columns)


def signature(graph: Graph) -> str:
    """Shape and type of each input."""
    return ", ".join(f"{t.tensor}: {t.precision}{t.shape}" for t in graph.tensors if t.role == "input")
