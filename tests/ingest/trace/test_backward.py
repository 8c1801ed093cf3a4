"""Backward work against counts by hand."""

import pytest
import torch
from oracle.database import Bench
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from charz.ingest.trace.backward import add_backward


def gradients(g):
    """Return the backward operators that compute, by their forward targets."""
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


@pytest.mark.parametrize(
    ("options", "pixels", "channels", "depth"),
    [
        ({"kernel_size": 3, "padding": 1}, 16 * 16, 8, 12 * 9),
        ({"kernel_size": 3, "padding": 1, "stride": 2}, 16 * 16, 8, 12 * 9 // 4),
        ({"kernel_size": 1, "stride": 2}, 16 * 16, 8, 12 // 4),
        ({"kernel_size": 3, "padding": 1, "groups": 4}, 16 * 16, 2, 3 * 9),
        # 12 * 9 * 49 / 256 is a fraction, so the rows are the pixels of the result.
        ({"kernel_size": 3, "stride": 2}, 7 * 7, 8, 12 * 9),
        ({"kernel_size": 3, "padding": 2, "dilation": 2}, 16 * 16, 8, 12 * 9),
    ],
)
def test_the_gradient_of_an_image_is_an_implicit_product(lowered, rules, options, pixels, channels, depth):
    """The second layer's input has a gradient with a row for each pixel and a column for each channel. `groups` of products
    have as many multiplications as the forward pass; a weight's gradient has the pixels of the result as its depth."""
    g = lowered(nn.Sequential(nn.Conv2d(3, 8, 1), nn.Conv2d(8, 12, **options)), torch.empty(2, 3, 16, 16))
    (_, forward) = [o for o in g.graph.operators if o.operator_class == "conv"]
    add_backward(g.graph, rules.classes)
    last, first = [o for o in g.graph.operators if o.aten_operator == "charz.backward.aten.conv2d.default"]
    assert [g.value(last, q, "main_left", batch=5) for q in ("m", "n", "k")] == [5 * pixels, channels, depth]
    assert g.value(last, "threads", "main_left", batch=5) == 5 * pixels * channels * options.get("groups", 1)
    for side in ("main_left", "main_right"):
        assert g.value(last, "macs", side, batch=5) == g.value(forward, "macs", "main", batch=5)
        sizes = [g.value(last, q, side, batch=5) for q in ("groups", "m", "n", "k")]
        assert torch.tensor(sizes).prod().item() == g.value(last, "macs", side, batch=5)
    assert [step.step for step in first.steps] == ["main_right"]


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


def test_an_output_over_a_vocabulary_has_a_loss(lowered, rules):
    """Cross-entropy over 50 words for 2 samples: five operations an element forward and four backward."""
    g = lowered(nn.Sequential(nn.Embedding(50, 4), nn.Linear(4, 50)), torch.zeros(2, dtype=torch.int64))
    add_backward(g.graph, rules.classes)
    found = gradients(g)
    assert "seed" not in found
    assert g.value(found["log_softmax"], "flops", batch=2) == 5 * 2 * 50
    assert g.value(found["loss"], "flops", batch=2) == 4 * 2 * 50
    (gradient,) = found["loss"].writes
    assert gradient in found["aten.linear.default"].reads


def test_any_other_output_is_given_its_gradient(lowered, rules):
    g = lowered(nn.Sequential(nn.Embedding(50, 4), nn.Linear(4, 49)), torch.zeros(2, dtype=torch.int64))
    add_backward(g.graph, rules.classes)
    found = gradients(g)
    assert "loss" not in found
    assert found["seed"].reads == []


def test_operators_stay_in_order(lowered, rules):
    g = lowered(nn.Sequential(nn.Linear(4, 4), nn.GELU()), torch.empty(2, 4))
    add_backward(g.graph, rules.classes)
    for o in g.graph.operators:
        for t in o.reads:
            producer = g.graph.tensors[t].producer_operator_id
            assert producer is None or producer < o.operator_id


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.LSTM(6, 8, 2),
        lambda: nn.LSTM(6, 8, 2, bidirectional=True),
        lambda: nn.LSTM(6, 8, proj_size=4),
        lambda: nn.GRU(6, 8),
        lambda: nn.RNN(6, 8),
    ],
)
def test_a_recurrence_has_no_gradient_of_its_input_nor_of_its_first_state(lowered, rules, make):
    """PyTorch's own backward pass multiplies so in double precision, where no library takes the whole recurrence."""
    g = lowered(make(), torch.empty(5, 3, 6), symbolic=False)
    count = len(g.graph.operators)
    add_backward(g.graph, rules.classes)
    macs = sum(g.value(o, "macs") for o in g.graph.operators[count:])
    with FlopCounterMode(display=False) as counter:
        result = make().double()(torch.zeros(5, 3, 6, dtype=torch.float64))[0]
        forward = counter.get_total_flops()
        result.sum().backward()
    assert macs == (counter.get_total_flops() - forward) / 2


def test_a_layer_before_a_recurrence_has_its_gradient(lowered, rules):
    class Projected(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.lstm = nn.Linear(6, 6), nn.LSTM(6, 8)

        def forward(self, x):
            return self.lstm(self.linear(x))[0]

    g = lowered(Projected(), torch.empty(5, 3, 6), symbolic=False)
    add_backward(g.graph, rules.classes)
    lstm = gradients(g)["aten.lstm.input"]
    assert g.value(lstm, "macs", "input_left") == g.value(lstm, "macs", "input_right") == 5 * 3 * 6 * 32
    assert g.value(lstm, "macs", "recurrent_left") == 4 * 3 * 8 * 32


def test_no_gradient_adds_a_bias(lowered, rules):
    """The first layer has a bias, the second one none. The third operand of a gradient is a weight."""
    g = lowered(nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3, bias=False)), torch.empty(2, 3, 16, 16))
    add_backward(g.graph, rules.classes)
    with Bench(("added_bias",)) as made:
        made.add_graph(g.graph, "biased")
        assert made.rows("SELECT operator_id FROM added_bias") == [(0,)]
    assert all(len(o.reads) >= 3 for o in g.graph.operators if o.is_backward and o.operator_class == "conv")
