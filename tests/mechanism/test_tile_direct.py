"""Narrow products, element by element on the vector units."""

from __future__ import annotations

from collections.abc import Callable

import pytest

STEP = {"is_product": True, "product_count": 1, "n": 4.0, "threads": 1024.0, "flops": 1000.0}
TILE = {
    "dataflow": "direct", "is_matrix": False, "block_threads": 256.0, "listed_n": 16.0, "filled_fraction": 0.5,
    "tile_unit_count": 3.0, "peak_ops_per_s": 300.0, "unit_ops_per_s": 100.0, "wave_quantization_fraction": 1.0,
}  # fmt: skip


def test_blocks_of_threads(check: Callable[..., None]) -> None:
    """1,024 threads are four blocks of 256, a quarter of the work each, on three units."""
    expected = {
        "tile_m": None,
        "tile_n": None,
        "tile_k": None,
        "tile_count": 4.0,
        "units_allocated": 3.0,
        "waves": 2.0,
        "pipelining_fraction": 1.0,
        "reload_byte": 0.0,
        "tile_byte": 0.0,
        # Two waves of 250 operations at 100 x 0.5; at the peak 1,000 / 300 = 3.3.
        "ideal_s": 10.0,
    }
    check("tile_step", expected, shape_step=STEP, arithmetic_tile=TILE)


@pytest.mark.parametrize(
    ("step", "tile", "expected"),
    [
        # Fewer threads than a block: all the work in one block of one unit, 1,000 / 50.
        pytest.param(
            {"threads": 100.0}, {}, {"tile_count": 1.0, "units_allocated": 1.0, "ideal_s": 20.0}, id="one block"
        ),
        # 513 threads are three blocks; a whole one is 256 / 513 of the work, and a partly filled block costs as much.
        pytest.param({"threads": 513.0}, {}, {"waves": 1.0, "ideal_s": 1000 * 256 / 513 / 50}, id="last block"),
        # Waves that need not be whole: 4 / 3.
        pytest.param({}, {"wave_quantization_fraction": 0.0}, {"ideal_s": 250 / 50 * 4 / 3}, id="no whole waves"),
        # Never below the peak: 1,000 / 50.
        pytest.param({}, {"peak_ops_per_s": 50.0}, {"ideal_s": 20.0}, id="peak"),
    ],
)
def test_each_term(
    check: Callable[..., None], step: dict[str, object], tile: dict[str, object], expected: dict[str, object]
) -> None:
    """Each case changes one number."""
    check("tile_step", expected, shape_step=STEP | step, arithmetic_tile=TILE | tile)


@pytest.mark.parametrize(("columns", "widest", "count"), [(16.0, 16.0, 1), (17.0, 16.0, 0), (1000.0, None, 1)])
def test_only_narrow_products(
    evaluate: Callable[..., list[object]], columns: float, widest: float | None, count: int
) -> None:
    """Products up to the widest listed; all products if no array computes in the element type."""
    rows = evaluate("tile_direct", shape_step=[STEP | {"n": columns}], arithmetic_tile=[TILE | {"listed_n": widest}])
    assert len(rows) == count
