"""Matrix units: the share of the tiles' rate that kernels of the class reach."""

from __future__ import annotations

from collections.abc import Callable


def test_share_of_the_tiles_pace(check: Callable[..., None]) -> None:
    """6 s and 8 operations of a quarter of a second, the work per unit at half the rate; at most 0.8 of the rate."""
    shape = {"matrix_ideal_s": 6.0, "matrix_half_ops": 8.0, "matrix_op_s": 0.25, "matrix_fraction": 0.8}
    # (6 + 8 x 0.25) / 0.8.
    check("cost_matrix", {"matrix_s": 10.0}, cost_reload=shape)
    check("cost_matrix", {"matrix_s": 7.5}, cost_reload=shape | {"matrix_half_ops": 0.0})
    check("cost_matrix", {"matrix_s": 0.0}, cost_reload=shape | {"matrix_ideal_s": 0.0, "matrix_op_s": 0.0})
