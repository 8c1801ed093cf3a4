"""Look-ups move only the looked-up rows."""

import torch
from torch import nn


def test_only_rows_looked_up_move(lowered):
    g = lowered(nn.Embedding(30522, 768), torch.empty(2, 128, dtype=torch.int64))
    op = g.only("embedding")
    weight, indices = op.reads
    assert g.moved(op, weight, batch=3) == 3 * 128 * 768
    assert g.moved(op, indices, batch=3) == 3 * 128
    assert g.value(op, "flops") == 0
