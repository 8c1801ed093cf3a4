"""Elementwise arithmetic, and the table of FLOPs an element that every family reads.

Each addition, subtraction, multiplication, division, comparison, minimum, maximum, sign
change, rounding or logical operation counts as one, and so does each elementary function (exp, log, sqrt,
tanh, erf, sin, pow, ...), because its cost in instructions depends on the machine and belongs to
the efficiency table. A composed function counts its formula, given next to its row.
"""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import product, total
from .registry import Call, rule, vector, words

FLOPS_PER_ELEMENT: dict[str, int] = {
    # one operation
    **dict.fromkeys(
        words(
            "abs acos acosh angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or "
            "bitwise_right_shift bitwise_xor ceil clamp_max clamp_min conj conj_physical copysign cos cosh "
            "deg2rad div divide eq erf erfc erfinv exp exp2 expm1 floor floor_divide fmax fmin fmod frac ge "
            "greater greater_equal gt i0 isfinite isinf isnan ldexp le less less_equal lgamma log log10 "
            "log1p log2 logical_and logical_not logical_or logical_xor lt maximum minimum mul multiply ne "
            "neg negative not_equal positive pow rad2deg reciprocal relu remainder round rsqrt sgn sign "
            "signbit sin sinh special_erf special_expit special_log1p sqrt square tan tanh trunc where "
            "threshold float_power masked_fill nextafter hypot true_divide digamma polygamma real_multiply "
            "__and__ __or__ __xor__ __lshift__ __rshift__ __iand__ __ior__ special_exp2 clip_min fix"
        ),
        1,
    ),
    "add": 1,  # 2 with an alpha other than 1
    "sub": 1,
    "subtract": 1,
    "rsub": 1,
    "clamp": 2,  # a minimum and a maximum
    "clip": 2,
    "addcmul": 3,  # x + value*a*b
    "addcdiv": 3,
    "lerp": 3,  # x + w*(y - x)
    "nan_to_num": 3,  # three comparisons
    "sinc": 3,
    "logaddexp": 6,
    "xlogy": 2,
    "logit": 3,  # log(x / (1 - x))
    "complex": 0,  # pairs two arrays
    "polar": 4,  # r*cos, r*sin
    # activations
    "relu6": 2,  # min(max(x, 0), 6)
    "leaky_relu": 2,  # compare, multiply
    "prelu": 2,
    "rrelu": 2,
    "hardtanh": 2,
    "hardsigmoid": 4,  # add, max, min, multiply
    "hardswish": 5,  # x * hardsigmoid(x)
    "sigmoid": 4,  # negate, exp, add, divide
    "log_sigmoid": 4,
    "silu": 5,  # x * sigmoid(x)
    "gelu": 5,  # x/2 * (1 + erf(x/sqrt 2)); as many count for the tanh form
    "elu": 4,  # compare, exp, subtract, multiply
    "celu": 5,
    "selu": 5,
    "mish": 5,  # x * tanh(log(1 + exp(x)))
    "softplus": 4,
    "softsign": 3,
    "softshrink": 3,
    "hardshrink": 2,
    "tanhshrink": 2,
    "glu": 5,  # a * sigmoid(b), an output element
    "dropout": 2,  # training only: mask, scale; in inference it is an alias
    "fake_quantize": 7,  # multiply by 1/scale, round, add the zero, two bounds, subtract the zero, multiply by the scale
    # rows
    "softmax": 5,  # maximum, subtract, exp, sum, divide
    "log_softmax": 5,
    "layer_norm": 7,  # sum, subtract, square, sum, multiply by 1/sd, scale, shift
    "group_norm": 7,
    "instance_norm": 7,
    "rms_norm": 4,  # square, sum, multiply by 1/rms, scale
    "batch_norm": 2,  # x*a + b with a and b of a channel
    "batch_norm_training": 9,  # also statistics of the batch
    "l2_norm": 2,
    # reductions, an input element
    "sum": 1,
    "mean": 1,
    "prod": 1,
    "amax": 1,
    "amin": 1,
    "max": 1,
    "min": 1,
    "argmax": 1,
    "argmin": 1,
    "any": 1,
    "all": 1,
    "cumsum": 1,
    "cumprod": 1,
    "logsumexp": 4,
    "var": 4,
    "std": 4,
    "norm": 2,
    "count_nonzero": 1,
}
"""FLOPs per element: per output element for arithmetic and activations, per input element for row-wise operators (e.g. softmax)
and reductions."""


