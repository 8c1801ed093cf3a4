"""Fusion rules compared with inductor's plan on this machine."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from charz.hardware_catalog import loader
from charz.ingest import inductor
from charz.ingest.compile.rules import Rules, from_rows
from charz.ingest.inductor import Examination, examine, examine_request
from charz.ingest.sources.spec import parse
from charz.ingest.trace.export import Request
from charz.schema.errors import CharzError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rules() -> Rules:
    return from_rows(loader.load().rows)


def agreement(found: Examination) -> float:
    return sum(e.is_predicted == e.is_actual for e in found.edges) / len(found.edges)


def test_resnet18_fuses_as_predicted_but_for_its_last_mean(rules):
    """A CPU's loops include the mean over pixels that are not adjacent; the rule is that of a GPU, whose loops do not."""
    found = examine(parse("resnet18"), rules)
    assert len(found.edges) == 75
    operators = found.flow.graph.operators
    differ = [e for e in found.edges if e.is_predicted != e.is_actual]
    assert [operators[e.consumer].aten_operator for e in differ] == ["aten.adaptive_avg_pool2d.default"]


def test_bert_fuses_as_predicted_but_for_its_first_normalization(rules):
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=100
    )
    module = transformers.BertModel(config).eval()
    found = examine_request(Request("bert", "bert", module, (torch.randint(0, 100, (2, 16)),)), rules)
    assert sum(e.is_predicted != e.is_actual for e in found.edges) <= 1


def test_a_chain_of_elementwise_operators_is_one_loop(rules):
    class Chain(torch.nn.Module):
        def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return torch.relu(torch.matmul((x + 1).tanh() * x, w)).abs()

    request = Request("chain", "chain", Chain(), (torch.zeros(8, 8), torch.zeros(8, 8)))
    found = examine_request(request, rules)
    names = found.flow.names
    fused = Counter((names[e.producer][0], names[e.consumer][0]) for e in found.edges if e.is_actual)
    assert fused == Counter({("aten.add", "aten.tanh"): 1, ("aten.tanh", "aten.mul"): 1, ("aten.relu", "aten.abs"): 1})
    assert agreement(found) == 1.0


def test_an_error_in_the_middle_of_a_plan_is_told(rules, monkeypatch):
    loops = []

    def fail_on_the_second(node):
        loops.append(node)
        if len(loops) > 1:
            raise ValueError("no such buffer")
        return inductor.Loop(frozenset(), False, frozenset(), frozenset())

    monkeypatch.setattr(inductor, "_loop", fail_on_the_second)
    with pytest.raises(CharzError, match="no such buffer"):
        examine(parse("synthetic:mlp"), rules)
