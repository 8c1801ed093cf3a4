"""Layers of a language model that continue from a state, traced as the kernels of inference engines.

transformers computes a recurrence in chunks of a prompt or token by token, in plain PyTorch: it stores what a kernel keeps on
the chip (the state after every token or chunk), and its length cannot be symbolic. Kernels read a state once and write it in place
(flash-linear-attention, https://github.com/fla-org/flash-linear-attention; `selective_scan`, `mamba_chunk_scan_combined` and
`causal_conv1d` of Mamba, arXiv:2312.00752 and arXiv:2405.21060). So each library function that such a kernel replaces is
one operator here, and one trace answers a prompt and a step.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from ..trace import bounded

_LIBRARY = torch.library.Library(bounded.NAMESPACE, "FRAGMENT")
_ARGUMENTS = {
    "state_conv": "Tensor input, Tensor weight, Tensor? bias",
    "delta_rule": "Tensor value, Tensor query, Tensor key, Tensor decay, Tensor beta, int chunk",
    "state_space": "Tensor input, Tensor step, Tensor decay, Tensor key, Tensor query, Tensor? skip, Tensor? bias, int chunk",
    "selective_scan": "Tensor input, Tensor step, Tensor decay, Tensor key, Tensor query, Tensor? skip, Tensor? gate, Tensor? bias",
}
"""Signatures of the operators without their state. The first tensor has the shape of the result."""


def _joined(state: Tensor, input: Tensor) -> Tensor:
    return state.new_empty((*state.shape[:-1], state.shape[-1] + input.shape[-1]))


def _with_state(state: Tensor, value: Tensor, *_unused: Any) -> tuple[Tensor, Tensor]:
    return state.new_empty(state.shape), value.new_empty(value.shape)


def _without_state(value: Tensor, *_unused: Any) -> Tensor:
    return value.new_empty(value.shape)


_LIBRARY.define("state_join(Tensor state, Tensor input) -> Tensor")
_LIBRARY.impl("state_join", _joined, "CompositeExplicitAutograd")
torch.library.register_fake(f"{bounded.NAMESPACE}::state_join", _joined, lib=_LIBRARY)

for _name, _taken in _ARGUMENTS.items():
    for _overload, _signature, _function in (
        ("", f"Tensor state, {_taken}) -> (Tensor, Tensor", _with_state),
        (".stateless", f"{_taken}) -> (Tensor", _without_state),
    ):
        _LIBRARY.define(f"{_name}{_overload}({_signature})")
        _LIBRARY.impl(f"{_name}{_overload}", _function, "CompositeExplicitAutograd")
        torch.library.register_fake(f"{bounded.NAMESPACE}::{_name}{_overload}", _function, lib=_LIBRARY)


class States:
    """The states from which one forward continues, as its layers ask for them and write them."""

    def __init__(self) -> None:
        self.last: Tensor | None = None
        """The recurrent state that a layer asked for last."""
        self.joined: tuple[Tensor, Tensor, Tensor] | None = None
        """A convolution's state, its input, and both joined, whose end is not yet kept."""
        self._written: set[int] = set()

    def join(self, state: Tensor, input: Tensor) -> Tensor:
        """Join a convolution's state and its input; a kernel for both, or `keep`, stores the end of the result."""
        self.keep()
        self.joined = state, input, torch.ops.charz.state_join(state, input)
        return self.joined[2]

    def keep(self) -> None:
        """Write the end of the joined tensor into the state."""
        if self.joined is not None:
            state, _, whole = self.joined
            state.copy_(whole[..., -state.shape[-1] :])
            self.joined = None

    def is_written(self, state: Tensor) -> bool:
        """Return True if an operator has written this state in place."""
        return id(state) in self._written

    def convolution(
        self, input: Tensor, weight: Tensor, bias: Tensor | None = None, activation: Any = None, **_unused: Any
    ) -> Tensor:
        """Replace `causal_conv1d_fn`, whose input may be joined to a state."""
        if self.joined is not None and input is self.joined[2]:
            state, input, _ = self.joined
            self.joined = None
            return self.convolution_step(input, state, weight, bias, activation)
        return _activated(torch.ops.charz.state_conv.stateless(input, weight, bias), activation)

    def convolution_step(
        self, input: Tensor, state: Tensor, weight: Tensor, bias: Tensor | None = None, activation: Any = None
    ) -> Tensor:
        """Replace `causal_conv1d_update`."""
        return _activated(torch.ops.charz.state_conv(state, input, weight, bias)[1], activation)

    def delta_rule(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        g: Tensor,
        beta: Tensor,
        chunk_size: int = 64,
        initial_state: Tensor | None = None,
        **_unused: Any,
    ) -> tuple[Tensor, Tensor]:
        """Replace the gated delta rule, and its form with a decay for each key's feature (Kimi delta attention). Tensors are
        batch x length x heads x width."""
        rest = value, query, key, g, beta, chunk_size
        if initial_state is None:
            return torch.ops.charz.delta_rule.stateless(*rest), value.new_empty(0)
        return self._in_place(torch.ops.charz.delta_rule(initial_state, *rest)[1], initial_state)

    def state_space(
        self,
        hidden_states: Tensor,
        dt: Tensor,
        A: Tensor,
        B: Tensor,
        C: Tensor,
        chunk_size: int,
        D: Tensor | None = None,
        dt_bias: Tensor | None = None,
        initial_states: Tensor | None = None,
        return_final_states: bool = False,
        **_unused: Any,
    ) -> Any:
        """Replace Mamba 2's scan, of batch x length x heads x width."""
        rest = hidden_states, dt, A, B, C, D, dt_bias, chunk_size
        if initial_states is None:
            result = torch.ops.charz.state_space.stateless(*rest)
            return (result, result.new_empty(0)) if return_final_states else result
        result = self._in_place(torch.ops.charz.state_space(initial_states, *rest)[1], initial_states)
        return result if return_final_states else result[0]

    def state_space_step(
        self,
        state: Tensor,
        hidden_states: Tensor,
        dt: Tensor,
        A: Tensor,
        B: Tensor,
        C: Tensor,
        D: Tensor | None = None,
        dt_bias: Tensor | None = None,
        **_unused: Any,
    ) -> Tensor:
        """Replace Mamba 2's step of one token, of batch x heads x width; values shared by a head come expanded."""
        token = [t.unsqueeze(1) for t in (hidden_states, dt[..., 0], B, C)]
        one = [None if t is None else t.select(-1, 0) for t in (D, dt_bias)]
        result = torch.ops.charz.state_space(state, *token[:2], A[:, 0, 0], *token[2:], *one, 1)[1]
        return result.squeeze(1)  # type: ignore[no-any-return]

    def scan(
        self,
        hidden_states: Tensor,
        dt: Tensor,
        A: Tensor,
        B: Tensor,
        C: Tensor,
        D: Tensor | None = None,
        z: Tensor | None = None,
        delta_bias: Tensor | None = None,
        return_last_state: bool = False,
        **_unused: Any,
    ) -> Any:
        """Replace Mamba's selective scan, of batch x width x length, from the state that its layer asked for."""
        rest = hidden_states, dt, A, B, C, D, z, delta_bias
        state = self.last
        if state is None or state.shape != (*hidden_states.shape[:2], A.shape[-1]):
            result = torch.ops.charz.selective_scan.stateless(*rest)
            return (result, result.new_empty((*result.shape[:2], A.shape[-1]))) if return_last_state else result
        made = self._in_place(torch.ops.charz.selective_scan(state, *rest)[1], state)
        return made if return_last_state else made[0]

    def scan_step(
        self,
        state: Tensor,
        hidden_states: Tensor,
        dt: Tensor,
        A: Tensor,
        B: Tensor,
        C: Tensor,
        D: Tensor | None = None,
        dt_bias: Tensor | None = None,
        z: Tensor | None = None,
        **_unused: Any,
    ) -> Tensor:
        """Replace Mamba's step of one token, of batch x width."""
        input, step, key, query = (t.unsqueeze(-1) for t in (hidden_states, dt, B, C))
        gate = None if z is None else z.unsqueeze(-1)
        result = torch.ops.charz.selective_scan(state, input, step, A, key, query, D, gate, dt_bias)[1]
        return result.squeeze(-1)  # type: ignore[no-any-return]

    def _in_place(self, result: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        self._written.add(id(state))
        return result, state


def _activated(result: Tensor, activation: Any) -> Tensor:
    from transformers.activations import ACT2FN

    return result if activation is None else ACT2FN[activation](result)  # type: ignore[no-any-return]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "causal_conv1d_fn": States.convolution,
    "causal_conv1d_update": States.convolution_step,
    "torch_chunk_gated_delta_rule": States.delta_rule,
    "torch_recurrent_gated_delta_rule": States.delta_rule,
    "chunk_kimi_delta_attention": States.delta_rule,
    "recurrent_kimi_delta_attention": States.delta_rule,
    "mamba2_chunk_scan": States.state_space,
    "mamba2_selective_state_update": States.state_space_step,
    "mamba_selective_scan": States.scan,
    "mamba_selective_state_update": States.scan_step,
}
"""Replacements of functions in the library's modules, by their names."""


@contextlib.contextmanager
def as_kernels(module: torch.nn.Module, states: States) -> Iterator[None]:
    """Replace the functions above in all modules that define the model's classes."""
    places = {sys.modules[type(part).__module__] for part in module.modules()}
    with contextlib.ExitStack() as stack:
        for place in places:
            for name, function in FUNCTIONS.items():
                if hasattr(place, name):
                    stack.enter_context(mock.patch.object(place, name, function.__get__(states)))
        yield
        states.keep()
