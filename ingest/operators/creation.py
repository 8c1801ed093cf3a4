"""Tensors created without operands: one write, no read. `empty` writes nothing either."""

from __future__ import annotations

from ..graph import Step
from .elementwise import _overloads
from .registry import Call, move, rule, words

FILLED = words(
    "arange full full_like linspace logspace new_full new_ones new_zeros ones ones_like zeros zeros_like eye "
    "rand rand_like randint randint_like randn randn_like scalar_tensor tril_indices triu_indices hann_window "
    "hamming_window blackman_window multinomial randperm"
)
EMPTY = words("empty empty_like empty_strided new_empty new_empty_strided empty_permuted")
IN_PLACE = words("exponential_ geometric_ random_ log_normal_ cauchy_")


@rule(*(o for n in FILLED for o in _overloads(n)), operator_class="create")
def filled(call: Call) -> list[Step]:
    _read_nothing(call)
    return [move(call.output.elements)]


@rule(*(o for n in EMPTY for o in _overloads(n)), operator_class="create")
def empty(call: Call) -> list[Step]:
    """Count nothing: memory is reserved, and nothing moves."""
    _read_nothing(call)
    call.moves(call.output, 0)
    return [move(0)]


def _read_nothing(call: Call) -> None:
    """Mark operands as unread: a `*_like` uses only their shape."""
    for value in call.tensors():
        call.moves(value, 0)
