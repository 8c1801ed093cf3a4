"""Arithmetic on both kinds of unit at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "matrix_s": 6.0, "vector_s": 5.0, "matrix_naive_s": 2.0, "direct_naive_s": 1.0, "vector_naive_s": 0.5,
    "matrix_ideal_s": 4.0, "direct_ideal_s": 1.5, "vector_ideal_s": 1.0, "dram_byte": 100.0, "dram_byte_per_s": 40.0,
    "product_energy_j": 3.0, "vector_energy_j": 4.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        pytest.param(
            {},
            {
                "naive_s": 2.0,  # the larger of 2 and 1 + 0.5
                "compute_s": 6.0,
                "utilization_fraction": 0.5,  # 2 / 4, the larger of 4 and 1.5 + 1
                "roofline_s": 2.5,  # 100 / 40
                "compute_energy_j": 7.0,
            },
            id="matrix units are busier",
        ),
        pytest.param({"vector_s": 7.0}, {"compute_s": 7.0}, id="vector units are slower"),
        pytest.param(
            {"vector_naive_s": 3.0, "vector_ideal_s": 6.5},
            {"naive_s": 4.0, "utilization_fraction": 0.5, "roofline_s": 4.0},
            id="vector units are busier",
        ),
        # Library tiles with a smaller loss than ours are still not faster than the peak.
        pytest.param({"matrix_s": 1.0, "vector_s": 1.0}, {"compute_s": 2.0}, id="never above the peak"),
        pytest.param(
            dict.fromkeys(SHAPE, 0.0) | {"dram_byte_per_s": 40.0},
            {"naive_s": 0.0, "compute_s": 0.0, "utilization_fraction": 1.0, "roofline_s": 0.0},
            id="no arithmetic",
        ),
        pytest.param({"vector_energy_j": None}, {"compute_energy_j": None}, id="unknown energy"),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_compute", expected, cost_vector=SHAPE | shape)
