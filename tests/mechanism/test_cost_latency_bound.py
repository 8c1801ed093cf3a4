"""Accesses that wait for each other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "accesses": 50.0, "memory_latency_s": 0.25, "follows_strides": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 50 x 0.25.
        ({}, {"latency_bound_s": 12.5}),
        ({"layout": "strided"}, {"latency_bound_s": 12.5}),
        ({"layout": "nhwc"}, {"latency_bound_s": 0.0}),
        ({"follows_strides": False}, {"latency_bound_s": 0.0}),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_latency_bound", expected, cost_cache=SHAPE | shape)
