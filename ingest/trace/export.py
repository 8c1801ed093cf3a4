"""Tracing: `torch.export.export` on the `meta` device, with every possible size symbolic."""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import torch
import torch._dynamo.config
from torch._C._functorch import is_batchedtensor
from torch.export import Dim, ExportedProgram
from torch.utils._pytree import tree_map_only

from charz.schema.errors import is_interrupt

from ..graph import Powers
from . import autocast, missing, regions
from .attention import as_products
from .layout import KeptContiguous
from .loops import unrolled
from .processor import Processor
from .recurrent import whole_layers
from .references import References
from .refusal import fixed_sizes, refusal
from .refusal import reason as why_fixed
from .selected import bounds
from .symbolic import CONTEXT, Symbols

BATCH: Powers = (1, 0, 0)
SEQUENCE: Powers = (0, 1, 0)

CONTEXT_INPUT = "charz_context"
"""Input that only carries the context length."""

STATE_INPUT = "charz_state_"
"""Prefix of the names of inputs that stay between runs and that each run writes."""

Axes = dict[str, dict[int, Powers]]
"""Powers of each symbolic size, by input name and dimension."""


@dataclass(frozen=True, slots=True)
class State:
    """An input that stays between runs."""

    name: str
    """Location of the state, beginning with the path of its layer."""
    is_pinned: bool
    """True if the model keeps the state in this element type whatever type its weights have."""


@dataclass(slots=True)
class Request:
    """A module with example inputs and their symbolic axes."""

    name: str
    source: str
    module: torch.nn.Module
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    axes: Axes = field(default_factory=dict)
    family: str = ""
    resolution: int | None = None
    default_batch: int = 2
    """Batch of the example inputs."""
    default_sequence: int = 1
    """Sequence length of the example inputs."""
    published_macs: float | None = None
    bounds: dict[str, int] = field(default_factory=dict)
    """Upper bounds of sizes that depend on data, in the order they arise; see `sources.detection`."""
    is_rebuilt: bool = False
    """True if charz rebuilt the module, so that its Python code keeps tensors for other times than the original's."""
    program: ExportedProgram | None = None
    """Program of a model that arrives exported."""
    reason: str | None = None
    """Reason of a fixed size, where the source itself knows it."""
    stored_policy: str | None = None
    """Precision policy of the stored checkpoint, from its configuration."""
    is_step: bool = False
    """True for a step of one token, with the states that a prompt left among its inputs."""
    states: dict[str, State] = field(default_factory=dict)
    """Inputs that stay between runs, by name."""
    left_out: list[str] = field(default_factory=list)
    """Optional tensor arguments of forward that the example lacks."""
    chosen: list[str] = field(default_factory=list)
    """Sizes of the example that neither the user nor the model sets."""
    forgets: bool = False
    """Set while tracing: True if a step would need a state that is not among the inputs."""


@dataclass(slots=True)
class Traced:
    """An exported program with the meaning of its symbols."""

    program: ExportedProgram
    symbols: Symbols
    axes: Axes
    is_batch_symbolic: bool
    is_sequence_symbolic: bool
    reason: str | None
    references: References | None = None
    """Lifetimes of tensors in Python while tracing; None for a program that arrived exported."""
    states: dict[str, State] = field(default_factory=dict)
    """Inputs that stay between runs, by name."""


def _given(request: Request) -> str:
    """Describe the example inputs by argument, e.g. `x [2, 3, 224, 224]`; empty where they do not bind to forward."""
    try:
        bound = inspect.signature(request.module.forward).bind_partial(*request.arguments, **request.keywords).arguments
    except TypeError:
        return ""
    return ", ".join(f"{name} {list(value.shape)}" for name, value in bound.items() if isinstance(value, torch.Tensor))


