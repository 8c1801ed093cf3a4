"""The candidate with the shortest kernel time, as one row."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

SHAPE = {
    "matrix_half_ops": 0.0, "matrix_fraction": 1.0, "vector_half_ops": 0.0, "vector_fraction": 1.0, "vector_ideal_s": 0.0,
    "vector_op_s": 0.0, "vector_naive_s": 0.0, "vector_energy_j": 0.0, "untiled_s": 1.0, "exposed_s": 0.0,
    "overlap_fraction": 1.0, "tile_memory_level": "scratchpad", "tile_j_per_byte": 0.01, "stream_level": "l1",
    "stream_j_per_byte": 0.001, "staged_byte": 0.0, "staged_load_s": 0.0, "passing_byte": 0.0, "passing_s": 0.0, "vector_stream_byte": 0.0,
    "vector_stream_s": 0.0,
    "untiled_energy_j": 1.0,
}  # fmt: skip
"""100 W are left for the arithmetic; main memory takes a second."""
TILE = {
    "matrix_ideal_s": 5.0, "direct_ideal_s": 0.0, "matrix_op_s": 0.0, "direct_op_s": 0.0, "matrix_naive_s": 1.0,
    "direct_naive_s": 0.0, "product_energy_j": 10.0, "reload_byte": 100.0, "reload_s": 1.0, "stream_byte": 0.0, "stream_s": 0.0,
    "units_allocated": 4.0,
}  # fmt: skip


def choice(
    evaluate: Callable[..., list[dict[str, Any]]], shape: dict[str, Any], *tiles: dict[str, Any]
) -> dict[str, Any]:
    """Return the winner, which is the same in any order of candidates."""
    found = []
    for order in itertools.permutations([TILE | {"candidate": i} | tile for i, tile in enumerate(tiles)]):
        (row,) = evaluate("cost_tile", cost_border=[SHAPE | shape], tile_time=list(order))
        found.append(row)
    assert all(row == found[0] for row in found)
    return found[0]


@pytest.mark.parametrize(
    ("shape", "tiles", "winner"),
    [
        pytest.param({}, [{"matrix_ideal_s": 5.0}, {"matrix_ideal_s": 4.0}], 1, id="faster"),
        # Main memory hides 4 and 5 s alike; 8 and 9 J of products, and a joule of reloads each: less energy wins.
        pytest.param(
            {"untiled_s": 6.0},
            [{"matrix_ideal_s": 4.0, "product_energy_j": 9.0}, {"matrix_ideal_s": 5.0, "product_energy_j": 8.0}],
            1,
            id="less energy at the same time",
        ),
        # Half the energy, with no other energies.
        pytest.param(
            {"untiled_s": 6.0, "untiled_energy_j": 0.0},
            [{"product_energy_j": 20.0}, {"product_energy_j": 10.0}],
            1,
            id="energy of the tile alone",
        ),
        pytest.param({"untiled_s": 6.0}, [{"product_energy_j": 10.0}, {"product_energy_j": 9.999}], 1, id="a little less energy"),
        # The first one's extra reloads cost more than its products save: 8 + 3 against 9 + 1.
        pytest.param(
            {"untiled_s": 6.0},
            [{"product_energy_j": 8.0, "reload_byte": 300.0}, {"product_energy_j": 9.0}],
            1,
            id="reloads cost energy",
        ),
        pytest.param({"untiled_s": 6.0}, [{}, {"matrix_ideal_s": 4.0}], 0, id="the lower number of equals"),
        pytest.param({"untiled_s": 6.0}, [{"matrix_ideal_s": 4.0}, {}], 0, id="the lower number of equals, faster or not"),
        # Three times equal up to rounding, the last the smallest: 8 J wins.
        pytest.param(
            {},
            [{"product_energy_j": 9.0}, {"product_energy_j": 8.0, "matrix_ideal_s": 5.0 + 1e-15}, {"product_energy_j": 9.0, "matrix_ideal_s": 5.0 - 2e-15}],
            1,
            id="equal within rounding",
        ),
        # A real difference of a millionth of the time outweighs any energy.
        pytest.param({}, [{"product_energy_j": 1.0, "matrix_ideal_s": 5.000005}, {"product_energy_j": 400.0}], 1, id="time first"),
        # 600 J in 4 s would exceed the limit of 100 W: it acts on the run, not on a tile.
        pytest.param({}, [{"matrix_ideal_s": 4.0, "product_energy_j": 600.0}, {}], 0, id="no limit of its own"),
        # Loading 1,000 bytes takes 10 s.
        pytest.param({}, [{"matrix_ideal_s": 4.0, "reload_byte": 1000.0, "reload_s": 10.0}, {}], 1, id="reloads take time"),
        # Streams take 4 s, in addition to 2 of other steps.
        pytest.param({"vector_stream_s": 2.0}, [{"matrix_ideal_s": 4.0, "stream_s": 4.0}, {}], 1, id="streams take time"),
        # As a memory of 6 s with 4 s of arithmetic, half of which does not overlap: 8 s, against 7.5.
        pytest.param(
            {"is_staged": True, "overlap_fraction": 0.5}, [{"matrix_ideal_s": 4.0, "stream_s": 6.0}, {"matrix_ideal_s": 7.0}], 1,
            id="streams are a memory",
        ),
        # As part of the instructions: 6 s.
        pytest.param(
            {"overlap_fraction": 0.5}, [{"matrix_ideal_s": 4.0, "stream_s": 6.0}, {"matrix_ideal_s": 7.0}], 0,
            id="streams are a bound",
        ),
        # 8 J and 1 of reloads and 2 of 2,000 bytes that stream, against 9 and 1.
        pytest.param(
            {"untiled_s": 6.0},
            [{"product_energy_j": 8.0, "stream_byte": 2000.0}, {"product_energy_j": 9.0}],
            1,
            id="streams cost energy",
        ),
        # 400 bytes pass the levels whatever the tile loads: 9 J of products against 8.
        pytest.param(
            {"untiled_s": 6.0, "staged_byte": 400.0},
            [{"product_energy_j": 9.0}, {"product_energy_j": 8.0, "reload_byte": 300.0}],
            1,
            id="what passes anyway",
        ),
        # A sixth of 6 s of arithmetic does not overlap with 8 of reloads, nor a sixth of 5 with 8.5: 9 and 9.33.
        pytest.param(
            {"overlap_fraction": 5 / 6},
            [
                {"matrix_ideal_s": 5.0, "reload_byte": 850.0, "reload_s": 8.5},
                {"matrix_ideal_s": 6.0, "reload_byte": 800.0, "reload_s": 8.0},
            ],
            1,
            id="overlap",
        ),
        # On the vector units 3 s of products follow 3 of other steps.
        pytest.param(
            {"vector_ideal_s": 3.0},
            [{"matrix_ideal_s": 0.0, "direct_ideal_s": 3.0}, {"matrix_ideal_s": 5.0}],
            1,
            id="vector units are shared",
        ),
        # Ten operations of 0.1 s per unit are half the work: 4 + 1 against 4.5 + 0.1.
        pytest.param(
            {"matrix_half_ops": 10.0},
            [{"matrix_ideal_s": 4.0, "matrix_op_s": 0.1}, {"matrix_ideal_s": 4.5, "matrix_op_s": 0.01}],
            1,
            id="half work",
        ),
        # A tile with a smaller loss than the library's is still not faster than the peak: both take 3 s, the first less
        # energy.
        pytest.param(
            {"matrix_fraction": 2.0},
            [{"product_energy_j": 9.0, "matrix_naive_s": 3.0}, {"matrix_ideal_s": 3.0, "matrix_naive_s": 3.0}],
            0,
            id="never above the peak",
        ),
        # Without coefficients no energy is compared.
        pytest.param({}, [{"product_energy_j": None}, {"product_energy_j": None}], 0, id="unknown energy"),
    ],
)  # fmt: skip
def test_winner(
    evaluate: Callable[..., list[dict[str, Any]]], shape: dict[str, Any], tiles: list[dict[str, Any]], winner: int
) -> None:
    """Each case tests one rule."""
    row = choice(evaluate, shape, *tiles)
    expected = TILE | tiles[winner] | {"candidate": winner}
    # Further bytes on the same levels.
    expected["reload_byte"] = max(expected["reload_byte"], shape.get("staged_byte", 0.0))
    expected["stream_s"] += shape.get("vector_stream_s", 0.0)
    assert {name: row[name] for name in expected} == expected


def test_one_row_a_shape_and_part(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Two shapes on two parts."""
    keys = [{"shape_id": s, "hardware": h} for s in (0, 1) for h in ("chip", "other")]
    tiles = [TILE | key | {"candidate": i, "matrix_ideal_s": 9.0 - i} for key in keys for i in range(3)]
    rows = evaluate("cost_tile", cost_border=[SHAPE | key for key in keys], tile_time=tiles)
    assert len(rows) == 4
    assert {row["candidate"] for row in rows} == {2}
