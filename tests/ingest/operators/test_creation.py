"""Creation only writes; reserved memory is not even written."""

import torch


def test_filled_and_empty(lowered):
    g = lowered(lambda x: torch.zeros_like(x) + torch.empty_like(x), torch.empty(2, 5))
    zeros, empty = g.of_class("create")
    assert g.moved(zeros, zeros.reads[0]) == 0
    assert g.moved(zeros, zeros.writes[0]) == 5
    assert g.moved(empty, empty.writes[0]) == 0
