"""One token after a prompt, of a language model that goes on from states of convolutions and recurrences.

The states are those that the library itself leaves behind a prompt, which is run on the meta device. They are inputs of the
step and resident between steps, as the key-value cache is; the step reads them, and writes them as the library does: into the
states of its cache or of its arguments, or as attributes of modules, which the step returns.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from charz.schema.errors import CharzError

from ..trace.export import BATCH, SEQUENCE, STATE_INPUT, Request
from ..trace.fx import first_line
from .language import SymbolicCache

CACHES = ("past_key_values", "cache_params")
"""Names by which a forward takes the library's cache."""

LISTED = "state"
"""Name by which a forward takes a list of states."""

PROMPT = 4
"""Tokens of the prompt whose states are looked at: none of their sizes follows from it."""


@dataclass(slots=True)
class States:
    """What a prompt leaves behind, by where it lies."""

    layers: list[Any] = field(default_factory=list)
    """Of the library's cache by layer, None where that has no state."""
    attributes: list[tuple[torch.nn.Module, str]] = field(default_factory=list)
    listed: int = 0
    """States that the forward takes as a list."""
    tensors: list[torch.Tensor] = field(default_factory=list)
    """All of them: of the layers, then of the list, then the attributes."""

    def given(self, tensors: list[torch.Tensor]) -> tuple[list[Any], list[torch.Tensor]]:
        """Layers of a cache and a list of states with these tensors for their own; attributes are set."""
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
        """What the modules hold now of those that are attributes."""
        return [getattr(module, name) for module, name in self.attributes]


_KINDS = ("conv_states", "recurrent_states")
"""What a layer of the library's cache calls its states."""


class StepCache(SymbolicCache):
    """Stands in for transformers' cache behind a prompt: keys and values as long as the context, states as they were left."""

    def __init__(self, context: torch.Tensor, states: list[Any], windows: list[int | None]) -> None:
        super().__init__(context, windows)
        self._states = states

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int = 0, *_unused: Any, **_more: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of the whole context, of a layer with a window of that."""
        window = self._windows[layer_idx] if self._windows else None
        if window is None:
            return super().update(keys, values, layer_idx)
        return torch.ops.charz.kv_window(keys, window), torch.ops.charz.kv_window(values, window)

    def get_conv_state(self, layer_idx: int = 0, state_idx: int = 0, **_more: Any) -> torch.Tensor | None:
        """What a convolution goes on from; None where a layer has none."""
        layer = self._states[layer_idx]
        return None if layer is None else layer.conv_states[state_idx]

    def get_recurrent_state(self, layer_idx: int = 0, state_idx: int = 0, **_more: Any) -> torch.Tensor | None:
        """What a recurrence goes on from; None where a layer has none."""
        layer = self._states[layer_idx]
        return None if layer is None else layer.recurrent_states[state_idx]

    def update_conv_state(self, states: torch.Tensor, layer_idx: int = 0, **more: Any) -> torch.Tensor:
        """Written by the library's own cache."""
        return self._states[layer_idx].update_conv_state(states, **more)  # type: ignore[no-any-return]

    def update_recurrent_state(self, states: torch.Tensor, layer_idx: int = 0, **more: Any) -> torch.Tensor:
        """Written by the library's own cache."""
        return self._states[layer_idx].update_recurrent_state(states, **more)  # type: ignore[no-any-return]

    def has_previous_state(self, *_unused: Any, **_more: Any) -> bool:
        """True: a prompt went before."""
        return True

    def is_recording_past(self, *_unused: Any, **_more: Any) -> bool:
        """False: nothing is taken back."""
        return False


def after_prompt(request: Request, forward: Callable[..., Any]) -> States:
    """The states that `forward` leaves behind a prompt of the request's batch. Raises CharzError where it does not run."""
    inputs = {
        name: value.new_empty((value.shape[0], PROMPT, *value.shape[2:]))
        if SEQUENCE in request.axes[name].values()
        else value
        for name, value in request.keywords.items()
    }
    before = {id(tensor) for _, _, tensor in _attributes(request.module)}
    try:
        with torch.no_grad():
            output = dict(forward(**inputs, use_cache=True))
    except Exception as error:  # whatever the model's own code raises
        raise CharzError(
            "no step of this model can be traced", request.source, first_line(error), "ingest it without --sequence 1"
        ) from error
    found = States()
    cache = next((output[name] for name in CACHES if output.get(name) is not None), None)
    for layer in getattr(cache, "layers", ()):
        has_state = hasattr(layer, _KINDS[0])
        found.layers.append(layer if has_state else None)
        states = [t for kind in _KINDS for t in getattr(layer, kind, {}).values()]
        found.tensors += [t for t in states if t is not None]
    listed = list(output.get(LISTED) or ())
    found.listed = len(listed)
    found.tensors += listed
    for module, name, tensor in _attributes(request.module):
        if id(tensor) not in before and tensor.shape[:1] == (request.default_batch,):
            found.attributes.append((module, name))
            found.tensors.append(tensor)
    return found


def _attributes(module: torch.nn.Module) -> list[tuple[torch.nn.Module, str, torch.Tensor]]:
    """Tensors that modules hold as plain attributes."""
    return [
        (part, name, value)
        for part in module.modules()
        for name, value in vars(part).items()
        if isinstance(value, torch.Tensor)
    ]


def make_step(request: Request, states: States) -> list[str]:
    """Make the request one of a single token with these states as inputs; their names."""
    for name, axes in request.axes.items():
        for dimension in [d for d, powers in axes.items() if powers == SEQUENCE]:
            value = request.keywords[name]
            request.keywords[name] = value.new_empty((*value.shape[:dimension], 1, *value.shape[dimension + 1 :]))
            del axes[dimension]
    names = [f"{STATE_INPUT}{i}" for i in range(len(states.tensors))]
    for name, tensor in zip(names, states.tensors, strict=True):
        request.keywords[name] = torch.empty_like(tensor)
        request.axes[name] = {0: BATCH}
    request.default_sequence = 1
    request.name += ",sequence=1"
    request.is_step = True
    request.reason = "one token, its states given"
    return names


def cache_name(parameters: Iterable[str]) -> str | None:
    """Name by which a forward with these parameters takes the library's cache; None where it takes none."""
    return next((name for name in CACHES if name in parameters), None)
