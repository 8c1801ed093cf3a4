"""The costs that all dataflows compute alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest

TILE = {
    "is_product": True, "product_count": 1, "m": 40.0, "n": 20.0, "k": 64.0, "gemm_count": 2.0, "flops": 204_800.0,
    "tile_m": 32.0, "tile_n": 24.0, "tile_k": 32.0, "tile_count": 4.0, "tile_unit_count": 3.0, "element_byte": 4.0,
    "unit_tile_count": 1.0, "stages": 2.0, "peak_ops_per_s": 200.0, "tiled_s": 4096.0, "carried_byte": 0.0,
    "load_byte_per_s": 1024.0, "stream_byte": 640.0, "stream_byte_per_s": 320.0,
}  # fmt: skip


@pytest.mark.parametrize(
    "dataflow", ["listed", "square", "stationary", "wavefront", "direct", "query_block"]
)  # fmt: skip
def test_every_dataflow(check: Callable[..., None], dataflow: str) -> None:
    """Two products in 2 x 1 tiles each on three units, whatever the dataflow."""
    expected = {
        "units_allocated": 3.0,
        # 4 bytes x 2 products x (40 x 64 once + 64 x 20 for each of two rows of tiles).
        "reload_byte": 4 * 2 * (2560.0 + 2560.0),
        "reload_s": 40.0,  # 40,960 / 1,024
        "stream_s": 2.0,
        # Two stages of 32 x 32 and 32 x 24 elements of 4 bytes, and 32 x 24 results of 4.
        "tile_byte": 2 * 4 * (1024 + 768) + 3072.0,
        # Slower than the peak: 204,800 / 200 = 1,024.
        "ideal_s": 4096.0,
    }
    counted = {"array_byte": 40_960.0} if dataflow in ("stationary", "wavefront") else {}
    check("tile_step", expected, **{f"tile_{dataflow}": TILE | counted})


@pytest.mark.parametrize(
    ("tile", "expected"),
    [
        pytest.param({"tiled_s": 1000.0}, {"ideal_s": 1024.0}, id="never faster than the peak"),
        pytest.param({"tile_count": 2.0}, {"units_allocated": 2.0}, id="fewer tiles than units"),
        # Four tiles in two blocks.
        pytest.param({"unit_tile_count": 2.0}, {"units_allocated": 2.0}, id="fewer blocks than units"),
        # 2 x 4 x (32 x 16 + 16 x 24) + 3,072.
        pytest.param({"k": 16.0}, {"tile_byte": 7168.0 + 3072.0}, id="a product less deep than the tile"),
        # Further bytes across the border of the tile memory are added: 1,024 bytes, a second.
        pytest.param({"carried_byte": 1024.0}, {"reload_byte": 41_984.0, "reload_s": 41.0}, id="more than operands"),
        pytest.param(
            {"load_byte_per_s": None, "stream_byte_per_s": None}, {"reload_s": 0.0, "stream_s": 0.0}, id="unknown bandwidth"
        ),
        # Results that stay in the array take none of the tile memory.
        pytest.param({"kept_result_byte": 0.0}, {"tile_byte": 14_336.0}, id="results elsewhere"),
        # Without a tile nothing is kept or loaded again.
        pytest.param({"tile_m": None, "tile_n": None, "tile_k": None}, {"reload_byte": 0.0, "tile_byte": 0.0}, id="no tile"),
    ],
)  # fmt: skip
def test_each_term(check: Callable[..., None], tile: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("tile_step", expected, tile_listed=TILE | tile)


@pytest.mark.parametrize("dataflow", ["stationary", "wavefront"])
def test_arrays_count_their_own_loads(check: Callable[..., None], dataflow: str) -> None:
    """Partial results are among the bytes that an array counts; fetched bytes pass."""
    counted = {"array_byte": 25_600.0, "carried_byte": 5_120.0, "fetch_byte": 7.0}
    check("tile_step", {"reload_byte": 25_600.0, "reload_s": 25.0, "fetch_byte": 7.0}, **{f"tile_{dataflow}": TILE | counted})
