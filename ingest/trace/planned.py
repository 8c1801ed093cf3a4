"""The memory format that inductor plans for a model's images, whatever the user requests.

`GraphLowering.decide_layout_opt` in torch/_inductor/graph.py plans channels-last if the convolutions together should
gain, each weighted by the gain of its kind in PyTorch's own measurements on a GPU, but not if the graph
has only a few convolutions among many other nodes. On a CPU inductor always plans channels-last.
"""

from __future__ import annotations

from ..compile.dataflow import WEIGHT_ROLES, nominal_macs
from ..graph import Graph, GraphOperator, dims

NODES_A_CONVOLUTION = 300
"""Nodes a convolution from which on inductor plans nchw; nodes are operators and weights here."""

GROUPED, SMALL, SHRINKING, OTHER = 1.358, 0.783, 0.725, 0.823
"""Time channels-last relative to nchw of convolutions in groups of several channels, of at most 64 channels in and
out, of half as many channels out as in or fewer, and of all others (inductor's `*_MULTIPLIER`)."""


def planned_format(graph: Graph) -> str:
    """Return `nhwc` where inductor runs the model's convolutions channels-last, else `nchw`."""
    convolutions = [o for o in graph.operators if o.aten_operator.startswith("aten.conv2d.")]
    nodes = len(graph.operators) + sum(t.role in WEIGHT_ROLES for t in graph.tensors)
    if nodes >= NODES_A_CONVOLUTION * len(convolutions):
        return "nchw"
    work = [nominal_macs(o) for o in convolutions]
    weighed = sum(macs * _relative_time(graph, o) for macs, o in zip(work, convolutions, strict=True))
    return "nhwc" if weighed <= sum(work) else "nchw"


def _relative_time(graph: Graph, convolution: GraphOperator) -> float:
    """Return the expected time channels-last relative to nchw."""
    channels_in = dims(graph.tensors[convolution.reads[0]].shape)[1]
    channels_out, group, height, _ = dims(graph.tensors[convolution.reads[1]].shape)
    if channels_in != group and group != 1:
        return GROUPED
    if channels_out is not None and group is not None:
        if max(channels_out, group) <= 64:
            return SMALL
        if 2 * channels_out <= group and height != 1:
            return SHRINKING
    return OTHER
