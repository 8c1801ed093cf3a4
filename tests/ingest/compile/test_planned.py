"""The memory format that inductor plans, compared with PyTorch's own decision on the same graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._inductor.graph import GraphLowering

from charz.ingest.compile.dataflow import flow_of
from charz.ingest.compile.fusion import partition
from charz.ingest.compile.rules import Rules


def own_decision(module: nn.Module, *inputs: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return inductor's decision on a GPU, because on a CPU with oneDNN it would not weigh anything."""
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    program = torch.export.export(module.eval(), inputs).run_decompositions()
    return "nhwc" if GraphLowering.decide_layout_opt(program.graph_module, is_inference=True) else "nchw"


def plain(channels: int, groups: int = 1) -> nn.Module:
    """Build two convolutions of as many channels in as out."""
    return nn.Sequential(
        nn.Conv2d(channels, channels, 3, padding=1, groups=groups), nn.ReLU(), nn.Conv2d(channels, channels, 1)
    )


@pytest.mark.parametrize(
    ("module", "channels"),
    [(plain(96), 96), (plain(32), 32), (plain(128, groups=4), 128), (plain(128, groups=128), 128)],
    ids=["plain", "small", "in groups", "depthwise"],
)
def test_as_inductor_decides(
    module: nn.Module, channels: int, lowered: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.empty(2, channels, 16, 16)
    assert lowered(module, x).graph.planned_format == own_decision(module, x, monkeypatch=monkeypatch)


def test_groups_of_several_channels_keep_nchw(lowered: Callable[..., Any]) -> None:
    """3 x 3 x 96 / 2 MACs an output pixel and channel in groups weigh 432 x 1.358 = 587, the other 96 x 0.823 = 79:
    666, more than the 528 MACs."""
    grouped = nn.Sequential(nn.Conv2d(96, 96, 3, padding=1, groups=2), nn.Conv2d(96, 96, 1))
    assert lowered(grouped, torch.empty(2, 96, 16, 16)).graph.planned_format == "nchw"


class Squeeze(nn.Module):
    """A convolution whose activation is averaged over its pixels and gates itself."""

    def __init__(self, groups: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(96, 96, 3, padding=1, groups=groups)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x).relu()
        return y * y.mean((2, 3), keepdim=True)


@pytest.mark.parametrize(("groups", "kernels"), [(1, 4), (2, 2)], ids=["channels-last", "nchw"])
def test_pixels_that_lie_apart_are_averaged_by_a_kernel_of_their_own(
    groups: int, kernels: int, lowered: Callable[..., Any], rules: Rules
) -> None:
    """Convolution, activation, mean, product; where pixels are adjacent the last three are one loop."""
    graph = lowered(Squeeze(groups), torch.empty(2, 96, 16, 16)).graph
    found = partition(flow_of(graph, rules.classes), "inductor", rules.fusion["inductor"], rules.folds_norm["inductor"])
    assert found.count == kernels
