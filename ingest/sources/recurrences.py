"""Layers of a language model that go on from a state, traced as the kernels that engines run them with.

transformers works a recurrence out in chunks of a prompt or token by token, in plain PyTorch that keeps what a kernel keeps on the
chip (the state behind every token or chunk) and whose length no size can follow. Kernels read a state once and write it in place
(flash-linear-attention, https://github.com/fla-org/flash-linear-attention; `selective_scan`, `mamba_chunk_scan_combined` and
`causal_conv1d` of Mamba, arXiv:2312.00752 and arXiv:2405.21060). So each function of the library that such a kernel stands in for is
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
"""Operators by what they take beside a state. The first tensor has the shape of the result."""


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
    """The states that one forward goes on from, as its layers ask for them and write them."""

    def __init__(self) -> None:
        self.last: Tensor | None = None
        """The recurrent state that a layer asked for last."""
        self.joined: tuple[Tensor, Tensor, Tensor] | None = None
        """A convolution's state, what it meets, and both joined, whose end is not kept yet."""
        self._written: set[int] = set()

    def join(self, state: Tensor, input: Tensor) -> Tensor:
        """A convolution's state with what follows it; the end of that is kept when a kernel for both comes, or by `keep`."""
        self.keep()
        self.joined = state, input, torch.ops.charz.state_join(state, input)
        return self.joined[2]

    def keep(self) -> None:
        """Write the end of what was joined into the state."""
        if self.joined is not None:
            state, _, whole = self.joined
            state.copy_(whole[..., -state.shape[-1] :])
            self.joined = None

    def is_written(self, state: Tensor) -> bool:
        """Whether an operator has written this state in place."""
        return id(state) in self._written

    def convolution(
        self, input: Tensor, weight: Tensor, bias: Tensor | None = None, activation: Any = None, **_unused: Any
    ) -> Tensor:
        """`causal_conv1d_fn`, whose input may be joined to a state."""
        if self.joined is not None and input is self.joined[2]:
            state, input, _ = self.joined
            self.joined = None
            return self.convolution_step(input, state, weight, bias, activation)
        return _activated(torch.ops.charz.state_conv.stateless(input, weight, bias), activation)

    def convolution_step(
        self, input: Tensor, state: Tensor, weight: Tensor, bias: Tensor | None = None, activation: Any = None
    ) -> Tensor:
        """`causal_conv1d_update`."""
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
        """The gated delta rule and its form with a decay for each key's feature (Kimi delta attention), of batch x length x heads x
        width."""
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
        """Mamba 2's scan, of batch x length x heads x width."""
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
        """Mamba 2's step of one token, of batch x heads x width; what is the same for all of a head comes expanded."""
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
        """Mamba's selective scan, of batch x width x length, from the state that its layer asked for."""
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
        """Mamba's step of one token, of batch x width."""
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
"""What stands in for functions of the library's modules, by their names."""


@contextlib.contextmanager
def as_kernels(module: torch.nn.Module, states: States) -> Iterator[None]:
    """Within it, the functions above of all modules that the model's classes are of are these operators."""
    places = {sys.modules[type(part).__module__] for part in module.modules()}
    with contextlib.ExitStack() as stack:
        for place in places:
            for name, function in FUNCTIONS.items():
                if hasattr(place, name):
                    stack.enter_context(mock.patch.object(place, name, function.__get__(states)))
        yield
        states.keep()
