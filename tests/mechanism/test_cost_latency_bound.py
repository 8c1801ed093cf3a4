"""Accesses that wait for one another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "accesses": 50.0, "memory_latency_s": 0.25, "follows_strides": True, "memory_s": 10.0, "memory_level": "dram",
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 50 x 0.25.
        ({}, {"latency_bound_s": 12.5, "memory_s": 12.5, "memory_level": "latency"}),
        ({"layout": "strided"}, {"latency_bound_s": 12.5}),
        ({"layout": "nhwc"}, {"latency_bound_s": 0.0, "memory_s": 10.0, "memory_level": "dram"}),
        ({"follows_strides": False}, {"latency_bound_s": 0.0, "memory_s": 10.0}),
        ({"memory_s": 13.0}, {"latency_bound_s": 12.5, "memory_s": 13.0, "memory_level": "dram"}),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """What one number changes."""
    check("cost_latency_bound", expected, previous=SHAPE | shape)
