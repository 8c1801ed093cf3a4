"""Vector units: other arithmetic, and products that run there."""

from __future__ import annotations

from collections.abc import Callable


def test_both_at_the_slower_ones_half_work(check: Callable[..., None]) -> None:
    """Products of 3 s, other steps of 4; 10 operations of 0.1 s, the slower ones."""
    shape = {
        "direct_ideal_s": 3.0, "vector_ideal_s": 4.0, "vector_half_ops": 10.0, "direct_op_s": 0.1, "vector_op_s": 0.05,
        "vector_fraction": 0.5,
    }  # fmt: skip
    # (3 + 4 + 10 x 0.1) / 0.5.
    check("cost_vector", {"vector_s": 16.0}, cost_matrix=shape)
    check("cost_vector", {"vector_s": 18.0}, cost_matrix=shape | {"vector_op_s": 0.2})
