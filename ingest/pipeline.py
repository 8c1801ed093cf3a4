"""The whole ingest of one model: build, trace, lower, compile, columns."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import charz
from charz.schema.errors import CharzError, is_interrupt

from .compile import compile_graph
from .compile.rules import Rules
from .graph import Graph
from .identity import request_hash
from .rows import Ingested, content_hash, workload
from .sources.spec import Spec
from .trace.alike import Layers, NotAlikeError, find, shortened
from .trace.backward import add_backward
from .trace.export import Request, Traced, trace
from .trace.lower import lower
from .trace.refusal import depends_on_values
from .trace.symbolic import CONTEXT, NotPolynomialError


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Switch off the garbage collector, which finds no garbage among the many objects of a trace: this saves a quarter of the time, and
    tensors die where the model's code drops them, not where a collection happens to begin."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_uncollected()
def ingest(spec: Spec, rules: Rules, status: Callable[[str], None] = lambda _: None) -> Ingested:
    """Return the rows of a model. Raise CharzError for errors that the user can correct. `status` is told each step."""
    from .sources import build

    started = time.perf_counter()
    status(f"building {spec.shown} without weights")
    request = build(spec)
    if spec.train:
        request.module.train()
        request.name += ",train"
    request.name = spec.stored or request.name
    made = ingest_request(request, rules, train=spec.train, status=status)
    made.remark = remark(request, made, is_guess=spec.module == "factory" and not spec.inputs)
    made.model["request_hash"] = request_hash(spec)
    made.model["ingest_s"] = time.perf_counter() - started
    return made


@_uncollected()
def ingest_request(request: Request, rules: Rules, train: bool = False, status: Callable[[str], None] = lambda _: None) -> Ingested:
    """Return the rows of a source's request, e.g. `sources.live.request(module, inputs)`, which is traced each time.

    With `train` the backward pass is added; the module must be in training then.
    """
    started = time.perf_counter()
    status("tracing the operators of a run")
    graph, traced = to_graph(request)
    if all(operator.is_view for operator in graph.operators):
        next = "ingest one that computes something"
        raise CharzError("a model without operators", request.source, "nothing of it runs on a part", next)
    if train:
        status("adding the backward pass")
        add_backward(graph, rules.classes)
    columns = workload(graph)
    model = {**describe(request, graph, traced), "is_training": train, "request_hash": None}
    if train:
        model["not_honoured"] = "; ".join(graph.not_honoured) or None
    model["content_hash"] = content_hash(columns, model)
    status("compiling kernels for each backend")
    columns.update(compile_graph(graph, rules, with_servers=model["has_context"]))
    model["rules_fingerprint"] = rules.fingerprint
    model["charz_version"] = charz.__version__
    model["ingest_s"] = time.perf_counter() - started
    return Ingested(model, columns)


def remark(request: Request, made: Ingested, is_guess: bool = False) -> str:
    """Describe what the user left open: guessed inputs, chosen sizes and omitted tensors, and the parts of the model's backward code
    that charz does not follow."""
    said = [f"takes {made.model['input_signature']}"] if is_guess else []
    if is_guess and not made.model["is_batch_symbolic"]:
        said.append(f"the batch is fixed at {made.model['default_batch']} ({made.model['specialized_reason']})")
    if request.chosen:
        said.append(f"chosen: {', '.join(request.chosen)}")
    if request.left_out:
        said.append(f"left out: {', '.join(request.left_out)}")
    said = ["; ".join([*said, "--input NAME=DIMS:TYPE changes them"])] if said else []
    if made.model["not_honoured"]:
        said.append(f"not honoured: {made.model['not_honoured']}")
    return "; ".join(said)


def to_graph(request: Request) -> tuple[Graph, Traced]:
    """Trace and lower a model, with equal layers traced only once where they are known to be equal."""
    found = find(request.module) if request.program is None else []
    if found:
        try:
            return once(request, found)
        except Exception as error:  # with fewer layers, the model's own code may raise anything
            if is_interrupt(error):
                raise
    return whole(request)


def once(request: Request, found: Sequence[Layers]) -> tuple[Graph, Traced]:
    """Return the graph of a model from a trace of its first layers only. Raise NotAlikeError where the others may differ."""
    states = {
        **{name: str(list(p.shape)) for name, p in request.module.named_parameters()},
        **{name: str(list(b.shape)) for name, b in request.module.named_buffers()},
    }
    attempt = replace(request, keywords=dict(request.keywords))
    with shortened(found) as watch:
        graph, traced = whole(attempt, found)
    if watch.seen:
        raise NotAlikeError(f"code uses the numbers of layers: {', '.join(watch.seen)}")
    if attempt.default_batch != request.default_batch:
        raise NotAlikeError("another batch")
    if {t.tensor: t.shape for t in graph.tensors if t.role in ("weight", "buffer")} != states:
        raise NotAlikeError("parameters that are not the model's")
    return graph, traced


def whole(request: Request, repeated: Sequence[Layers] = ()) -> tuple[Graph, Traced]:
    """Trace and lower the whole model; where a size is not polynomial, again with fewer symbolic axes."""
    excluded: list[str] = []
    while True:
        traced = trace(request, excluded)
        try:
            root_class = type(request.module).__name__
            return lower(traced, root_class, repeated), traced
        except NotPolynomialError as error:
            if not traced.axes:
                raise depends_on_values(error.place or request.source) from None
            excluded.append(f"size {error} is not a polynomial" + (f" at {error.place}" if error.place else ""))


def describe(request: Request, graph: Graph, traced: Traced) -> dict[str, Any]:
    """Return the `model` row without key, hashes, versions and times."""
    return {
        "model": request.name,
        "source": request.source,
        "architecture_family": request.family,
        "input_signature": ", ".join(f"{t.tensor}: {t.precision}{t.shape}" for t in graph.tensors if t.role == "input"),
        "resolution": request.resolution,
        "is_batch_symbolic": traced.is_batch_symbolic,
        "is_sequence_symbolic": traced.is_sequence_symbolic,
        "has_context": _decodes(request, graph, traced),
        "specialized_reason": "; ".join(filter(None, [traced.reason, *graph.notes])) or None,
        "default_batch": 1 if traced.is_batch_symbolic else request.default_batch,
        "default_sequence": request.default_sequence,
        "not_honoured": None,
        "parameter_count": sum(p.numel() for p in request.module.parameters()),
        "published_macs": request.published_macs,
        "stored_policy": request.stored_policy,
        "planned_format": graph.planned_format,
        "layout_problem": graph.layout_problem,
    }


def _decodes(request: Request, graph: Graph, traced: Traced) -> bool:
    """Return True if the trace determines a decoding step: it is a step, or a prompt that leaves only keys and values."""
    is_prompt = CONTEXT in traced.symbols.axes.values() and not request.forgets
    return (request.is_step or is_prompt) and any(t.role == "kv_cache" for t in graph.tensors)
