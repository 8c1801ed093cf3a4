"""Time and energy of loop nests, and the distance of the search from the optimum."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from charz.session.decide.loop_nests import CHANGED_BY, DATAFLOWS, MOST_CANDIDATES, ROWS, Product, Room, candidates

Record = dict[str, Any]
Evaluate = Callable[..., list[Record]]

RATE = {
    "element_byte": 1.0, "unit_count": 2.0, "matrix_unit_count": 2.0, "matrix_array_rows": 4.0, "matrix_array_columns": 8.0, "accumulator_byte": 4.0,
    "matrix_ops_per_s": 128e6, "matrix_op_j": 3.0, "tile_memory_byte": 4000.0, "tile_memory_byte_per_s": 1e9,
}  # fmt: skip
"""Two arrays of 4 x 8 at 1 MHz."""
PART = {
    "cache_level": "l3", "tile_memory_level": "l2", "cache_byte": 2000.0, "cache_byte_per_s": 50e6, "dram_byte_per_s": 10e6,
    "dram_j_per_byte": 100.0, "cache_j_per_byte": 10.0, "tile_j_per_byte": 1.0, "static_w": 1e6,
}  # fmt: skip
NEST = {
    "m": 16, "n": 8, "k": 12, "gemm_count": 1, "images": 1, "outer_m": 16, "outer_n": 8, "outer_k": 12, "outer_kept": "output", "inner_m": 8,
    "inner_n": 8, "inner_k": 12, "inner_kept": "weight",
}  # fmt: skip


FLOWS = tuple(name for name in DATAFLOWS if name != ROWS)
"""Dataflows with tiles of any size."""


def costed(
    evaluate: Evaluate, nests: list[Record], part: Record = PART, rate: Record = RATE, mesh: Record | None = None
) -> list[Record]:
    return evaluate("loop_nest_cost", loop_nest=nests, part_rate=[rate], part=[part], part_mesh=[mesh] if mesh else [])


@pytest.mark.parametrize(
    ("dataflow", "cycles", "serial", "array_byte"),
    [
        # Two folds of rows, one of columns; 12 steps each and 4 + 8 - 2 to fill: 2 x 12 + 10, and each fold alone 12 +
        # 10.
        ("output_stationary", 34, 44, 192 + 96 * 4 + 128),
        ("wavefront", 34, 44, 192 + 96 * 4 + 128),
        # Three folds of depth, 8 rows streamed through each: 3 x 8 + 10; each alone 8 + 10 and 4 to load the weights.
        # Results return for the second fold and the third.
        ("weight_stationary", 34, 66, 192 + 96 * 2 + 128 * 17),
        # Three folds of depth, one of 8 rows of the product on columns: 8 columns streamed.
        ("input_stationary", 34, 66, 192 + 96 * 2 + 128 * 17),
    ],
)
def test_steps_of_a_dataflow(evaluate: Evaluate, dataflow: str, cycles: int, serial: int, array_byte: int) -> None:
    """Two inner tiles on two arrays."""
    (row,) = costed(evaluate, [{**NEST, "dataflow": dataflow}])
    assert (row["cycles"], row["serial_cycles"], row["array_byte"]) == (cycles, serial, array_byte)
    assert row["utilization_fraction"] == pytest.approx(16 * 8 * 12 / (cycles * 2 * 32))
    assert row["compute_s"] == pytest.approx(cycles / 1e6)


@pytest.mark.parametrize(("kept", "cycles"), [("output", 2 * 12 + 10), ("input", 6 * 2 * 4 + 10)])
def test_results_that_stay_leave_the_array_once(evaluate: Evaluate, kept: str, cycles: int) -> None:
    """Six tiles of two steps of depth: 12 steps for results that stay; otherwise each takes the four steps in which they leave."""
    nest = {**NEST, "dataflow": "output_stationary", "inner_k": 2, "outer_kept": kept, "inner_kept": kept}
    (row,) = costed(evaluate, [nest])
    assert row["cycles"] == cycles


def test_the_slowest_sets_the_pace(evaluate: Evaluate) -> None:
    """192 + 96 + 128 bytes of main memory at 10 MB/s take 41.6 us, through the cache at 50 MB/s a fifth, the array's 704 bytes at 1 GB/s
    0.7 us. 3,072 operations at 3 J, 416 bytes at 110, 704 at 1, and 1 MW for that time."""
    (row,) = costed(evaluate, [{**NEST, "dataflow": "output_stationary"}])
    assert (row["dram_byte"], row["cache_byte"]) == (416, 416)
    assert (row["dram_s"], row["cache_s"], row["array_s"]) == pytest.approx((41.6e-6, 8.32e-6, 0.704e-6))
    assert (row["latency_s"], row["limited_by"]) == (pytest.approx(41.6e-6), "dram")
    assert row["energy_j"] == pytest.approx(3072 * 3 + 416 * 110 + 704 + 41.6)
    assert row["edp_js"] == pytest.approx(row["energy_j"] * row["latency_s"])


@pytest.mark.parametrize(
    ("changed", "limit"),
    [({}, "dram"), ({"dram_byte_per_s": 1e9}, "compute"), ({"dram_byte_per_s": 1e9, "cache_byte_per_s": 1e6}, "cache")],
)
def test_what_limits_it(evaluate: Evaluate, changed: Record, limit: str) -> None:
    (row,) = costed(evaluate, [{**NEST, "dataflow": "output_stationary"}], {**PART, **changed})
    assert row["limited_by"] == limit


def test_the_array_may_be_fed_too_slowly(evaluate: Evaluate) -> None:
    rate = {**RATE, "tile_memory_byte_per_s": 1e6}
    (row,) = costed(evaluate, [{**NEST, "dataflow": "output_stationary"}], PART, rate)
    assert (row["limited_by"], row["latency_s"]) == ("array", pytest.approx(704e-6))


def test_without_a_shared_memory_the_inner_border_is_that_of_main_memory(evaluate: Evaluate) -> None:
    """Weights stay over both tiles: the same bytes, none read twice."""
    part = {**PART, "cache_level": "l2", "cache_byte": 400.0}
    (row,) = costed(evaluate, [{**NEST, "dataflow": "output_stationary"}], part)
    assert (row["dram_byte"], row["cache_byte"]) == (416, 0)


@pytest.mark.parametrize(
    ("changed", "level"),
    # 2 x (8 x 12 + 12 x 8) + 4 x 64 = 640 of 400; whole 2 x (192 + 96) + 512 = 1,088.
    [({}, None), ({"cache_byte": 1087.0}, "outer"), ({"cache_byte": 1088.0}, None)],
)
def test_what_a_memory_cannot_hold_has_no_time(evaluate: Evaluate, changed: Record, level: str | None) -> None:
    rate = {**RATE, "tile_memory_byte": 640.0}
    (row,) = costed(evaluate, [{**NEST, "dataflow": "output_stationary"}], {**PART, **changed}, rate)
    assert row["overflowing_level"] == level
    assert (row["latency_s"] is None) == (row["energy_j"] is None) == (level is not None)
    (row,) = costed(evaluate, [{**NEST, "dataflow": "output_stationary"}], PART, {**RATE, "tile_memory_byte": 639.0})
    assert row["overflowing_level"] == "inner"


MESH = {
    "has_unit_mesh": True, "has_die_mesh": False, "has_element_mesh": False, "die_count": 1.0, "unit_distance": 0.5, "unit_link_count": 2.0,
    "unit_link_byte_per_s": 10e6, "unit_hop_j_per_byte": 20.0, "unit_busy_fraction": 0.5, "die_distance": 0.0,
}  # fmt: skip
"""Two units and the links between them."""


@pytest.mark.parametrize("link_byte_per_s", [10e6, 5e6, 4e6])
def test_a_busy_network_takes_longer(evaluate: Evaluate, link_byte_per_s: float) -> None:
    """Two arrays on tiles of the same columns: 96 bytes of weights leave their memory once. 192 of input and 128 of results travel half a
    link, weights a half and one: 304 over two links take 15.2, 30.4 and 38 us; arithmetic takes 34. Above half of that time they grow."""
    mesh = MESH | {"unit_link_byte_per_s": link_byte_per_s}
    part = PART | {"dram_byte_per_s": 13e6}
    (row,) = costed(evaluate, [{**NEST, "dataflow": "output_stationary"}], part, mesh=mesh)
    assert (row["dram_byte"], row["cache_byte"]) == (416, 416)
    assert row["unit_hop_byte"] == pytest.approx(192 * 0.5 + 96 * 1.5 + 128 * 0.5)
    alone = 304 / 2 / link_byte_per_s
    growth = 1 / (1 - max(0.0, min(1.0, alone / 34e-6) - 0.5))
    assert row["compute_s"] == pytest.approx(34e-6)
    assert row["network_s"] == pytest.approx(alone * growth)
    assert row["limited_by"] == ("network" if alone * growth > 34e-6 else "compute")
    assert row["latency_s"] == pytest.approx(max(34e-6, alone * growth))
    assert row["energy_j"] == pytest.approx(3072 * 3 + 416 * 110 + 704 + 304 * 20 + 1e6 * row["latency_s"])


def test_dice_have_links_of_their_own(evaluate: Evaluate) -> None:
    """One array per die: data for the other cross a link of 1 MB/s."""
    mesh = MESH | {
        "has_unit_mesh": False, "has_die_mesh": True, "die_count": 2.0, "die_distance": 0.5, "die_link_count": 2.0, "die_link_byte_per_s": 1e6,
        "die_hop_j_per_byte": 7.0, "die_busy_fraction": 1.0,
    }  # fmt: skip
    (row,) = costed(evaluate, [{**NEST, "dataflow": "output_stationary"}], mesh=mesh)
    assert (row["die_hop_byte"], row["unit_hop_byte"]) == (304, 0)
    assert (row["limited_by"], row["network_s"]) == ("network", pytest.approx(152e-6))


def test_rows_that_have_no_room_have_no_time(evaluate: Evaluate) -> None:
    """Sets of one element by one column of results: 16 rows of results are 4 x 4; four columns and four rows have space for 4 x 2 of them."""
    rows = {**NEST, "dataflow": "row_stationary", "inner_m": 16, "inner_n": 8, "inner_k": 12, "element_k": 12}
    fits, crowded = (costed(evaluate, [rows | {"element_n": filters}])[0] for filters in (1, 8))
    assert (fits["overflowing_level"], fits["active_elements"]) == (None, 32)
    # A row of 4 results, a filter, 12 products each, and 4 + 8 - 2 steps to fill; every product draws two operands and a sum.
    assert (fits["cycles"], fits["array_byte"]) == (4 * 12 + 10, 16 * 8 * 12 * 10)
    # 96 weights, 12 pixels and 8 sums of four bytes in each of 32 elements: 4,480 of 4,000 bytes.
    assert (crowded["overflowing_level"], crowded["active_elements"], crowded["latency_s"]) == ("inner", 4, None)
    none = costed(evaluate, [rows | {"element_n": 1, "element_k": 6}])[0]
    assert (none["overflowing_level"], none["latency_s"], none["energy_j"]) == ("array", None, None)


SMALL = [
    (12, 10, 8),
    (16, 4, 16),
    (7, 9, 11),
    (20, 6, 5),
    (6, 20, 5),
    (5, 6, 20),
    (13, 13, 13),
    (24, 8, 4),
    (9, 16, 6),
    (1, 24, 16),
]


def named(sizes: tuple[int, int, int], nests: list[Any], first: int) -> list[Record]:
    return [
        {
            "loop_nest_id": first + i, "gemm_count": 1, "dataflow": nest.dataflow, **dict(zip("mnk", sizes, strict=True)),
            **{f"{level}_{d}": getattr(nest, level)[p] for level in ("outer", "inner") for p, d in enumerate("mnk")},
            "outer_kept": nest.outer_kept, "inner_kept": nest.inner_kept,
        }
        for i, nest in enumerate(nests)
    ]  # fmt: skip


@pytest.mark.parametrize("sizes", SMALL, ids=["x".join(map(str, s)) for s in SMALL])
def test_the_best_found_is_near_the_best_of_all(evaluate: Evaluate, sizes: tuple[int, int, int]) -> None:
    """Every size of an inner tile of a small memory, with every operand that can stay, on one array of 2 x 2, compared with the search."""
    part = {**PART, "cache_level": "l2", "cache_byte": 200.0}
    rate = {
        **RATE, "unit_count": 1.0, "matrix_unit_count": 1.0, "matrix_array_rows": 2.0, "matrix_array_columns": 2.0,
        "matrix_ops_per_s": 8e6, "tile_memory_byte": 200.0,
    }  # fmt: skip
    room = Room(2, 2, 1.0, None, 200.0, 1)
    found = candidates(Product(sizes), room, FLOWS)
    assert 0 < len(found) <= MOST_CANDIDATES
    searched = named(sizes, found, 0)
    every = [
        {
            "loop_nest_id": i, "gemm_count": 1, "dataflow": dataflow, **dict(zip("mnk", sizes, strict=True)),
            **dict(zip(("outer_m", "outer_n", "outer_k"), sizes, strict=True)), "outer_kept": "output",
            "inner_m": m, "inner_n": n, "inner_k": k, "inner_kept": kept,
        }
        for i, (dataflow, m, n, k, kept) in enumerate(
            itertools.product(FLOWS, *(range(1, size + 1) for size in sizes), CHANGED_BY)
        )
    ]  # fmt: skip
    of_search, of_all = (costed(evaluate, nests, part, rate) for nests in (searched, every))
    for goal in ("latency_s", "energy_j"):
        best, least = (min(row[goal] for row in rows if row[goal] is not None) for rows in (of_search, of_all))
        assert least * (1 - 1e-9) <= best <= 1.05 * least, goal
