"""Modules in memory, within wrappers, and with inputs that are not one tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

from charz.ingest import pipeline
from charz.ingest.compile.rules import Rules
from charz.ingest.graph import evaluate
from charz.ingest.rows import total
from charz.ingest.sources import live
from charz.schema.errors import CharzError
from charz.schema.workload import Operator

MACS = 8 * 16
"""Multiply-accumulates of `Projection` on one row."""


class Projection(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 16)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return self.layer(x) * scale


class Wrapper(nn.Module):
    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)


def macs(request: Any, batch: int, sequence: int = 1) -> float:
    return evaluate(total(pipeline.to_graph(request)[0], "macs"), batch, sequence)


@pytest.mark.parametrize(
    "wrap", [torch.compile, nn.DataParallel, Wrapper, lambda m: Wrapper(torch.compile(Wrapper(m)))]
)
def test_a_wrapper_takes_what_it_wraps_takes(wrap: Any) -> None:
    request = live.request(wrap(Projection()), torch.zeros(3, 8))
    assert list(request.keywords) == ["x"]
    assert macs(request, 5) == 5 * MACS


@pytest.mark.default
def test_the_module_stays_as_it_is(rules: Rules) -> None:
    module = Projection().train()
    weight = module.layer.weight
    made = pipeline.ingest_request(live.request(module, torch.zeros(1, 8), name="mine"), rules)
    assert (made.model["model"], made.model["parameter_count"]) == ("mine", MACS + 16)
    assert module.training and module.layer.weight is weight and weight.device.type == "cpu"
    assert module(torch.zeros(1, 8)).shape == (1, 16)


def test_tied_weights_stay_one() -> None:
    module = nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 50, bias=False))
    module[1].weight = module[0].weight
    graph, _ = pipeline.to_graph(live.request(module, "B,S:int64"))
    assert sum(t.role == "weight" for t in graph.tensors) == 1


@dataclass
class Pair:
    left: torch.Tensor
    right: torch.Tensor


class Distance(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 16)

    def forward(self, pair: Pair, more: dict[str, torch.Tensor], state: tuple[torch.Tensor, ...]) -> torch.Tensor:
        left, right = state
        return self.layer(pair.left - pair.right + more["bias"]) + left + right


def test_nested_inputs() -> None:
    x, y = torch.zeros(2, 8), torch.zeros(2, 16)
    request = live.request(Distance(), {"pair": Pair(x, x), "more": {"bias": x}, "state": (y, y)})
    assert list(request.keywords) == ["pair_left", "pair_right", "more_bias", "state_0", "state_1"]
    assert macs(request, 7) == 7 * MACS


def test_a_missing_input_is_named() -> None:
    with pytest.raises(CharzError, match=r"inputs not given: .*: more, state"):
        live.request(Distance(), {"pair": Pair(torch.zeros(2, 8), torch.zeros(2, 8))})


def test_length_of_integers_is_the_sequence() -> None:
    module = nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 16))
    graph, traced = pipeline.to_graph(live.request(module, torch.zeros(1, 12, dtype=torch.int64)))
    assert traced.is_batch_symbolic and traced.is_sequence_symbolic
    assert evaluate(total(graph, "macs"), 3, 20) == 3 * 20 * MACS


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU()), "B,4,224,224"),
        (nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 2)), "B,S:int64"),
        (nn.LSTM(6, 8, batch_first=True), "B,S,6"),
        (nn.GRU(6, 8), "S,B,6"),
        (nn.Sequential(nn.Flatten(), nn.Linear(8, 2)), "B,8"),
    ],
)  # fmt: skip
def test_the_first_layer_says_what_a_module_takes(module: nn.Module, text: str) -> None:
    from charz.ingest.sources.guess import first_input

    assert first_input(module) == text


class MakesConstants(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 16)
        self.offset = torch.ones(8)  # not a buffer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ramp = torch.arange(x.shape[1], device="cpu").float()
        return self.layer(x + self.offset + ramp * torch.tensor([0.5]))


def test_constants_made_on_the_processor() -> None:
    assert macs(live.request(MakesConstants(), torch.zeros(2, 8)), 3) == 3 * MACS


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide, self.narrow = nn.Linear(8, 8), nn.Linear(1, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: self.narrow(y[:, :1]), lambda y: self.wide(y), (x,))


def test_of_two_branches_the_costlier_counts() -> None:
    graph, traced = pipeline.to_graph(live.request(Branches(), torch.zeros(2, 8)))
    assert evaluate(total(graph, "macs"), 3) == 3 * 8 * 8
    assert traced.reason is None and "test_live.py" in graph.notes[0] and "costlier" in graph.notes[0]


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.layer = kind(6, 8, num_layers=2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


@pytest.mark.parametrize(("kind", "gates"), [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)])
def test_a_recurrent_layer_has_a_free_length(kind: type[nn.RNNBase], gates: int) -> None:
    graph, traced = pipeline.to_graph(live.request(Recurrent(kind), "B,S,6"))
    assert traced.is_batch_symbolic and traced.is_sequence_symbolic
    a_step = gates * 8 * (6 + 8) + gates * 8 * (8 + 8)
    assert evaluate(total(graph, "macs"), 3, 50) == 3 * 50 * a_step


def test_operators_point_into_the_code(rules: Rules) -> None:
    made = pipeline.ingest_request(live.request(Projection(), torch.zeros(1, 8)), rules)
    lines = {made.columns[Operator]["source_line"][0]}
    assert lines == {Projection.forward.__code__.co_firstlineno + 1}
    assert all(file.endswith("test_live.py") for file in made.columns[Operator]["source_file"])


class Adaptive(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.part = Projection()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.part(x)
        return y if y.mean() < 0 else -y


class TooNarrow(Adaptive):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.part(x[:, :4])


class Looped(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Double x five times, by an operator of PyTorch's own."""
        counted = (torch.tensor(0, device=x.device), x)
        return torch._higher_order_ops.while_loop(lambda i, _: i < 5, lambda i, y: (i + 1, y * 2), counted)[1]


