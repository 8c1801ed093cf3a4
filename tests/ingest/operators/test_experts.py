"""The product of a mixture of experts has one row for each token and chosen expert."""

import torch

from charz.ingest.sources import language  # defines the operator


def test_rows_not_experts_set_the_work(lowered):
    assert language.EXPERTS == "charz"
    g = lowered(
        lambda x, w, o: torch.ops.charz.grouped_mm(x, w, o, 2),
        torch.empty(2, 64), torch.empty(8, 64, 32), torch.empty(8, dtype=torch.int32), symbolic=False,
    )  # fmt: skip
    op = g.only("matmul")
    assert g.value(op, "macs") == 2 * 64 * 32
    assert g.moved(op, op.reads[1]) == 2 * 64 * 32, "two rows read two experts of eight"
    assert op.draw_fractions == {op.reads[1]: 2 / 8}, "a token at a time"
