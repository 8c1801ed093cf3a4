"""Operations on complex numbers, counted as operations on real ones.

A multiply-accumulate of complex numbers is four real ones: (a + bi)(c + di) = ac - bd + (ad + bc)i. So a product of (m, k) by
(k, n) complex matrices is one of (m, 2k) by (2k, 2n) real ones, whose left side has the same size. Fourier transforms state real
operations already (`fft`).
"""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import scaled
from .elementwise import FLOPS_PER_ELEMENT
from .registry import Call

COMPLEX = "complex"
"""Prefix of the names of complex element types."""

PRODUCT = 4
"""Real multiply-accumulates of a complex one."""

FLOPS_PER_COMPLEX: dict[str, int] = {
    "mul": 6,  # four products, a difference and a sum
    "multiply": 6,
    "square": 6,
    "prod": 6,
    "cumprod": 6,
    "div": 11,  # a product with the conjugate, the square of the modulus, two divisions
    "true_divide": 11,
    "reciprocal": 6,  # the square of the modulus, a sign, two divisions
    "abs": 4,  # two squares, a sum, a root
    "angle": 1,
    "conj": 1,
    "conj_physical": 1,
    "sgn": 6,  # the modulus, two divisions
    "exp": 5,  # exp, sin and cos, two products
    "log": 6,  # the modulus and its logarithm, the angle
    "sin": 6,  # sin, cos, sinh and cosh, two products
    "cos": 7,  # and a sign
    "pow": 17,  # exp(b log a)
    "eq": 3,  # two comparisons, and both
    "ne": 3,
    "addcmul": 14,
    "addcdiv": 19,
    "lerp": 10,
}
"""FLOPs an element of complex functions; any other function applies its real operations to both parts."""

STATED = frozenset({"complex", "polar"})
"""Functions that make complex numbers of real ones: their formulas count real operations."""


def as_real(call: Call, steps: list[Step]) -> list[Step]:
    """Convert the steps of a call into real operations; without complex numbers they stay unchanged."""
    name = call.overload.__name__.split(".")[0].rstrip("_")
    values = [*call.tensors(), *call.outputs]
    if call.operator_class == "fft" or name in STATED or not any(v.precision.startswith(COMPLEX) for v in values):
        return steps
    real = FLOPS_PER_ELEMENT.get(name)
    factor = FLOPS_PER_COMPLEX[name] / real if real and name in FLOPS_PER_COMPLEX else 2.0
    for step in steps:
        factors = dict.fromkeys(("flops",), factor)
        if "macs" in step.quantities:
            factors = dict.fromkeys(("macs", "flops"), PRODUCT)
        if step.step_class == "gemm":
            factors |= {"k": 2.0, "n": 2.0, "threads": 2.0}
        step.quantities.update({q: scaled(step.quantities[q], by) for q, by in factors.items() if q in step.quantities})
    return steps