class Numeric(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Double x in NumPy."""
        return torch.from_numpy(x.numpy() * 2)


class Nested(nn.Module):
    def forward(self, x: Any) -> torch.Tensor:
        """Use an object with an image."""
        return x.image * 2


@pytest.mark.parametrize(
    ("module", "what"),
    [
        (Adaptive(), "depends on a tensor's values"),
        (TooNarrow(), "own code"),
        (Looped(), "a loop that is one operator"),
        (Numeric(), "NumPy computes"),
        (Nested(), "an input of another kind"),
    ],
)
def test_a_refusal_says_where_and_what_to_try(module: nn.Module, what: str) -> None:
    with pytest.raises(CharzError) as caught:
        pipeline.to_graph(live.request(module, torch.zeros(2, 8)))
    assert what in caught.value.what
    assert "test_live.py:" in caught.value.where and caught.value.next
    assert ("given x [2, 8]" in caught.value.where) == (what == "own code")
    assert not any(word in caught.value.line for word in ("torch._", "SymInt", "u0", "FakeTensor", "aten"))


def test_quantized_and_scripted_modules_are_refused() -> None:
    quantized = nn.Sequential(torch.ao.nn.quantized.Linear(8, 16))
    with pytest.raises(CharzError, match="quantized"):
        live.request(quantized, torch.zeros(2, 8))


def test_pooling_allocates_the_positions_of_its_maxima() -> None:
    graph, _ = pipeline.to_graph(live.request(nn.MaxPool2d(2), "B,3,8,8"))
    (operator,) = graph.operators
    result, positions = (graph.tensors[t] for t in operator.writes)
    assert (positions.precision, positions.elements) == ("int64", result.elements)
    assert operator.accesses[positions.tensor_id] == {(0, 0, 0): 0.0}
