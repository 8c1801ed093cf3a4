"""Elementwise arithmetic against the table."""

import pytest
import torch

from charz.ingest.operators.registry import RULES


@pytest.mark.parametrize(
    ("function", "flops"),
    [
        (lambda x: x + 1, 1), (lambda x: x * x, 1), (lambda x: torch.add(x, x, alpha=2), 2),
        (lambda x: x.clamp(0, 1), 2),
        (lambda x: torch.where(x > 0, x, 0.0), 1), (torch.exp, 1), (lambda x: torch.addcmul(x, x, x), 3),
    ],
)  # fmt: skip
def test_flops_an_element(lowered, function, flops):
    g = lowered(function, torch.empty(2, 15))
    assert g.value(g.of_class("elementwise")[-1], "flops", batch=4) == flops * 60


def test_broadcast_operand_counts_its_own_elements(lowered):
    g = lowered(lambda x: x + x[:, :1].expand(-1, 15), torch.empty(2, 15))
    op = g.only("elementwise")
    assert [g.moved(op, t, batch=2) for t in op.reads] == [30, 2]


def test_idle_dropout_is_a_view(lowered):
    g = lowered(lambda x: torch.nn.functional.dropout(x, 0.5, training=False) + 1, torch.empty(2, 5))
    assert [o.is_view for o in g.graph.operators] == [True, False]


def test_no_overload_has_two_rules():
    assert len(RULES) > 900
