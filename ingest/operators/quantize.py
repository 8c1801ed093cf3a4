"""Quantization as arithmetic: values rounded to the grid of a narrow type, and converted back."""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import product
from .elementwise import FLOPS_PER_ELEMENT, _overloads
from .registry import Call, Value, rule, vector, words

FAKE = words(
    "fake_quantize_per_tensor_affine fake_quantize_per_channel_affine fake_quantize_per_tensor_affine_cachemask"
    " fake_quantize_per_channel_affine_cachemask _fake_quantize_per_tensor_affine_cachemask_tensor_qparams"
    " _fake_quantize_learnable_per_tensor_affine _fake_quantize_learnable_per_channel_affine"
)
OBSERVED = words("fused_moving_avg_obs_fake_quant _fused_moving_avg_obs_fq_helper")


def fake_quantize(call: Call) -> list[Step]:
    """Count the FLOPs of the table times elements."""
    elements = call.output.elements
    return [vector("main", product(FLOPS_PER_ELEMENT["fake_quantize"], elements), elements)]


rule(*(o for n in FAKE for o in _overloads(n)), operator_class="elementwise")(fake_quantize)


def observed_fake_quantize(call: Call) -> list[Step]:
    """Count also the search for the least and the greatest element, one comparison an element each."""
    source: Value = call["self"]
    flops = product(FLOPS_PER_ELEMENT["fake_quantize"] + 2, source.elements)
    return [vector("main", flops, call.output.elements)]


rule(*(o for n in OBSERVED for o in _overloads(n)), operator_class="elementwise")(observed_fake_quantize)