def _overloads(name: str) -> list[str]:
    """Return every ATen overload of an operator with its in-place form, or none that this torch lacks."""
    import torch

    found = []
    for spelling in (name, name + "_"):
        packet = getattr(torch.ops.aten, spelling, None)
        if packet is not None:
            found += [f"aten.{spelling}.{overload}" for overload in packet.overloads() if not overload.endswith("out")]
    return found


ARITHMETIC = words(
    "abs acos acosh add addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift "
    "bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil clamp clamp_max clamp_min clip complex "
    "conj_physical copysign cos cosh deg2rad digamma div divide eq erf erfc erfinv exp exp2 expm1 float_power floor "
    "floor_divide fmax fmin fmod frac ge greater greater_equal gt hypot i0 isfinite isinf isnan ldexp le "
    "lerp less less_equal lgamma log log10 log1p log2 logaddexp logical_and logical_not logical_or "
    "logical_xor logit lt masked_fill maximum minimum mul multiply nan_to_num ne neg negative not_equal "
    "polar positive pow rad2deg reciprocal remainder round rsqrt rsub sgn sign signbit sin sinc sinh "
    "special_erf special_expit special_exp2 special_log1p sqrt square sub subtract tan tanh true_divide trunc where "
    "xlogy "
    "__and__ __or__ __xor__ __lshift__ __rshift__ __iand__ __ior__"
)

SPECIAL = {"tanh"}
"""Names of the table that the activation family registers."""


def arithmetic(call: Call) -> list[Step]:
    """Count the FLOPs of the table times output elements; a scaled addition also counts its multiplication."""
    name = call.overload.__name__.split(".")[0]
    name = name if name.startswith("__") else name.rstrip("_")
    flops = FLOPS_PER_ELEMENT[name]
    if name in ("add", "sub", "subtract") and call.has("alpha") and call["alpha"] != 1:
        flops += 1
    if name == "div" and call.has("rounding_mode") and call["rounding_mode"]:
        flops += 1
    elements = call.output.elements
    return [vector("main", product(flops, elements), elements)]


rule(*(o for n in ARITHMETIC if n not in SPECIAL for o in _overloads(n)), operator_class="elementwise")(arithmetic)


@rule("aten.dropout.default", "aten.dropout_.default", "aten.feature_dropout.default", "aten.native_dropout.default",
      "aten.alpha_dropout.default", "aten.feature_alpha_dropout.default", "aten.bernoulli.default",
      "aten.bernoulli_.float",
      operator_class="elementwise")  # fmt: skip
def random_mask(call: Call) -> list[Step]:
    """Count dropout in training (in inference it returns its input, and is a view)."""
    elements = call.output.elements
    return [vector("main", product(FLOPS_PER_ELEMENT["dropout"], elements), elements)]


@rule("aten.cross.default", "aten.linalg_cross.default", operator_class="elementwise")
def cross_product(call: Call) -> list[Step]:
    """Count two products and a difference an element."""
    return [vector("main", product(3, call.output.numel), call.output.numel)]


@rule("aten.cdist.default", "aten._cdist_forward.default", operator_class="elementwise")
def pairwise_distance(call: Call) -> list[Step]:
    """Count difference, square and sum over the width, then a root, for each pair."""
    width = call.tensors()[0].dims[-1]
    pairs = call.output.numel
    return [vector("main", total(product(3, pairs, width), pairs), pairs)]
