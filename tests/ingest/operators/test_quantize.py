"""Fake quantization: a model trained for int8 computes as before, with rounded values."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import live


class Rounded(nn.Module):
    """A linear layer of rounded weights on rounded values, as `torch.ao.quantization` trains it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 4)
        self.register_buffer("scales", torch.ones(4))
        self.register_buffer("zeros", torch.zeros(4, dtype=torch.int32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map batch x 8 to batch x 4."""
        weight = torch.fake_quantize_per_channel_affine(self.layer.weight, self.scales, self.zeros, 0, -128, 127)
        return nn.functional.linear(torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255), weight, self.layer.bias)


def test_rounding_counts_seven_operations_an_element() -> None:
    graph, traced = to_graph(live.request(Rounded(), "B,8"))
    assert traced.is_batch_symbolic
    rounded = [o for o in graph.operators if o.rule == "quantize.fake_quantize"]
    assert [o.steps[0].quantities["flops"] for o in rounded] == [{(0, 0, 0): 7.0 * 4 * 8}, {(1, 0, 0): 7.0 * 8}]
    (product,) = [o for o in graph.operators if o.operator_class == "linear"]
    assert product.steps[0].quantities["macs"] == {(1, 0, 0): 8.0 * 4}


@pytest.mark.filterwarnings("ignore:.*torch.ao.quantization is deprecated:DeprecationWarning")
def test_a_model_prepared_for_training_in_int8_is_traced() -> None:
    from torch.ao import quantization

    module = nn.Sequential(nn.Linear(8, 4), nn.ReLU()).train()
    module.qconfig = quantization.get_default_qat_qconfig("x86")
    quantization.prepare_qat(module, inplace=True)
    graph, _ = to_graph(live.request(module, "B,8"))
    assert all(o.rule is not None for o in graph.operators)
    observed = [o for o in graph.operators if o.rule == "quantize.observed_fake_quantize"]
    # the linear layer's result, and its weight: nine operations an element
    assert sorted(sum(o.steps[0].quantities["flops"].values()) for o in observed) == [9.0 * 4, 9.0 * 4 * 8]
