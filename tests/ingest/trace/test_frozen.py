"""Weights that a model does not train: the backward pass has no gradients and no products for them."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from charz.ingest.trace.backward import add_backward
from charz.schema.errors import CharzError


class Adapted(nn.Module):
    """Frozen linear layers, each with a parallel product of two trained ones."""

    def __init__(self, width=1024, rank=8, depth=8):
        super().__init__()
        self.base = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))
        self.down = nn.ModuleList(nn.Linear(width, rank, bias=False) for _ in range(depth))
        self.up = nn.ModuleList(nn.Linear(rank, width, bias=False) for _ in range(depth))
        self.base.requires_grad_(False)

    def forward(self, x):
        for base, down, up in zip(self.base, self.down, self.up, strict=True):
            x = base(x) + up(down(x))
        return x


def trained(lowered, rules, module, *given):
    found = lowered(module, *given, training=True)
    add_backward(found.graph, rules.classes)
    return found


def macs(found, batch):
    return sum(found.value(o, "macs", batch=batch) for o in found.graph.operators)


def kept(graph):
    """Return the names of forward tensors that the backward pass reads."""
    made = {t for o in graph.operators if not o.is_backward for t in o.writes}
    return sorted({graph.tensors[t].tensor for o in graph.operators if o.is_backward for t in o.reads if t in made})


def test_a_frozen_base_under_adapters(lowered, rules):
    """Forward 8 (1024^2 + 2 8 1024); backward 7 1024^2 for the inputs of the bases, of which the first needs no gradient, and
    (3 8 + 7) 8 1024 of adapters: 257,818,624 for 16 samples."""
    found = trained(lowered, rules, Adapted(), torch.empty(2, 1024))
    assert macs(found, 16) == 257_818_624
    assert sum(t.is_trained for t in found.graph.tensors) == 16
    gradients = [t for t in found.graph.tensors if t.role == "gradient"]
    assert sum(t.elements[0, 0, 0] for t in gradients) == 131_072


def test_a_frozen_product_keeps_nothing_of_its_input(lowered, rules):
    """The gradient of its input needs only its weight: the second product's input below is not kept."""
    module = nn.Sequential(nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False))
    module[1].requires_grad_(False)
    found = trained(lowered, rules, module, torch.empty(2, 8))
    assert kept(found.graph) == ["linear_1"]
    assert macs(found, 4) == 4 * 8 * 8 * (3 + 1 + 1 + 2)


def test_frozen_layers_before_the_first_trained_one_have_no_backward(lowered, rules):
    module = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    module[0].requires_grad_(False)
    found = trained(lowered, rules, module, torch.empty(2, 8))
    backward = [o.aten_operator for o in found.graph.operators if o.is_backward]
    assert backward == ["charz.backward.seed", "charz.backward.aten.linear.default"]


def test_a_frozen_weight_of_an_added_bias(lowered, rules):
    """`bias + x w` with a frozen w: a product for the gradient of x, none for that of w."""

    class Added(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(8, 8, bias=False)
            self.bias, self.weight = nn.Parameter(torch.ones(8)), nn.Parameter(torch.ones(8, 8), requires_grad=False)

        def forward(self, x):
            return torch.addmm(self.bias, self.first(x), self.weight)

    found = trained(lowered, rules, Added(), torch.empty(2, 8))
    with FlopCounterMode(display=False) as counter:
        Added()(torch.ones(4, 8)).sum().backward()
    assert macs(found, 4) == 4 * 8 * 8 * 4 == counter.get_total_flops() // 2


def test_a_model_of_which_nothing_trains_is_refused(lowered, rules):
    module = nn.Linear(8, 8).requires_grad_(False)
    with pytest.raises(CharzError, match="requires a gradient"):
        trained(lowered, rules, module, torch.empty(2, 8))


class Mixed(nn.Module):
    """Functions whose gradients need their results, or their operands, or nothing."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(8, 8) for _ in range(3))
        self.scale = nn.Parameter(torch.ones(8), requires_grad=False)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = torch.sigmoid(self.second(x)) * self.scale
        return torch.sin(self.third(x + 1.0))


def test_what_is_kept_is_what_pytorch_keeps(lowered, rules):
    """Elements of results that autograd saves, each storage once: those of relu, sigmoid, the sum and the last product."""
    module = Mixed()
    owned = {p.data_ptr() for p in module.parameters()}
    saved = {}
    x = torch.ones(4, 8)

    def pack(tensor):
        if tensor.data_ptr() not in {*owned, x.data_ptr()}:
            saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes() // 4
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = module(x)
    assert result.requires_grad and sum(saved.values()) == 4 * 4 * 8
    found = trained(lowered, rules, Mixed(), torch.empty(2, 8))
    assert kept(found.graph) == ["add", "linear_2", "relu", "sigmoid"]
