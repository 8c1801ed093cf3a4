"""Matrix products against counts by hand."""

import pytest
import torch
from torch import nn


def test_linear(lowered):
    op = (g := lowered(nn.Linear(768, 3072), torch.empty(2, 197, 768))).only("linear")
    assert [g.value(op, q) for q in ("groups", "m", "n", "k")] == [1, 197, 3072, 768]
    assert g.value(op, "macs") == 197 * 3072 * 768


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((2, 5, 7), (7, 3), (1, 5, 3, 7)),  # one matrix for all samples: their rows are rows of one product
        ((2, 4, 5, 7), (2, 4, 7, 3), (4, 5, 3, 7)),  # one product a sample and head
        ((2, 4, 5, 7), (4, 7, 3), (4, 5, 3, 7)),  # heads broadcast over the batch
    ],
)
def test_products(lowered, left, right, expected):
    class Multiply(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.empty(right))

        def forward(self, x):
            return x @ self.weight

    if right[0] == 2:
        g = lowered(lambda x, y: x @ y, torch.empty(left), torch.empty(right))
    else:
        g = lowered(Multiply(), torch.empty(left))
    op = g.only("linear" if expected[0] == 1 else "matmul")  # a single product counts as a linear layer
    assert g.value(op, "macs") == expected[0] * expected[1] * expected[2] * expected[3]
    assert [g.value(op, q) for q in ("groups", "m", "n", "k")] == list(expected)


def test_baddbmm_counts_no_addition(lowered):
    g = lowered(torch.baddbmm, torch.empty(2, 5, 3), torch.empty(2, 5, 7), torch.empty(2, 7, 3))
    assert g.value(g.only("matmul"), "flops") == 2 * 5 * 7 * 3


@pytest.mark.parametrize(
    ("equation", "left", "right", "expected"),
    [
        ("bhid,bhjd->bhij", (2, 4, 5, 7), (2, 4, 6, 7), (4, 5, 6, 7)),
        ("bij,bjk->bik", (2, 5, 7), (2, 7, 3), (1, 5, 3, 7)),
        ("b...d,b...d->b...", (2, 5, 6, 7), (2, 5, 6, 7), (30, 1, 1, 7)),
    ],
)
def test_einsum(lowered, equation, left, right, expected):
    g = lowered(lambda x, y: torch.einsum(equation, x, y), torch.empty(left), torch.empty(right))
    op = g.only("matmul")
    assert [g.value(op, q) for q in ("groups", "m", "n", "k")] == list(expected)


def test_einsum_of_which_nothing_is_contracted_is_an_elementwise_product(lowered):
    g = lowered(lambda x, y: torch.einsum("bi,bj->bij", x, y), torch.empty(2, 5), torch.empty(2, 7))
    op = g.only("elementwise")
    assert (g.value(op, "macs"), g.value(op, "flops")) == (0, 5 * 7)


def test_einsum_sums_what_one_operand_alone_has_before_it_multiplies(lowered):
    g = lowered(lambda x, y: torch.einsum("bik,bjk->bi", x, y), torch.empty(2, 5, 6), torch.empty(2, 7, 6))
    op = g.only("matmul")
    assert g.value(op, "macs") == 5 * 6  # j is summed first: five rows by a vector of six
    assert g.value(op, "flops", "main_right") == 7 * 6
