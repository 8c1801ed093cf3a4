"""States of convolutions and recurrences from which a language model continues.

They are the states that the library itself leaves after a prompt, which runs on the meta device with 16-bit weights: a
state that is wider then has that type whatever the weights are. They are inputs of the run and resident between runs, as the
key-value cache is. A run reads and writes them as the library does: in its cache, in its arguments, or in attributes of
modules, which a step of one token returns. Prompts too take the states of the library's cache, so that one trace answers both.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from charz.schema.errors import CharzError

from ..trace.export import BATCH, SEQUENCE, STATE_INPUT, Request, State
from ..trace.fx import first_line
from . import recurrences
from .language import SymbolicCache, Window

CACHES = ("past_key_values", "cache_params")
"""Names by which a forward takes the library's cache."""

LISTED = "state"
"""Name by which a forward takes a list of states."""

PROMPT = 4
"""Number of tokens of the trial prompt; no state's size depends on it."""


@dataclass(slots=True)
class States:
    """States that a prompt leaves, by their location."""

    layers: list[Any] = field(default_factory=list)
    """Layers of the library's cache, None where a layer has no state."""
    attributes: list[tuple[torch.nn.Module, str]] = field(default_factory=list)
    listed: int = 0
    """Number of states that the forward takes as a list."""
    tensors: list[torch.Tensor] = field(default_factory=list)
    """All states: those of layers, then of the list, then attributes."""
    names: list[str] = field(default_factory=list)
    """Locations of the states, each beginning with the path of its layer or module."""

    def given(self, tensors: list[torch.Tensor]) -> tuple[list[Any], list[torch.Tensor]]:
        """Return cache layers and the list of states made of these tensors; set those that are attributes."""
        rest = iter(tensors)
        layers = []
        for layer in self.layers:
            made = copy.copy(layer)
            for kind in _KINDS if layer is not None else ():
                known = getattr(layer, kind)
                setattr(made, kind, {i: t if t is None else next(rest) for i, t in known.items()})
            layers.append(made)
        listed = [next(rest) for _ in range(self.listed)]
        for (module, name), tensor in zip(self.attributes, rest, strict=True):
            setattr(module, name, tensor)
        return layers, listed

    def attributed(self) -> list[torch.Tensor]:
        """Return the present values of the states that are attributes."""
        return [getattr(module, name) for module, name in self.attributes]


_KINDS = ("conv_states", "recurrent_states")
"""Attributes in which a layer of the library's cache keeps its states."""


class StateCache(SymbolicCache):
    """Substitute for transformers' cache after a prompt: keys and values as long as the context, states as given."""

    def __init__(
        self, context: torch.Tensor, layers: list[Any], windows: list[Window | None], states: recurrences.States
    ) -> None:
        super().__init__(context, windows)
        self._layers = layers
        self._states = states

    def get_conv_state(self, layer_idx: int = 0, state_idx: int = 0, **_more: Any) -> torch.Tensor | None:
        """Return the state of a convolution; None where a layer has none."""
        layer = self._layers[layer_idx]
        return None if layer is None else layer.conv_states[state_idx]

    def get_recurrent_state(self, layer_idx: int = 0, state_idx: int = 0, **_more: Any) -> torch.Tensor | None:
        """Return the state of a recurrence; None where a layer has none."""
        layer = self._layers[layer_idx]
        self._states.last = None if layer is None else layer.recurrent_states[state_idx]
        return self._states.last

    def update_conv_state(
        self, states: torch.Tensor, layer_idx: int = 0, state_idx: int = 0, **_more: Any
    ) -> torch.Tensor:
        """Return the input of a convolution: its state joined with the new tokens."""
        return self._states.join(self._layers[layer_idx].conv_states[state_idx], states)

    def update_recurrent_state(
        self, states: torch.Tensor, layer_idx: int = 0, state_idx: int = 0, **_more: Any
    ) -> torch.Tensor:
        """Write the state in place, unless an operator has done so."""
        kept: torch.Tensor = self._layers[layer_idx].recurrent_states[state_idx]
        return kept if self._states.is_written(kept) else kept.copy_(states)

    def has_previous_state(self, *_unused: Any, **_more: Any) -> bool:
        """Return True: a prompt preceded this run."""
        return True

    def is_recording_past(self, *_unused: Any, **_more: Any) -> bool:
        """Return False: no token is rolled back."""
        return False


class StepCache(StateCache):
    """A `StateCache` for one token, where windows are full."""

    def _kept(self, states: torch.Tensor, window: Window | None) -> torch.Tensor:
        if window is None:
            return super()._kept(states, window)
        return torch.ops.charz.kv_window(states, window.length)  # type: ignore[no-any-return]


