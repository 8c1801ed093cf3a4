"""Results that inductor stores in single precision, compared with inductor's own plan of the same network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._inductor import config

from charz.ingest.compile import compile_graph
from charz.ingest.compile.rules import Rules
from charz.schema.compiled import KernelTensor

IMAGE = (4, 32, 28, 28)


class Gated(nn.Module):
    """A normalized image and its activation, gated by its own mean or passed to a convolution."""

    def __init__(self, activation: nn.Module, first_reader: str = "mean") -> None:
        super().__init__()
        self.first_reader = first_reader
        self.conv = nn.Conv2d(16, 32, 1, bias=False)
        self.norm = nn.BatchNorm2d(32)
        self.activation = activation
        self.gate = nn.Conv2d(32, 32, 1)
        self.last = nn.Conv2d(32, 24, 1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.activation(self.norm(self.conv(x)))
        if self.first_reader == "conv":
            return self.last(y) + self.last(y * 2)
        if self.first_reader == "pad":
            return self.last(nn.functional.pad(y, (0, 1, 0, 1)))
        return self.last(y * torch.sigmoid(self.gate(y.mean((2, 3), keepdim=True))))


class _Planned(Exception):
    """Exception that stops inductor once it has planned its loops."""


def own_types(module: nn.Module, x: torch.Tensor) -> set[torch.dtype]:
    """Return the element types of the images between inductor's loops, under autocast to half precision."""
    found: list[Any] = []

    def stop(nodes: list[Any]) -> list[Any]:
        found.extend(nodes)
        raise _Planned

    torch._dynamo.reset()
    with (
        torch.no_grad(),
        config.patch({"_post_fusion_custom_pass": stop, "fx_graph_cache": False}),
        torch.autocast("cpu", dtype=torch.bfloat16),
        pytest.raises(Exception, match="_Planned"),
    ):
        torch.compile(module.eval())(x)
    loops = [n for n in found if not type(n).__name__.startswith(("Extern", "Nop"))]
    read = {dependency.name for n in loops for dependency in n.read_writes.reads}
    made = [piece.node for n in loops for piece in n.get_nodes() if piece.node is not None]
    return {m.get_dtype() for m in made if m.get_name() in read and tuple(map(int, m.get_size())) == IMAGE}


def wide_results(graph: Any, rules: Rules) -> set[tuple[str, str]]:
    """Return the results that charz stores in single precision: the operators that write them, and the direction of each crossing."""
    crossings = compile_graph(graph, rules)[KernelTensor]
    return {
        (graph.operators[graph.tensors[tensor].producer_operator_id].aten_operator.split(".")[1], direction)
        for tensor, direction, backend, is_wide in zip(
            crossings["tensor_id"], crossings["direction"], crossings["backend"], crossings["is_wide"], strict=True
        )
        if is_wide and backend == "inductor"
    }


@pytest.mark.parametrize(
    ("activation", "is_wide"), [(nn.Hardswish(), True), (nn.LeakyReLU(), True), (nn.ReLU(), False), (nn.ReLU6(), False)]
)
def test_what_an_activation_reads_twice_is_stored_before_it_is_rounded(
    activation: nn.Module, is_wide: bool, lowered: Callable[..., Any], rules: Rules
) -> None:
    module, x = Gated(activation), torch.zeros(4, 16, 28, 28)
    assert own_types(module, x) == {torch.float32 if is_wide else torch.bfloat16}
    assert bool(wide_results(lowered(module, x).graph, rules)) == is_wide


def test_the_loop_that_writes_it_and_those_that_read_it_move_four_bytes(
    lowered: Callable[..., Any], rules: Rules
) -> None:
    found = wide_results(lowered(Gated(nn.SiLU()), torch.zeros(4, 16, 28, 28)).graph, rules)
    assert found == {("silu", "write"), ("silu", "read")}


def test_a_convolution_has_the_result_itself_stored(lowered: Callable[..., Any], rules: Rules) -> None:
    assert not wide_results(lowered(Gated(nn.SiLU(), "conv"), torch.zeros(4, 16, 28, 28)).graph, rules)


def test_a_loop_of_another_size_cannot_join_the_normalization(lowered: Callable[..., Any], rules: Rules) -> None:
    """The loop that fills the border of the image reads the stored value; for a ReLU's image one loop does both."""
    graph = lowered(Gated(nn.SiLU(), "pad"), torch.zeros(4, 16, 28, 28)).graph
    assert wide_results(graph, rules) == {("silu", "write"), ("silu", "read")}
    assert not wide_results(lowered(Gated(nn.ReLU(), "pad"), torch.zeros(4, 16, 28, 28)).graph, rules)
