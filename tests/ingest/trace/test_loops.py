"""Loops that are one operator of PyTorch: the graph contains each step of loops over slices."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan

from charz.ingest import pipeline
from charz.ingest.graph import Graph, evaluate
from charz.ingest.rows import total
from charz.ingest.sources import exported, live
from charz.ingest.sources.spec import Spec
from charz.ingest.trace import loops
from charz.schema.errors import CharzError


class Stacked(nn.Module):
    """Six layers in one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(6, 32, 32))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        def step(carried: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
            carried = torch.tanh(carried @ w)
            return carried, carried.sum(-1)

        return scan(step, x, self.w)  # type: ignore[no-any-return]


class Trees(nn.Module):
    """Two carried values, two scanned from the end, two made at each step."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.b = nn.Parameter(torch.randn(3, 4, 4)), nn.Parameter(torch.randn(3, 4))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        def step(
            carried: tuple[Tensor, Tensor], layer: dict[str, Tensor]
        ) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
            state, count = carried
            state = torch.tanh(state @ layer["w"] + layer["b"])
            return (state, count + 1), (state.sum(-1), state.clone())

        carried = x, torch.zeros(2, device=x.device)
        (state, count), (sums, states) = scan(step, carried, {"w": self.w, "b": self.b}, reverse=True)
        return state, count, sums, states

    def written(self, x: Tensor) -> tuple[Tensor, ...]:
        """Compute the same in a Python loop."""
        states = []
        for i in (2, 1, 0):
            x = torch.tanh(x @ self.w[i] + self.b[i])
            states.insert(0, x)
        return x, torch.full((2,), 3.0), torch.stack([s.sum(-1) for s in states]), torch.stack(states)


class Mapped(nn.Module):
    """Apply a layer to each of the samples."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 16)

    def forward(self, x: Tensor) -> Tensor:
        return torch_map(lambda sample, added: self.layer(sample) + added, x, x.new_ones(16))  # type: ignore[no-any-return]


class Running(nn.Module):
    """Running products by the operator itself, which PyTorch's own function calls only on a GPU."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.higher_order.associative_scan(lambda a, b: (a * b,), [x], ())[0]  # type: ignore[no-any-return]


def lowered(module: nn.Module, x: Tensor | str) -> Graph:
    return pipeline.to_graph(live.request(module, x))[0]


def moving(graph: Graph) -> list[str]:
    return [o.aten_operator.split(".")[1] for o in graph.operators if not o.is_view]


def test_a_scan_over_stacked_weights_is_its_layers() -> None:
    """Six products of 32 x 32 a sample, each of which reads its own 1,024 weights and waits for the one before."""
    graph = lowered(Stacked(), "B,32")
    assert total(graph, "macs") == {(1, 0, 0): 6.0 * 32 * 32}
    assert moving(graph) == ["matmul", "tanh", "sum"] * 6 + ["stack"]
    products = [o for o in graph.operators if o.operator_class == "linear"]
    assert [[evaluate(graph.tensors[t].elements, 4) for t in o.reads] for o in products] == [[4 * 32, 1024]] * 6
    assert [o.stage for o in products] == sorted({o.stage for o in products})
    assert [t.shape for t in graph.tensors if t.role == "weight"] == ["[6, 32, 32]"]


def test_a_saved_scan_is_its_layers(tmp_path: Path) -> None:
    """PyTorch saves it as one operator with a block: 6 x 4 x 32 x 32 = 24,576."""
    program = torch.export.export(Stacked(), (torch.zeros(4, 32),), strict=True)
    assert any(node.target is torch.ops.higher_order.scan for node in program.graph.nodes)
    torch.export.save(program, tmp_path / "net.pt2")
    graph = pipeline.to_graph(exported.build(Spec(str(tmp_path / "net.pt2"), "exported")))[0]
    assert total(graph, "macs") == {(0, 0, 0): 24_576.0}
    assert moving(graph) == ["matmul", "tanh", "sum"] * 6 + ["stack"]
    assert sum(o.is_view for o in graph.operators) == 6  # slices of the weight


def test_steps_make_what_a_loop_of_python_makes() -> None:
    module, x = Trees(), torch.randn(2, 4)
    with torch.no_grad(), loops.unrolled(), torch._dynamo.config.patch(disable=True):
        found = module(x)
    for one, other in zip(found, module.written(x), strict=True):
        torch.testing.assert_close(one, other)


def test_a_map_runs_once_a_sample() -> None:
    """Five samples of 4 x 32 by 16; a free batch is fixed, and the reason recorded."""
    graph = lowered(Mapped(), torch.zeros(5, 4, 32))
    assert total(graph, "macs") == {(0, 0, 0): 5.0 * 4 * 32 * 16}
    assert moving(graph) == ["new_ones", *["linear", "add"] * 5, "stack"]
    _, traced = pipeline.to_graph(live.request(Mapped(), "B,4,32"))
    assert not traced.is_batch_symbolic and "dimension 0 of x as a number" in (traced.reason or "")


def test_an_associative_scan_combines_neighbours() -> None:
    """Of 8 rows 4 + 3 pairs, of their 4 products 2 + 1, of those 1: 11 products a column. PyTorch also multiplies
    0 of 2 rows that have a row before their pair."""
    graph = lowered(Running(), torch.zeros(8, 32))
    assert total(graph, "flops") == {(0, 0, 0): 11.0 * 32}
    assert moving(graph).count("mul") == 6
    x = torch.randn(8, 3)
    with loops.unrolled():
        torch.testing.assert_close(Running()(x), x.cumprod(0))


def test_a_loop_of_too_many_steps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MOST_STEPS", 5)
    with pytest.raises(CharzError, match=r"too many steps.*Up to 5 are traced"):
        lowered(Stacked(), torch.zeros(4, 32))