@contextlib.contextmanager
def _in_16_bits(module: torch.nn.Module) -> Iterator[None]:
    """Make a module's weights and buffers on the meta device bf16 within the context."""
    held = {t: t.data for t in (*module.parameters(), *module.buffers()) if t.is_floating_point()}
    try:
        for tensor, data in held.items():
            tensor.data = data.to(torch.bfloat16)
        yield
    finally:
        for tensor, data in held.items():
            tensor.data = data


def keeps_states(config: Any) -> bool:
    """Return True if a layer of the library's cache for this configuration keeps a state."""
    from transformers import DynamicCache

    return any(hasattr(layer, _KINDS[0]) for layer in DynamicCache(config=config).layers)


def after_prompt(request: Request, forward: Callable[..., Any]) -> States:
    """Return the states that `forward` leaves after a prompt of the request's batch. Raise CharzError where it fails."""
    inputs = {
        name: value.new_empty((value.shape[0], PROMPT, *value.shape[2:]))
        if SEQUENCE in request.axes[name].values()
        else value
        for name, value in request.keywords.items()
    }
    before = {id(tensor) for _, _, tensor in _attributes(request.module)}
    try:
        with torch.no_grad(), _in_16_bits(request.module):
            output = dict(forward(**inputs, use_cache=True))
    except Exception as error:  # the model's own code may raise anything
        raise CharzError(
            "a step of this model cannot be traced", request.source, first_line(error), "ingest it without --sequence 1"
        ) from error
    found = States()
    cache = next((output[name] for name in CACHES if output.get(name) is not None), None)
    layers = getattr(cache, "layers", ())
    path = _path_of_layers(request.module, len(layers))
    for number, layer in enumerate(layers):
        has_state = hasattr(layer, _KINDS[0])
        found.layers.append(layer if has_state else None)
        for kind in _KINDS:
            states = [t for t in getattr(layer, kind, {}).values() if t is not None]
            found.tensors += states
            found.names += [f"{path}.{number}.{kind}.{i}" for i in range(len(states))]
    listed = list(output.get(LISTED) or ())
    found.listed = len(listed)
    found.tensors += listed
    found.names += [f"{LISTED}.{i}" for i in range(len(listed))]
    paths = {part: where for where, part in request.module.named_modules()}
    for module, name, tensor in _attributes(request.module):
        if id(tensor) not in before and tensor.shape[:1] == (request.default_batch,):
            found.attributes.append((module, name))
            found.tensors.append(tensor)
            found.names.append(f"{paths[module]}.{name}")
    return found


def _path_of_layers(module: torch.nn.Module, count: int) -> str:
    """Return the path of the module list with as many layers as the cache."""
    lists = (where for where, part in module.named_modules() if isinstance(part, torch.nn.ModuleList) and len(part) == count)
    return next(lists, "layers")


def _attributes(module: torch.nn.Module) -> list[tuple[torch.nn.Module, str, torch.Tensor]]:
    """List the tensors that are plain attributes of modules."""
    return [
        (part, name, value)
        for part in module.modules()
        for name, value in vars(part).items()
        if isinstance(value, torch.Tensor)
    ]


def give_states(request: Request, states: States) -> list[str]:
    """Make the states inputs of the request, and return their names."""
    named = {f"{STATE_INPUT}{i}": tensor for i, tensor in enumerate(states.tensors)}
    for name, tensor in named.items():
        is_pinned = tensor.dtype == torch.float32
        request.keywords[name] = torch.empty_like(tensor, dtype=torch.float32 if tensor.is_floating_point() else None)
        request.axes[name] = {0: BATCH}
        request.states[name] = State(states.names[len(request.states)], is_pinned)
    return list(named)


def make_step(request: Request) -> None:
    """Reduce the request to a single token."""
    for name, axes in request.axes.items():
        for dimension in [d for d, powers in axes.items() if powers == SEQUENCE]:
            value = request.keywords[name]
            request.keywords[name] = value.new_empty((*value.shape[:dimension], 1, *value.shape[dimension + 1 :]))
            del axes[dimension]
    request.default_sequence = 1
    request.name += ",sequence=1"
    request.is_step = True
    request.reason = "one token, its states given"


def cache_name(parameters: Iterable[str]) -> str | None:
    """Return the name by which a forward with these parameters takes the library's cache; None where it takes none."""
    return next((name for name in CACHES if name in parameters), None)
