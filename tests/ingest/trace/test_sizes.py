"""Sizes that a model's code fixes, and sizes that depend on values."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from charz.ingest.graph import evaluate
from charz.ingest.pipeline import to_graph
from charz.ingest.rows import total
from charz.ingest.sources import live
from charz.schema.errors import CharzError


class Scan(nn.Module):
    """A recurrence over a state whose batch the code fixes."""

    def __init__(self, batch: int) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.batch = batch

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map batch x 3 x 8 to batch x 8."""
        state = torch.zeros(self.batch, 8, device=x.device)
        for step in range(3):
            state = torch.tanh(self.layer(x[:, step] + state))
        return state


@pytest.mark.parametrize(
    ("batch", "reason"),
    [
        (2, "the code needs dimension 0 of x as a number, e.g. for a loop"),
        (4, "the code takes only a batch of 4"),
    ],
)
def test_a_batch_that_the_code_fixes_is_fixed_and_marked(batch: int, reason: str) -> None:
    request = live.request(Scan(batch), "B,3,8")
    graph, traced = to_graph(request)
    assert (traced.is_batch_symbolic, traced.reason, request.default_batch) == (False, reason, batch)
    assert total(graph, "macs") == {(0, 0, 0): 3.0 * batch * 8 * 8}


class LoopOverSamples(nn.Module):
    """The code takes images one sample after another, and tokens for any batch."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.table = nn.Linear(8, 8), nn.Embedding(50, 8)

    def forward(self, image: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Map batch x 8 and batch x sequence to batch x sequence x 8."""
        images = torch.stack([self.layer(sample) for sample in image])
        return self.layer(self.table(tokens)) + images[:, None]


def test_a_fixed_batch_leaves_the_sequence_free() -> None:
    graph, traced = to_graph(live.request(LoopOverSamples(), {"image": "B,8", "tokens": "B,S:int64"}))
    assert (traced.is_batch_symbolic, traced.is_sequence_symbolic) == (False, True)
    assert traced.reason == "the code needs dimension 0 of image as a number, e.g. for a loop"
    assert evaluate(total(graph, "macs"), 1, 10) == 2 * 64 + 2 * 10 * 64  # images, and two samples of ten tokens


class SelfLoops(nn.Module):
    """Edges without self-loops, and one self-loop a node, as in graph attention."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 6)

    def forward(self, nodes: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        """Map nodes x 4 and 2 x edges to nodes x 6."""
        edges = edges[:, edges[0] != edges[1]]
        loops = torch.arange(nodes.shape[0], device=nodes.device).expand(2, -1)
        source, target = torch.cat([edges, loops], 1)
        sent = self.layer(nodes[source])
        return torch.zeros(nodes.shape[0], 6, device=nodes.device).index_add_(0, target, sent)


def test_edges_that_a_mask_picks_are_all_counted_and_marked() -> None:
    graph, traced = to_graph(live.request(SelfLoops(), {"nodes": "B,4", "edges": "2,S:int64"}))
    assert traced.is_batch_symbolic and traced.is_sequence_symbolic
    assert traced.reason is not None and traced.reason.startswith("values decide a size at ")
    assert traced.reason.endswith(": the upper bound is counted") and "test_sizes.py" in traced.reason
    (product,) = [o for o in graph.operators if o.operator_class == "linear"]
    assert product.is_size_bound
    assert product.steps[0].quantities["macs"] == {(1, 0, 0): 24.0, (0, 1, 0): 24.0}  # nodes and edges, 4 by 6 each
    assert not graph.operators[0].is_size_bound


class Counted(nn.Module):
    """A module whose number of rows is a value."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map batch to rows."""
        return torch.zeros(int(x.sum())) + 1


def test_a_size_that_nothing_bounds_is_refused() -> None:
    with pytest.raises(CharzError, match="depends on a tensor's values"):
        to_graph(live.request(Counted(), "B:int64"))
