"""Output-stationary wavefronts: K + R + C - 2 cycles for one tile, max(K, R) more for each that follows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

STEP = {
    "is_product": True, "product_count": 1, "m": 8.0, "n": 8.0, "k": 10.0, "gemm_count": 1.0,
    "flops": 1280.0,  # 2 x 8 x 8 x 10
}  # fmt: skip
TILE = {
    "dataflow": "wavefront", "is_matrix": True, "matrix_array_rows": 4.0, "matrix_array_columns": 4.0,
    "array_clock_hz": 26.0, "filled_fraction": 0.5, "stages": 2.0, "element_byte": 1.0, "tile_unit_count": 2.0,
    "peak_ops_per_s": 1664.0, "unit_ops_per_s": 832.0, "wave_quantization_fraction": 1.0,
}  # fmt: skip
"""Two arrays of 4 x 4, 13 cycles a second: peak 2 x 4 x 4 x 2 x 26."""


def test_two_tiles_on_each_array(check: Callable[..., None]) -> None:
    """Four tiles of 4 x 4 on two arrays."""
    expected = {
        "tile_m": 4.0,
        "tile_n": 4.0,
        "tile_k": 10.0,
        "tile_count": 4.0,
        "units_allocated": 2.0,
        "waves": 2.0,
        # 10 + 4 + 4 - 2 = 16 cycles for the first, 10 more for the second: 26 at 13 a second.
        "ideal_s": 2.0,
        "pipelining_fraction": 20 / 26,
        # 8 x 10 for each of two columns of tiles, and 10 x 8 for each of two rows.
        "reload_byte": 160.0 + 160.0,
        # Two stages of 4 x 10 and 10 x 4 elements of a byte, and 4 x 4 results of 4.
        "tile_byte": 160.0 + 64.0,
    }
    check("tile_step", expected, shape_step=STEP, part_tile=TILE)


@pytest.mark.parametrize(
    ("step", "tile", "expected"),
    [
        # A reduction shorter than the array waits for it: 2 + 4 + 4 - 2 + 4 = 12 cycles.
        pytest.param({"k": 2.0}, {}, {"ideal_s": 12 / 13}, id="short reduction"),
        # One tile alone: 16 cycles, 10 of them full.
        pytest.param(
            {"m": 1.0, "n": 1.0}, {}, {"tile_count": 1.0, "units_allocated": 1.0, "ideal_s": 16 / 13, "pipelining_fraction": 10 / 16},
            id="one tile",
        ),
        # Never below the peak.
        pytest.param({"flops": 16_640.0}, {}, {"ideal_s": 10.0}, id="peak"),
    ],
)  # fmt: skip
def test_each_term(
    check: Callable[..., None], step: dict[str, object], tile: dict[str, object], expected: dict[str, object]
) -> None:
    """What one number changes."""
    check("tile_step", expected, shape_step=STEP | step, part_tile=TILE | tile)
