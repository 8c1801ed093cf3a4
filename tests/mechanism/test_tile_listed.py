"""Output tiles of listed sizes, in waves over the units."""

from __future__ import annotations

from collections.abc import Callable

import pytest

STEP = {
    "is_product": True, "product_count": 1, "m": 32.0, "n": 16.0, "k": 10.0, "gemm_count": 3.0,
    "flops": 30_720.0,  # 2 x 3 x 32 x 16 x 10
}  # fmt: skip
TILE = {
    "dataflow": "listed", "strategy": "blocks", "is_matrix": True, "executed_precision": "fp16", "op_j": 1e-12,
    "listed_m": 16.0, "listed_n": 8.0, "listed_k": 4.0, "step_k": 4.0, "split_k": 1.0, "stages": 2.0, "element_byte": 2.0,
    "tile_unit_count": 10.0, "peak_ops_per_s": 2560.0, "unit_ops_per_s": 256.0, "sustained_fraction": 0.5,
    "fill_k": 3.0, "longest_fill_s": 100.0, "exposed_fill": 1.0, "start_s": 0.5, "wave_quantization_fraction": 1.0,
}  # fmt: skip
"""A step of the reduction takes 2 x 16 x 8 / (256 x 0.5) = 2 s; ten steps are padded to three stages of four, 24 s."""


def test_two_waves(check: Callable[..., None]) -> None:
    """3 x 2 x 2 = 12 tiles on 10 units."""
    expected = {
        "tile_m": 16.0,
        "tile_n": 8.0,
        "tile_k": 4.0,
        "tile_count": 12.0,
        "units_allocated": 10.0,
        "waves": 2.0,
        # Filling takes three steps, 6 s, in each wave: 48 s of 48 + 12.
        "pipelining_fraction": 0.8,
        # 2 bytes x 3 products x (32 x 10, once for each of two columns of tiles, + 10 x 16, once for each of two rows).
        "reload_byte": 2 * 3 * (640.0 + 320.0),
        # Two stages of 16 x 4 and 4 x 8 elements of 2 bytes, and 16 x 8 results of 4.
        "tile_byte": 2 * 2 * (64.0 + 32.0) + 512.0,
        # 48 + 12, and half a second to start; at the peak 30,720 / 2,560 = 12.
        "ideal_s": 60.5,
    }
    check("tile_step", expected, shape_step=STEP, arithmetic_tile=TILE)


@pytest.mark.parametrize(
    ("step", "tile", "expected"),
    [
        # Waves need not be whole; a quarter waits for the end: 0.25 x 2 + 0.75 x 1.2 = 1.4 waves of 24 s, filling 6 +
        # 0.4 x 6.
        pytest.param(
            {}, {"wave_quantization_fraction": 0.25}, {"ideal_s": 33.6 + 8.4 + 0.5, "waves": 2.0}, id="part of a wave"
        ),
        # Continued tiles are filled already, and the kernel has begun: 2 x 24.
        pytest.param({"is_continued": True}, {}, {"ideal_s": 48.0, "pipelining_fraction": 1.0}, id="continued"),
        # Filling takes at most the memory's latency: 1 + 1.
        pytest.param({}, {"longest_fill_s": 1.0}, {"ideal_s": 48 + 2 + 0.5}, id="longest fill"),
        pytest.param({}, {"longest_fill_s": None}, {"ideal_s": 60.5}, id="no longest fill"),
        # From the second wave on at most an eighth of the tile's time is not hidden: 6 + 24 / 8.
        pytest.param({}, {"exposed_fill": 0.125}, {"ideal_s": 48 + 9 + 0.5}, id="hidden fill"),
        # Two slices of the reduction: 24 tiles in 3 waves, each of ceil(10 / 8) x 4 = 8 steps, 16 s; 6 + 2 x 6 of filling.
        pytest.param(
            {}, {"split_k": 2.0}, {"tile_count": 24.0, "waves": 3.0, "ideal_s": 48 + 18 + 0.5}, id="split reduction"
        ),
        # One tile of one unit: 24 + 6.
        pytest.param(
            {"m": 16.0, "n": 8.0, "gemm_count": 1.0, "flops": 2560.0},
            {},
            {"tile_count": 1.0, "units_allocated": 1.0, "waves": 1.0, "ideal_s": 30.5},
            id="one tile",
        ),
        # Six rounds of two tiles each, whose weights of 16 x 10 x 2 bytes exceed a unit: 24 + 6 + 0.5, six times.
        pytest.param({"rounds": 6.0}, {"tile_memory_byte": 319.0}, {"waves": 6.0, "ideal_s": 6 * 30.5}, id="rounds"),
        pytest.param({"rounds": 6.0}, {"tile_memory_byte": 320.0}, {"waves": 2.0, "ideal_s": 60.5}, id="rounds on a unit"),
        # Never below the peak: 256,000 / 2,560.
        pytest.param({"flops": 256_000.0}, {}, {"ideal_s": 100.0}, id="peak"),
    ],
)
def test_each_term(
    check: Callable[..., None], step: dict[str, object], tile: dict[str, object], expected: dict[str, object]
) -> None:
    """Each case changes one number."""
    check("tile_step", expected, shape_step=STEP | step, arithmetic_tile=TILE | tile)


@pytest.mark.parametrize(
    ("step", "tile"),
    [
        ({"is_product": False}, {}),
        ({}, {"dataflow": "square"}),
        ({}, {"compute_precision": "fp16"}),
        ({}, {"arithmetic": "half"}),
    ],
)
def test_others_have_no_row(
    evaluate: Callable[..., list[object]], step: dict[str, object], tile: dict[str, object]
) -> None:
    """Other steps, dataflows, element types and uses of the units."""
    assert evaluate("tile_listed", shape_step=[STEP | step], arithmetic_tile=[TILE | tile]) == []
