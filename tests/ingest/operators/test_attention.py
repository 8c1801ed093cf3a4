"""Attention against counts by hand."""

import torch
from torch.nn.functional import scaled_dot_product_attention


def test_three_parts(lowered):
    q, kv = torch.empty(2, 12, 197, 64), torch.empty(2, 12, 197, 64)
    g = lowered(scaled_dot_product_attention, q, kv, kv)
    op = g.only("attention")
    assert [s.step for s in op.steps] == ["qk", "softmax", "av"]
    assert g.value(op, "macs", "qk") == g.value(op, "macs", "av") == 12 * 197 * 197 * 64
    # softmax is 5 operations a score, the scale 1
    assert g.value(op, "flops", "softmax") == 6 * 12 * 197 * 197


def test_grouped_query_multiplies_every_query_head(lowered):
    q, kv = torch.empty(2, 8, 16, 32), torch.empty(2, 2, 16, 32)
    g = lowered(lambda q, k, v: scaled_dot_product_attention(q, k, v, enable_gqa=True), q, kv, kv)
    op = g.only("attention")
    assert g.value(op, "macs") == 2 * 8 * 16 * 16 * 32
    # the four heads that share keys are rows of one product
    assert g.value(op, "m", "qk") == 4 * 16
    assert g.value(op, "groups", "qk") == 2


def test_causal_is_counted_whole(lowered):
    """The steps also give queries and keys, from which a kernel's skipped share follows; without a mask they do not."""
    x = torch.empty(2, 4, 10, 8)
    g = lowered(lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True), x, x.clone(), x.clone())
    op = g.only("attention")
    for step in ("qk", "softmax", "av"):
        assert (g.value(op, "queries", step), g.value(op, "keys", step)) == (10, 10)
    assert g.value(op, "macs", "qk") == 4 * 10 * 10 * 8
    g = lowered(scaled_dot_product_attention, x, x.clone(), x.clone())
    assert all("keys" not in step.quantities for step in g.only("attention").steps)
