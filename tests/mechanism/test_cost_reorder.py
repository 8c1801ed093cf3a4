"""Reads and writes that a library repeats at every call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "family": "cpu", "reorder_fraction": 0.25, "dram_byte_per_s": 400.0, "convolution_reorder_byte": 300.0,
    "linear_reorder_byte": 100.0, "weight_byte": 1000.0, "dram_j_per_byte": 0.5,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 400 bytes at 400 x 0.25 per second.
        pytest.param(
            {},
            {
                "reorder_byte": 400.0,
                "reorder_s": 4.0,
                "reorder_energy_j": 200.0,
            },
            id="in another order",
        ),
        # Rows that evict each other: the weights once more, in addition to the bias.
        pytest.param({"layout": "aliased"}, {"reorder_byte": 1100.0, "reorder_s": 11.0}, id="aliased"),
        pytest.param({"family": "tpu"}, {"reorder_byte": 0.0, "reorder_s": 0.0}, id="no processor"),
        # 600 bytes of a grouped convolution at 400 x 0.25 per second.
        pytest.param(
            {"family": "gpu", "converted_byte": 600.0},
            {"reorder_byte": 600.0, "reorder_s": 6.0, "reorder_energy_j": 300.0},
            id="groups that a GPU's library converts",
        ),
        pytest.param(
            {"reorder_fraction": None},
            {"reorder_byte": 0.0, "reorder_s": 0.0, "reorder_energy_j": 0.0},
            id="as they lie",
        ),
        pytest.param({"dram_j_per_byte": None}, {"reorder_energy_j": None}, id="unknown energy"),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_reorder", expected, cost_team=SHAPE | shape)
