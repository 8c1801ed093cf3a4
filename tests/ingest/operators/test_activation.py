"""Activations against the table's formulas."""

import pytest
import torch
from torch.nn import functional as F


@pytest.mark.parametrize(
    ("function", "flops"),
    [
        (F.relu, 1),
        (F.relu6, 2),
        (F.sigmoid, 4),
        (F.silu, 5),
        (F.gelu, 5),
        (F.hardswish, 5),
        (F.hardsigmoid, 4),
        (torch.tanh, 1),
    ],
)
def test_flops_an_element(lowered, function, flops):
    op = (g := lowered(function, torch.empty(2, 3, 10))).only("activation")
    assert g.value(op, "flops") == flops * 30


def test_glu_counts_outputs(lowered):
    op = (g := lowered(F.glu, torch.empty(2, 10))).only("activation")
    assert g.value(op, "flops") == 5 * 5


def test_softmax(lowered):
    op = (g := lowered(lambda x: F.softmax(x, -1), torch.empty(2, 3, 10))).only("softmax")
    assert g.value(op, "flops") == 5 * 30


def test_in_place_shares_its_storage(lowered):
    g = lowered(lambda x: F.relu_(x + 1), torch.empty(2, 3))
    op = g.only("activation")
    written = g.graph.tensors[op.writes[0]]
    assert op.is_inplace and not op.is_view
    assert written.storage_tensor_id == op.reads[0]
