"""Reads and writes that a library repeats at every call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "family": "cpu", "reorder_fraction": 0.25, "dram_byte_per_s": 400.0, "convolution_reorder_byte": 300.0,
    "linear_reorder_byte": 100.0, "weight_byte": 1000.0, "dram_j_per_byte": 0.5,
}  # fmt: skip
NCHW = {
    "family": "gpu", "converted_byte": 0.0, "nchw_elements": 50.0, "nchw_byte": 200.0, "element_s": 0.1, "flight_fraction": 0.5,
    "kernel_gap_s": 1.0,
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
        # Loads in flight: 50 elements at 0.1 / 0.5 s exceed 200 bytes at 400 x 0.25 per second; three gaps of 1 s.
        pytest.param(
            NCHW | {"reads_channels_last": True}, {"reorder_byte": 200.0, "reorder_s": 13.0, "reorder_energy_j": 100.0}, id="from nchw"
        ),
        pytest.param(NCHW | {"reads_channels_last": True, "element_s": 0.001}, {"reorder_s": 5.0}, id="from nchw, by bandwidth"),
        pytest.param(NCHW, {"reorder_byte": 0.0, "reorder_s": 0.0}, id="nchw that the units read"),
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
