"""Masks select at most all their elements, and are marked."""

import torch

from charz.ingest.trace.bounded import BoundedSizes


def test_mask_selects_at_most_all(lowered):
    def select(x):
        with BoundedSizes():
            return x[x > 0] * 2

    g = lowered(select, torch.empty(50), symbolic=False)
    picked = next(o for o in g.graph.operators if o.aten_operator.startswith("charz.bounded_nonzero"))
    assert picked.is_size_bound
    product = g.of_class("elementwise")[-1]
    assert product.is_size_bound
    assert g.value(product, "threads") == 50


def test_masks_that_share_their_elements_sum_to_them(lowered):
    def partition(x):
        mode = BoundedSizes()
        with mode, mode.shared(4):
            return [x[x == level] for level in range(4)]

    g = lowered(partition, torch.empty(1000), symbolic=False)
    assert sum(g.value(o, "threads") for o in g.graph.operators if o.aten_operator == "aten.index.Tensor") == 1000
