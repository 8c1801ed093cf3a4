"""Sorts count one comparison an element."""

import torch

from charz.ingest.trace import torchvision_schemas


def test_topk_and_sort(lowered):
    g = lowered(lambda x: x.topk(3).values, torch.empty(2, 100))
    assert g.value(g.only("sort"), "flops") == 100
    g = lowered(lambda x: x.sort().values, torch.empty(2, 100))
    assert g.value(g.only("sort"), "flops") == 100


def test_bounded_suppression_compares_all_pairs(lowered):
    torchvision_schemas.prepare()
    from charz.ingest.trace import bounded  # defines the operator

    assert bounded.NAMESPACE == "charz"

    def suppress(boxes, scores, groups):
        return torch.ops.charz.bounded_nms(boxes, scores, groups, 0.5)

    g = lowered(suppress, torch.empty(1000, 4), torch.empty(1000), torch.empty(1000), symbolic=False)
    op = g.only("sort")
    assert op.is_size_bound
    assert g.value(op, "flops") == 16 * 1000 * 1000 / 2
