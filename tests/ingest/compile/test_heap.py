"""Fresh pages of the allocator, and reused blocks, compared with runs simulated by hand; sizes in MiB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from charz.ingest.compile import compile_graph
from charz.ingest.compile.blocks import blocks
from charz.ingest.compile.dataflow import flow_of
from charz.ingest.compile.fusion import partition
from charz.ingest.compile.heap import Block, heap_growth
from charz.ingest.compile.lifetime import lifetimes
from charz.ingest.compile.rules import Rules
from charz.schema.compiled import HeapGrowth

MIB = 2**20


def grown(*held: tuple[int, int, float]) -> float:
    """Return the MiB of fresh pages in the second of two runs over blocks of (first, last, MiB)."""
    return heap_growth([Block(first, last, size * MIB) for first, last, size in held], 8) / MIB


def test_two_of_the_largest_size_are_given_back() -> None:
    """A chain of results of 4 has two alive at a time. After the last one 8 are free, which is the threshold: each run begins
    with an empty heap."""
    assert grown((0, 1, 4), (1, 2, 4), (2, 3, 4)) == 8


def test_a_larger_block_once_freed_keeps_the_heap() -> None:
    """The threshold is now 20; the heap ends at 10 and is kept."""
    assert grown((0, 0, 10), (1, 2, 4), (2, 3, 4), (3, 4, 4)) == 0


def test_a_heap_that_shrinks_within_the_run_grows_again() -> None:
    """6 + 6 and 4, then only 4: 12 are free, the threshold, and are trimmed. Later in the run it happens again: twice 12. The 4
    stay for the next run."""
    assert grown((0, 7, 4), (1, 2, 6), (2, 2, 6), (4, 5, 6), (5, 5, 6)) == 12 + 12


def test_nothing_is_given_back_below_the_first_threshold() -> None:
    assert grown((0, 1, 0.05), (1, 2, 0.05)) == 0


def planned(graph: Any, rules: Rules) -> list[int]:
    """Return the sizes of the blocks that inductor allocates, in elements of one sample, by the kernel that allocates them."""
    flow = flow_of(graph, rules.classes)
    kernels = partition(flow, "inductor", rules.fusion["inductor"], False)
    held = lifetimes(graph, kernels, flow.constants)
    own = {b for s, b in blocks(graph, kernels, held, rules.classes).items() if held[s][0] >= 0}
    return [int(sum(graph.tensors[b].elements.values())) for b in sorted(own, key=lambda b: held[b][0])]


class Residual(nn.Module):
    """Build two convolutions with their normalizations, and a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(x)
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(y)) + x)


def test_a_loop_writes_over_what_nobody_reads_again(lowered: Callable[..., Any], rules: Rules) -> None:
    """First ReLU (the run may not overwrite its input), first and second convolution; normalizations, ReLUs and
    the sum overwrite their operands: 3 blocks of 8 x 100 for 5 results."""
    graph = lowered(Residual().eval(), torch.zeros(2, 8, 10, 10)).graph
    assert planned(graph, rules) == [800, 800, 800]


def test_a_matrix_product_takes_a_free_block_but_not_its_operand_s(lowered: Callable[..., Any], rules: Rules) -> None:
    """ReLU, first product, second product into the block of the ReLU."""
    module = nn.Sequential(nn.ReLU(), nn.Linear(16, 16, bias=False), nn.Linear(16, 16, bias=False))
    assert planned(lowered(module, torch.zeros(2, 16)).graph, rules) == [16, 16]


def test_every_backend_that_calls_aten_has_its_share(lowered: Callable[..., Any], rules: Rules) -> None:
    """The share of the heap never falls with the batch, so that no larger batch is faster."""
    rows = compile_graph(lowered(Residual().eval(), torch.zeros(2, 8, 112, 112)).graph, rules)[HeapGrowth]
    backends = set(rows["backend"])
    assert backends == {"eager", "inductor", "eager_graph", "inductor_graph"}
    for backend in backends:
        shares = [f for b, f in zip(rows["backend"], rows["growth_fraction"], strict=True) if b == backend]
        assert shares == sorted(shares)


@pytest.mark.parametrize(
    ("module", "shape", "samples", "image"),
    [
        (nn.Conv2d(8, 4, 3), (2, 8, 10, 10), 1, 800),
        (nn.Conv2d(8, 4, (3, 7)), (2, 8, 10, 10), 1, 800),
        (nn.Conv2d(8, 4, 5), (2, 8, 10, 10), 0, 800),
        (nn.Conv2d(8, 4, 3, dilation=2), (2, 8, 10, 10), 0, 0),
        (nn.Conv2d(8, 4, 3, groups=2), (2, 8, 10, 10), 0, 800),
        (nn.Conv1d(8, 4, 7), (2, 8, 10), 1, 80),
    ],
)
def test_which_images_pytorch_looks_at(
    module: nn.Module, shape: tuple[int, ...], samples: int, image: int, lowered: Callable[..., Any]
) -> None:
    """A batch of 1 counts samples for one group, undilated, at most 3 on one side; any contiguous image counts its elements."""
    g = lowered(module, torch.zeros(shape))
    assert g.value(g.only("conv"), "samples") == samples
    assert g.value(g.only("conv"), "image") == image
