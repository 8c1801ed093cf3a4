"""The part of an operator that a kernel executes: all of it, except keys that a causal mask hides from blocks of queries."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Record = dict[str, object]

QUERIES, KEYS, WIDTH, BLOCK = 512.0, 768.0, 64.0, 128
SIZE = {
    "macs": QUERIES * KEYS * WIDTH, "flops": 2 * QUERIES * KEYS * WIDTH, "threads": QUERIES * KEYS, "accesses": 0.0, "m": QUERIES,
    "n": KEYS, "k": WIDTH, "gemm_count": 1.0, "rounds": 0.0, "row_count": 0.0, "sharing": 1.0, "queries": QUERIES, "keys": KEYS,
}  # fmt: skip
SEEN = sum(KEYS - QUERIES + (block + 1) * BLOCK for block in range(4)) / 4
"""Mean number of keys of four blocks of 128 queries after 256 keys: 384, 512, 640 and 768."""


def executed(evaluate: Callable[..., list[Record]], step: str, block: int | None = BLOCK, **size: object) -> Record:
    """Return the row of one step of an attention."""
    kernel = {"step": step, "step_class": "gemm", "operator_class": "attention"}
    (row,) = evaluate(
        "executed_step",
        run=[{"causal_block": block, "vector_rows": None, "chunk_count": 1.0}],
        kernel_step=[kernel],
        operator_precision=[{"policy": "fp32", "precision": "fp32"}],
        step_size=[SIZE | {"step": step} | size],
    )
    return row


@pytest.mark.parametrize(
    ("step", "cut"), [("qk", "n"), ("av_left", "n"), ("av", "k"), ("qk_left", "k"), ("qk_right", "k"), ("av_right", "k")]
)
def test_skips_what_no_query_of_a_block_sees(evaluate: Callable[..., list[Record]], step: str, cut: str) -> None:
    """One dimension is shorter, and the products in proportion; the model's own counts stay."""
    row = executed(evaluate, step)
    whole = executed(evaluate, step, queries=None, keys=None)
    share = SEEN / KEYS
    assert row[cut] == pytest.approx(whole[cut] * share, rel=1e-12)
    assert {name: row[name] for name in "mnk" if name != cut} == {name: whole[name] for name in "mnk" if name != cut}
    assert (row["macs"], row["flops"]) == pytest.approx((whole["macs"] * share, whole["flops"] * share), rel=1e-12)
    assert (row["model_macs"], row["model_flops"]) == (whole["macs"], whole["flops"])
    assert row["threads"] == pytest.approx(whole["threads"] * (share if cut == "n" else 1), rel=1e-12)


def test_softmax_is_of_what_is_seen(evaluate: Callable[..., list[Record]]) -> None:
    """The number of scores falls in proportion."""
    assert executed(evaluate, "softmax")["threads"] == pytest.approx(QUERIES * SEEN, rel=1e-12)


def test_a_backend_without_blocks_computes_every_score(evaluate: Callable[..., list[Record]]) -> None:
    """All scores are computed, as in a step without a mask."""
    assert executed(evaluate, "qk", block=None) == executed(evaluate, "qk", queries=None, keys=None)


def test_one_query_sees_all(evaluate: Callable[..., list[Record]]) -> None:
    """A step of decoding saves nothing."""
    row = executed(evaluate, "qk", m=1.0, queries=1.0)
    assert (row["n"], row["macs"]) == (KEYS, SIZE["macs"])