def trace(request: Request, excluded: Sequence[str] = ()) -> Traced:
    """Export with every axis symbolic that the model allows, and record the reason where it does not.

    `excluded` gives one reason for each earlier step of `_attempts` to skip.
    """
    if request.program is not None:
        return _traced(request, request.program, request.axes, request.reason)
    attempts = _attempts(request.axes)[len(excluded) :]
    reason = "; ".join(filter(None, [request.reason, *excluded[:1]])) or None
    while attempts:
        axes = attempts.pop(0)
        try:
            references = References()
            program = _export(request, axes, references)
        except Exception as error:  # the model's own code may raise anything under symbolic sizes
            if not attempts:
                if is_interrupt(error):
                    raise
                batch = _other_batch(error, request)
                if batch is None:
                    raise refusal(error, request.module, request.source, _given(request)) from error
                _set_batch(request, batch)
                attempts = [_without(request.axes, (BATCH,)), {}]
                reason = f"the code takes only a batch of {batch}" + (f"; {request.reason}" if request.reason else "")
            reason = reason or why_fixed(error, request.module)
            fixed = {axes.get(name, {}).get(dimension) for name, dimension in fixed_sizes(error)}
            if fixed == {BATCH} and len(attempts) > 1:
                attempts[0] = _without(axes, (BATCH,))
            continue
        return replace(_traced(request, program, axes, reason), references=None if request.is_rebuilt else references)
    raise AssertionError("the last attempt returns or raises")


def _attempts(axes: Axes) -> list[Axes]:
    """List the attempts: all axes, then without the sequence, then without any."""
    attempts = [axes]
    for without in ((SEQUENCE, CONTEXT), (SEQUENCE, CONTEXT, BATCH)):
        fewer = _without(axes, without)
        if fewer != attempts[-1]:
            attempts.append(fewer)
    return attempts


def _without(axes: Axes, powers: Sequence[Powers]) -> Axes:
    """Return the axes except those of the given sizes."""
    fewer = {n: {d: p for d, p in dims.items() if p not in powers} for n, dims in axes.items()}
    return {n: dims for n, dims in fewer.items() if dims}


def _other_batch(error: BaseException, request: Request) -> int | None:
    """Return the batch that the code requires in place of the example's, or None if the error does not name one."""
    free = {name for name, dims in request.axes.items() if BATCH in dims.values()}
    if not free or not free <= request.keywords.keys():
        return None
    said = next((found for pattern in _MISFITS if (found := re.search(pattern, str(error)))), None)
    wanted = {int(size) for size in said.groups()} - {request.default_batch, 1} if said else set()
    return wanted.pop() if len(wanted) == 1 else None


_MISFITS = (
    r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)",
    r"broadcast a dimension of length (\d+)",
    r"[Ee]xpected hidden\S* size \(\d+, (\d+), \d+\)",
)
"""Patterns of torch's errors about two sizes that do not match."""


def _set_batch(request: Request, batch: int) -> None:
    """Give the request example inputs of this batch, and make the batch fixed."""
    for name, dims in request.axes.items():
        value = request.keywords[name]
        shape = [batch if dims.get(d) == BATCH else size for d, size in enumerate(value.shape)]
        request.keywords[name] = value.new_empty(shape)
    request.axes = _without(request.axes, (BATCH,))
    request.default_batch = batch


