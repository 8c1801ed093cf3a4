"""Backward work against counts by hand."""

import torch
from torch import nn

from charz.ingest.trace.backward import add_backward


def gradients(g):
    """Backward operators that compute, by the forward target they reverse."""
    return {
        o.aten_operator.removeprefix("charz.backward."): o
        for o in g.graph.operators
        if o.aten_operator.startswith("charz.backward.")
    }


def test_two_products_but_one_for_the_first_layer(lowered, rules):
    g = lowered(nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 30)), torch.empty(2, 10))
    add_backward(g.graph, rules.classes)
    linear = [o for o in g.graph.operators if o.aten_operator == "charz.backward.aten.linear.default"]
    last, first = linear
    # the last layer: gradients of its input (B, 30) x (30, 20) and of its weight (20, B) x (B, 30)
    assert g.value(last, "macs", batch=4) == 2 * 4 * 20 * 30
    # the first layer's input is the model's: only the weight's gradient
    assert g.value(first, "macs", batch=4) == 4 * 10 * 20
    assert [g.value(first, q, batch=4) for q in ("m", "n", "k")] == [10, 20, 4]


def test_every_weight_gets_a_gradient_as_large_as_itself(lowered, rules):
    g = lowered(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()), torch.empty(2, 3, 8, 8))
    add_backward(g.graph, rules.classes)
    weights = [t for t in g.graph.tensors if t.role == "weight"]
    outputs = [t for t in g.graph.tensors if ".grad." in t.tensor and t.is_output]
    assert sorted(t.shape for t in weights) == sorted(t.shape for t in outputs)


def test_a_residual_adds_its_gradients(lowered, rules):
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            y = self.first(x)
            return self.second(y) + y

    g = lowered(Residual(), torch.empty(2, 4))
    add_backward(g.graph, rules.classes)
    assert gradients(g)["accumulate"].operator_class == "elementwise"


def test_operators_stay_in_order(lowered, rules):
    g = lowered(nn.Sequential(nn.Linear(4, 4), nn.GELU()), torch.empty(2, 4))
    add_backward(g.graph, rules.classes)
    for o in g.graph.operators:
        for t in o.reads:
            producer = g.graph.tensors[t].producer_operator_id
            assert producer is None or producer < o.operator_id
