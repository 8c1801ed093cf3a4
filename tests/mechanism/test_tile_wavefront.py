"""Output-stationary wavefronts: K + R + C - 2 cycles for one tile, max(K, R) more for each further one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "cost-model" / "kpu.md"
STEP = {
    "is_product": True, "product_count": 1, "m": 8.0, "n": 8.0, "k": 10.0, "gemm_count": 1.0,
    "flops": 1280.0,  # 2 x 8 x 8 x 10
}  # fmt: skip
TILE = {
    "dataflow": "wavefront", "is_matrix": True, "is_staged": True, "matrix_array_rows": 4.0, "matrix_array_columns": 4.0,
    "array_clock_hz": 26.0, "fed_array_hz": None, "filled_fraction": 0.5, "stages": 2.0, "element_byte": 1.0,
    "tile_unit_count": 2.0, "peak_ops_per_s": 1664.0, "unit_ops_per_s": 832.0, "wave_quantization_fraction": 1.0,
    "listed_m": 0.0, "listed_n": 0.0, "listed_k": 0.0, "split_k": 1.0, "load_unit_byte_per_s": 8.0,
    "stream_unit_byte_per_s": 16.0, "stream_memory_byte": 32.0, "tile_memory_byte": 1000.0,
}  # fmt: skip
"""Two arrays of 4 x 4, 13 cycles per second: peak 2 x 4 x 4 x 2 x 26."""


def test_two_tiles_on_each_array(check: Callable[..., None]) -> None:
    """Four tiles of 4 x 4 on two arrays."""
    expected = {
        "tile_m": 4.0,
        "tile_n": 4.0,
        "tile_k": 10.0,
        "tile_count": 4.0,
        "units_allocated": 2.0,
        "waves": 2.0,
        # 10 + 4 + 4 - 2 = 16 cycles for the first, 10 more for the second: 26 at 13 per second.
        "ideal_s": 2.0,
        "pipelining_fraction": 20 / 26,
        # 8 x 10 for each of two columns of tiles, and 10 x 8 for each of two rows, and 8 x 8 results.
        "reload_byte": 160.0 + 160.0 + 64.0,
        # Two units, 8 bytes a second each.
        "reload_s": 24.0,
        "stream_byte": 384.0,
        "stream_s": 12.0,
        # Two stages of 4 x 10 and 10 x 4 elements of a byte: results stay in the array.
        "tile_byte": 160.0,
    }
    check("tile_step", expected, shape_step=STEP, arithmetic_tile=TILE)


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
        # Three tiles on two arrays, 1.5 rounds of two: 16 cycles and (1.75 - 1) * 10.
        pytest.param(
            {"m": 12.0, "n": 4.0}, {"wave_quantization_fraction": 0.5}, {"tile_count": 3.0, "ideal_s": 23.5 / 13}, id="half of whole waves"
        ),
        # One tile is a whole round, however many arrays there are.
        pytest.param({"m": 1.0, "n": 1.0}, {"wave_quantization_fraction": 0.0}, {"ideal_s": 16 / 13}, id="less than a wave"),
        # Never below the peak.
        pytest.param({"flops": 16_640.0}, {}, {"ideal_s": 10.0}, id="peak"),
        # Results that software does not move bypass the tile memory; each of four array tiles loads 4 x 10 elements of both operands.
        pytest.param({}, {"is_staged": False}, {"reload_byte": 320.0, "fetch_byte": 0.0}, id="results not moved"),
        # Without staging an array loads the same for tiles of a block; the unit's own memory is filled once a block.
        pytest.param(
            {}, {"is_staged": False, "has_own_memory": True, "fetches_tiles": True, "listed_m": 8.0, "listed_n": 8.0},
            {"reload_byte": 320.0, "fetch_byte": 160.0}, id="fetched blocks",
        ),
        # One unit of two has two of four tiles, in a line: rows of 8 x 10 cross once for both, columns of 10 x 8 twice.
        pytest.param(
            {}, {"is_staged": False, "has_own_memory": True, "fetches_tiles": True}, {"reload_byte": 320.0, "fetch_byte": 80.0 + 160.0},
            id="rows fetched once",
        ),
        # A unit with room for a depth of 5 fetches rows again for each tile.
        pytest.param(
            {}, {"is_staged": False, "has_own_memory": True, "fetches_tiles": True, "tile_memory_byte": 80.0}, {"fetch_byte": 320.0},
            id="rows fetched again",
        ),
        # Halves of the reduction meet over the shared memory: 4 bytes of 64 results.
        pytest.param(
            {}, {"is_staged": False, "has_own_memory": True, "fetches_tiles": True, "split_k": 2.0, "tile_unit_count": 8.0},
            {"reload_byte": 320.0, "fetch_byte": 320.0 + 256.0}, id="fetched halves",
        ),
        # Streams with 6.5 steps per second.
        pytest.param({}, {"fed_array_hz": 6.5}, {"ideal_s": 4.0}, id="fed slowly"),
        # Three tiles: one unit has two, and each loads two thirds of all: 120 + 160 + 48 at 12 bytes per second.
        pytest.param({"m": 12.0, "n": 4.0}, {}, {"tile_count": 3.0, "waves": 2.0, "reload_byte": 288.0, "reload_s": 24.0}, id="uneven"),
        # Halves of the reduction, eight tiles: 5 + 6 + 3 x 5 = 26 cycles; four rounds of two in which 64 bytes meet at
        # 8 per second.
        pytest.param(
            {}, {"split_k": 2.0},
            {"tile_count": 8.0, "waves": 4.0, "ideal_s": 2.0 + 2 * 8.0, "reload_byte": 384.0 + 256.0}, id="split reduction",
        ),
        # Thirds of it, 4 deep, twelve tiles in six rounds: 4 + 6 + 5 x 4 cycles; 6 x 2 / 3 rounds of adding.
        pytest.param({}, {"split_k": 3.0}, {"waves": 6.0, "ideal_s": 30 / 13 + 4 * 8.0}, id="thirds"),
        # Blocks of four tiles, all of the product: one unit has them. Operands cross once; rows do not stay in 32
        # bytes.
        pytest.param(
            {}, {"listed_m": 8.0, "listed_n": 8.0},
            {"waves": 4.0, "units_allocated": 1.0, "ideal_s": (16 + 30) / 13, "reload_byte": 80.0 + 80.0 + 64.0,
             "stream_byte": 384.0, "tile_byte": 320.0}, id="block",
        ),
        # Four tiles in two blocks: two of eight units have them.
        pytest.param(
            {}, {"listed_m": 8.0, "tile_unit_count": 8.0}, {"tile_count": 4.0, "units_allocated": 2.0}, id="fewer blocks than units"
        ),
        # Rows stay in 4 x 10 + 2 x 4 bytes.
        pytest.param(
            {}, {"listed_m": 8.0, "listed_n": 8.0, "stream_memory_byte": 48.0}, {"stream_byte": 80.0 + 160.0 + 64.0}, id="rows stay"
        ),
        # Two slabs of five, eight of them in sequence: 5 + 6 + 7 x 5 cycles; rows of five stay; 64 results out and in
        # again, 4 bytes each.
        pytest.param(
            {}, {"listed_m": 8.0, "listed_n": 8.0, "listed_k": 5.0},
            {"ideal_s": 46 / 13, "stream_byte": 304.0 + 512.0, "tile_byte": 160.0 + 256.0}, id="slabs",
        ),
    ],
)  # fmt: skip
def test_each_term(
    check: Callable[..., None], step: dict[str, object], tile: dict[str, object], expected: dict[str, object]
) -> None:
    """Each case changes one number."""
    check("tile_step", expected, shape_step=STEP | step, arithmetic_tile=TILE | tile)


def test_what_no_level_holds_is_no_candidate(evaluate: Callable[..., list[object]]) -> None:
    """One step of 2 x (4 + 4) bytes is too large."""
    assert not evaluate("tile_wavefront", shape_step=[STEP], arithmetic_tile=[TILE | {"tile_memory_byte": 15.0}])


def test_the_example_of_the_page(evaluate: Callable[..., list[dict[str, float]]]) -> None:
    """A convolution of ResNet-18 on KPU-T256, with the numbers of docs/cost-model/kpu.md."""
    step = {"m": 784.0, "n": 128.0, "k": 576.0, "flops": 2.0 * 784 * 128 * 576, "taps": 9.0, "image": 200_704.0}
    part = {
        "matrix_array_rows": 32.0, "matrix_array_columns": 32.0, "array_clock_hz": 600e6, "fed_array_hz": 1200e6,
        "filled_fraction": 1.0, "tile_unit_count": 256.0, "peak_ops_per_s": 2 * 256 * 1024 * 600e6,
        "load_unit_byte_per_s": 38.4e9, "stream_unit_byte_per_s": 76.8e9, "stream_memory_byte": 4096.0, "tile_memory_byte": 32768.0,
    }  # fmt: skip
    tiles = [TILE | part | {"candidate": i, "split_k": float(s)} for i, s in enumerate((1, 2, 4))]
    found = evaluate("tile_step", shape_step=[STEP | step], arithmetic_tile=tiles)
    whole, halves, quarters = sorted(found, key=lambda row: row["candidate"])
    page = PAGE.read_text()
    for value, text in (
        (whole["tile_count"], "100"),
        (whole["tile_k"], "256"),
        (whole["ideal_s"] * 600e6, "638"),
        (halves["ideal_s"] * 600e6, "414"),
        (quarters["ideal_s"] * 600e6, "478"),
        (halves["reload_byte"], "3,295,967"),
        (halves["stream_byte"], "3,749,888"),
    ):
        assert f"{round(value):,}" == text
        assert f" {text} " in page
    assert round(halves["reload_s"] * 1e9) == 433
    assert round(halves["stream_s"] * 1e9) == 247