def _export(request: Request, axes: Axes, references: References) -> ExportedProgram:
    dynamic: Any = None
    missing.register()
    request = _anew(_with_context(request, axes))
    if any(axes.values()):
        dynamic = {name: _dims(axes.get(name, {}), value) for name, value in _inputs(request).items()}
    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # one opaque operator would hide the attention
    try:
        with (
            torch.no_grad(),
            warnings.catch_warnings(),
            _quiet(),
            _kept_modules(),
            _unchecked_values(),
            torch._dynamo.config.patch(disable=True),  # compiled code and branches are traced as written
            references,
            whole_layers(),
            autocast.on_processor(),
            as_products(),
            unrolled(),
        ):
            warnings.simplefilter("ignore")  # attributes that a model caches in forward, deprecations in its code
            try:
                return _call_export(request, dynamic)
            except Exception as error:
                is_of_device = re.search("[Mm]eta|CPU", str(error))  # e.g. a forward that makes constants on the CPU
                if not is_of_device and (dynamic is not None or is_interrupt(error)):
                    raise
                try:
                    return _export_on_processor(request, dynamic)
                except Exception:
                    if is_of_device:
                        raise
                    raise error from None
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hide logs and prints: the tracer's error itself states why it gives up a size."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _kept_modules() -> Iterator[None]:
    """Make `Module.to` keep a module that already has the requested type, because its parameters cannot be exchanged during a trace."""
    original = torch.nn.Module.to

    def to(module: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
        dtype = torch._C._nn._parse_to(*args, **kwargs)[1]
        if dtype is None or all(p.dtype == dtype for p in module.parameters() if p.is_floating_point()):
            return module
        return original(module, *args, **kwargs)

    with mock.patch.object(torch.nn.Module, "to", to):
        yield


def _unchecked_values() -> contextlib.AbstractContextManager[Any]:
    """Switch off the parameter checks of distributions, because traced parameters have no values."""
    return mock.patch.object(torch.distributions.Distribution, "_validate_args", False)


def _export_on_processor(request: Request, dynamic: Any) -> ExportedProgram:
    processor = Processor()
    given = replace(
        request,
        arguments=tuple(processor(a) for a in request.arguments),
        keywords={name: processor(a) for name, a in request.keywords.items()},
    )
    with processor.holding(request.module):
        return _call_export(given, dynamic)


def _with_context(request: Request, axes: Axes) -> Request:
    """Give a request whose context is fixed a context as long as the sequence, so that only the prompt is attended to."""
    if CONTEXT_INPUT not in request.keywords or axes.get(CONTEXT_INPUT):
        return request
    context = request.keywords[CONTEXT_INPUT].new_empty(request.default_sequence)
    return replace(request, keywords={**request.keywords, CONTEXT_INPUT: context})


def _anew(request: Request) -> Request:
    """Give the request fresh inputs, because a tensor keeps the symbolic mark of an earlier attempt."""
    arguments, keywords = tree_map_only(
        torch.Tensor, lambda value: value.detach(), (request.arguments, request.keywords)
    )
    return replace(request, arguments=arguments, keywords=keywords)


def _call_export(request: Request, dynamic: Any) -> ExportedProgram:
    with regions.marked(request.module.training), KeptContiguous():
        program = torch.export.export(
            request.module, request.arguments, request.keywords, dynamic_shapes=dynamic, strict=False
        )
    if any(_is_batched(n.meta.get("val")) for n in program.graph.nodes):  # vmap: one traced sample represents many
        return program.run_decompositions({})
    if autocast.is_within(program):
        return _with_casts(request, dynamic, program)
    return program


def _with_casts(request: Request, dynamic: Any, program: ExportedProgram) -> ExportedProgram:
    """Return the program with the casts of its autocast regions as operators, which meta tensors do not show."""
    if any(value.device.type == "meta" for value in program.state_dict.values()):
        return _export_on_processor(request, dynamic)
    return autocast.with_casts(program)


def _is_batched(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and is_batchedtensor(value)


def _inputs(request: Request) -> dict[str, Any]:
    """Return the example inputs by the parameter to which they bind."""
    signature = inspect.signature(request.module.forward)
    return dict(signature.bind(*request.arguments, **request.keywords).arguments)


def _dims(axes: dict[int, Powers], value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return None if not isinstance(value, dict) else dict.fromkeys(value)
    return dict.fromkeys(axes, Dim.DYNAMIC) or None


def _traced(request: Request, program: ExportedProgram, axes: Axes, reason: str | None) -> Traced:
    from torch.export.graph_signature import InputKind

    powers: dict[Any, Powers] = {}
    placeholders = {n.name: n for n in program.graph_module.graph.nodes if n.op == "placeholder"}
    for spec in program.graph_signature.input_specs:
        if spec.kind is not InputKind.USER_INPUT or spec.arg.name not in placeholders:
            continue
        value = placeholders[spec.arg.name].meta.get("val")
        for d, power in axes.get(spec.arg.name, {}).items():
            size = value.shape[d]
            if not isinstance(size, int):
                powers[size.node.expr] = power
    found = set(powers.values())
    most, places = bounds(program)
    reason = "; ".join(filter(None, [reason, *places])) or None
    return Traced(
        program, Symbols(powers, most), axes, BATCH in found, SEQUENCE in found, reason, states=request.states
    )
