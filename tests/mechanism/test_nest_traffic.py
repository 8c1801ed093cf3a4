"""Bytes at the borders of loop nests, compared with loops walked tile by tile."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from charz.session.decide.loop_nests import Product, Room, inner_byte, tile_byte

Evaluate = Callable[..., list[dict[str, Any]]]
Record = dict[str, Any]

RATE = {
    "element_byte": 1.0, "unit_count": 1.0, "matrix_unit_count": 1.0, "matrix_array_rows": 2.0, "matrix_array_columns": 4.0, "accumulator_byte": 4.0,
    "matrix_ops_per_s": 16.0, "tile_memory_byte": 1e6,
}  # fmt: skip
PART = {"cache_level": "l3", "tile_memory_level": "l2", "cache_byte": 1e9}
DATAFLOWS = ("weight_stationary", "output_stationary", "input_stationary", "wavefront")
PLACES = {"input": (0, 2), "weight": (1, 2), "output": (0, 1)}
"""Dimensions that each operand depends on."""


def drawn(count: int) -> Iterator[Record]:
    """Yield nests whose tiles divide the tiles around them; the innermost loop of the operand that stays runs more than once."""
    draw = random.Random(1)
    for number in range(count):
        inner = [draw.choice((2, 4, 8)) for _ in "mnk"]
        inner_trips = [draw.choice((1, 1, 2, 3)) for _ in "mnk"]
        outer_trips = [draw.choice((1, 1, 2, 3)) for _ in "mnk"]
        outer = [a * b for a, b in zip(inner, inner_trips, strict=True)]
        sizes = [a * b for a, b in zip(outer, outer_trips, strict=True)]
        yield {
            "loop_nest_id": number, "product": str(number), "gemm_count": 1, "dataflow": draw.choice(DATAFLOWS),
            **dict(zip("mnk", sizes, strict=True)),
            **dict(zip(("outer_m", "outer_n", "outer_k"), outer, strict=True)),
            **dict(zip(("inner_m", "inner_n", "inner_k"), inner, strict=True)),
            "outer_kept": _kept(draw, outer_trips), "inner_kept": _kept(draw, inner_trips),
        }  # fmt: skip


def _kept(draw: random.Random, trips: list[int]) -> str:
    names = [name for name, places in PLACES.items() if trips[({0, 1, 2} - set(places)).pop()] > 1]
    return draw.choice(names or ["output"])


def _walk(trips: list[int], kept: str) -> Iterator[tuple[int, ...]]:
    """Yield places of tiles in the order of the loops: the loop that leaves the kept operand unchanged is the innermost."""
    (last,) = {0, 1, 2} - set(PLACES[kept])
    order = [*(p for p in range(3) if p != last), last]
    for found in itertools.product(*(range(trips[place]) for place in order)):
        yield tuple(found[order.index(place)] for place in range(3))


class Border:
    """A counter of bytes that cross a border as one tile after another is processed."""

    def __init__(self, tile: tuple[int, int, int]) -> None:
        self.tile, self.byte = tile, 0.0
        self.there: dict[str, tuple[int, ...]] = {}
        self.begun: set[tuple[int, ...]] = set()

    def visit(self, place: tuple[int, ...]) -> float:
        """Count the bytes of a visit, and return the bytes of results among them."""
        results = 0.0
        for name, places in PLACES.items():
            mine = tuple(place[p] for p in places)
            if self.there.get(name) == mine:
                continue
            self.there[name] = mine
            elements = math.prod(self.tile[p] for p in places)
            if name != "output":
                self.byte += elements
                continue
            # Partial results return, and those of the previous visit were written.
            results = (8 if mine in self.begun else 1) * elements
            self.begun.add(mine)
        self.byte += results
        return results


def walked(nest: Record, kept_rows: int) -> tuple[float, float, float]:
    """Count bytes of the outer border, the inner one and the array by walking."""
    inner = (nest["inner_m"], nest["inner_n"], nest["inner_k"])
    outer = (nest["outer_m"], nest["outer_n"], nest["outer_k"])
    sizes = (nest["m"], nest["n"], nest["k"])
    inner_trips = [a // b for a, b in zip(outer, inner, strict=True)]
    at_outer, at_inner, array = Border(outer), Border(inner), 0.0
    begun: set[tuple[int, int]] = set()
    for around in _walk([a // b for a, b in zip(sizes, outer, strict=True)], nest["outer_kept"]):
        at_outer.visit(around)
        for within in _walk(inner_trips, nest["inner_kept"]):
            place = tuple(a * t + w for a, t, w in zip(around, inner_trips, within, strict=True))
            results = at_inner.visit(place)
            array += _streamed(nest["dataflow"], inner, place, begun, kept_rows, results)
    return at_outer.byte, at_inner.byte, array


def _streamed(
    dataflow: str,
    tile: tuple[int, int, int],
    place: tuple[int, ...],
    begun: set[tuple[int, int]],
    kept_rows: int,
    results: float,
) -> float:
    """Count the array's traffic for one inner tile, element by element of its folds. Results that stay in the array cross with those
    of the memory around it, `results`."""
    m, n, k = tile
    rows, columns = 2, 4
    total = 0.0
    if dataflow in ("output_stationary", "wavefront"):
        for top in range(0, m, rows):
            for left in range(0, n, columns):
                height, width = min(rows, m - top), min(columns, n - left)
                total += height * k + k * width
                if m > rows or n > columns:
                    total += height * width * _again(begun, place, top, left)
        return total + (results if m <= rows and n <= columns else 0)
    streamed, across = (m, n) if dataflow == "weight_stationary" else (n, m)
    keeps_all = math.ceil(across / columns) * streamed <= kept_rows
    keeps_column = streamed <= kept_rows
    for deep in range(0, k, rows):
        depth = min(rows, k - deep)
        for left in range(0, n if dataflow == "weight_stationary" else m, columns):
            if dataflow == "weight_stationary":
                width = min(columns, n - left)
                total += depth * width + m * depth
                leaving = m * width
            else:
                width = min(columns, m - left)
                total += width * depth + depth * n
                leaving = width * n
            if not keeps_all and not (keeps_column and deep):
                total += leaving * _again(begun, place, *((0, left) if dataflow == "weight_stationary" else (left, 0)))
    return total + (results if keeps_all else 0)


def _again(begun: set[tuple[int, int]], place: tuple[int, ...], top: int, left: int) -> int:
    """Return the bytes of a result: one at its first visit, eight more at later ones."""
    mark = (place[0] * 1000 + top, place[1] * 1000 + left)
    if mark in begun:
        return 8
    begun.add(mark)
    return 1


@pytest.mark.parametrize("kept_rows", [0, 4, 16])
def test_bytes_are_those_of_loops_that_are_walked(evaluate: Evaluate, kept_rows: int) -> None:
    """Weights of a weight-stationary array are loaded for every inner tile, like all of its traffic: only the memory around it decides
    what stays across tiles."""
    nests = list(drawn(400))
    rate = RATE | {"accumulator_rows": float(kept_rows)}
    found = {
        row["loop_nest_id"]: row for row in evaluate("nest_traffic", loop_nest=nests, part_rate=[rate], part=[PART])
    }
    assert len(found) == 400
    for nest in nests:
        row = found[nest["loop_nest_id"]]
        assert (row["outer_byte"], row["inner_byte"], row["array_byte"]) == pytest.approx(walked(nest, kept_rows)), nest


def test_groups_multiply_and_ragged_tiles_count_what_is_there(evaluate: Evaluate) -> None:
    """10 x 6 x 5 in inner tiles of 4 x 6 x 5, weights staying: 50 of input, 30 of weights, 60 of results, three times."""
    nest = {
        "m": 10, "n": 6, "k": 5, "gemm_count": 3, "dataflow": "output_stationary", "outer_m": 10, "outer_n": 6, "outer_k": 5,
        "outer_kept": "output", "inner_m": 4, "inner_n": 6, "inner_k": 5, "inner_kept": "weight",
    }  # fmt: skip
    (row,) = evaluate("nest_traffic", loop_nest=[nest], part_rate=[RATE], part=[PART])
    assert row["inner_byte"] == 3 * (50 + 30 + 60)
    # Twice the operands of the tile, 20 and 30, and four bytes for each of 24 results.
    assert row["inner_tile_byte"] == 2 * (20 + 30) + 4 * 24


def test_windows_share_what_overlaps(evaluate: Evaluate) -> None:
    """3 x 3 over 16 x 16 of 4 channels: a tile of 64 results, 8 x 8, reads 10 x 10 pixels of 64 x 9. A tile of less depth than a window
    reads all."""
    whole = {
        "m": 256, "n": 8, "k": 36, "gemm_count": 1, "taps": 9, "image": 1024, "dataflow": "output_stationary", "outer_m": 256,
        "outer_n": 8, "outer_k": 36, "outer_kept": "output", "inner_m": 64, "inner_n": 8, "inner_kept": "weight",
    }  # fmt: skip
    rows = [{**whole, "loop_nest_id": 1, "inner_k": 36}, {**whole, "loop_nest_id": 2, "inner_k": 8}]
    found = {r["loop_nest_id"]: r for r in evaluate("nest_traffic", loop_nest=rows, part_rate=[RATE], part=[PART])}
    assert found[1]["inner_halo_fraction"] == pytest.approx(100 / (64 * 9))
    # All rows have the image of 16 x 16 pixels: padding is not loaded.
    assert found[1]["outer_halo_fraction"] == pytest.approx(16 * 16 / (256 * 9))
    assert found[2]["inner_halo_fraction"] == 1
    assert found[1]["inner_byte"] == pytest.approx(256 * 36 * 100 / 576 + 36 * 8 + 256 * 8)
    # Twice 64 x 36 columns, of which 100 of 576 are loaded, twice 36 x 8 weights, four bytes for each of 64 x 8
    # results.
    assert found[1]["inner_tile_byte"] == pytest.approx(2 * (64 * 36 * 100 / 576 + 36 * 8) + 4 * 64 * 8)
    assert found[1]["outer_tile_byte"] == pytest.approx(2 * (256 * 36 * 256 / 2304 + 36 * 8) + 4 * 256 * 8)


def test_the_search_counts_tiles_as_the_views_do(evaluate: Evaluate) -> None:
    """Python's size of a tile, with overlapping windows, decides which candidates exist."""
    room = Room(2, 4, 1.0, 1e9, 1e6, 1, accumulator_rows=8)
    nests = [nest | {"taps": 4, "image": nest["m"] * nest["k"] // 3} for nest in drawn(60)]
    rate = RATE | {"accumulator_rows": 8.0}
    for row in evaluate("nest_traffic", loop_nest=nests, part_rate=[rate], part=[PART]):
        product = Product((row["m"], row["n"], row["k"]), row["gemm_count"], row["taps"], row["image"])
        outer, inner = ((row[f"{level}_m"], row[f"{level}_n"], row[f"{level}_k"]) for level in ("outer", "inner"))
        assert row["outer_tile_byte"] == pytest.approx(tile_byte(product, room, outer))
        assert row["inner_tile_byte"] == pytest.approx(inner_byte(product, room, row["dataflow"], inner))


EYERISS = {
    "element_byte": 2.0, "unit_count": 1.0, "matrix_unit_count": 1.0, "matrix_array_rows": 12.0, "matrix_array_columns": 14.0,
    "accumulator_byte": 2.0, "matrix_ops_per_s": 67.2e9, "tile_memory_byte": 168 * 520.0,
}  # fmt: skip
"""168 elements with 260 words of 16 bits each."""


def rows_stay(evaluate: Evaluate, **nest: Any) -> Record:
    """Return a pass of a row-stationary array over 13 x 13 results of 3 x 3 windows over a padded image of 15 x 15, 12 channels, 32
    filters."""
    pass_ = {
        "m": 4 * 169, "n": 32, "k": 108, "gemm_count": 1, "taps": 9, "image": 4 * 15 * 15 * 12, "images": 4, "dataflow": "row_stationary",
        "outer_m": 4 * 169, "outer_n": 32, "outer_k": 108, "outer_kept": "output", "inner_m": 4 * 169, "inner_n": 16, "inner_k": 54,
        "inner_kept": "output", "element_n": 8, "element_k": 9,
    }  # fmt: skip
    (row,) = evaluate("nest_hop", loop_nest=[pass_ | nest], part_rate=[EYERISS], part=[PART])
    return row


def test_rows_stay(evaluate: Evaluate) -> None:
    """The image's side is 15 / 13 of the results' for each window's step. Two passes over filters, two over channels; sets of 3 x 13: 2
    for filters x 2 for channels, all that fit above each other on 12 rows."""
    row = rows_stay(evaluate)
    stride = 15 / 13
    assert row["active_elements"] == pytest.approx(4 * 3 * 13)
    # A row of 13 results of 4 images, 8 filters, 9 products each.
    assert row["streamed_steps"] == pytest.approx(13 * 4 * 8 * 9)
    loaded = (12 * stride + 3) ** 2
    assert row["inner_input_byte"] == pytest.approx(2 * 4 * loaded * 12 * 2)
    assert row["inner_weight_byte"] == pytest.approx(2 * 108 * 32)
    # Partial results leave twice and return once.
    assert row["inner_output_byte"] == pytest.approx(2 * 4 * 169 * 32 * 3)
    macs = 4 * 169 * 32 * 108
    assert row["array_byte"] == pytest.approx(macs * 8)
    # A pixel serves 8 filters in all windows of its row, a weight 13 x 4 results, a sum has 9 products.
    assert row["element_hop_byte"] == pytest.approx(
        macs * 2 * ((12 * stride + 3) / (13 * 3 * 8) + 1 / (13 * 4) + 1 / 9)
    )
    # 72 weights, 9 pixels and 8 sums per element.
    assert row["inner_tile_byte"] == pytest.approx(168 * 2 * (72 + 9 + 8))


@pytest.mark.parametrize(
    ("inner_kept", "outer_m", "times"),
    # Four images one after another: their weights stay for all of them, or come with each.
    [("weight", 4 * 169, 1), ("output", 4 * 169, 4), ("weight", 169, 4)],
)
def test_weights_alone_stay_where_rows_do(evaluate: Evaluate, inner_kept: str, outer_m: int, times: int) -> None:
    row = rows_stay(evaluate, inner_m=169, outer_m=outer_m, inner_kept=inner_kept, inner_k=108, element_k=18)
    assert row["inner_weight_byte"] == pytest.approx(2 * 108 * 32 * times)
    for kept in ("input", "output"):
        other = rows_stay(evaluate, inner_m=169, outer_m=outer_m, inner_kept=kept, inner_k=54)
        assert other["inner_input_byte"] == pytest.approx(2 * 4 * (12 * 15 / 13 + 3) ** 2 * 12 * 2)
        assert other["inner_output_byte"] == pytest.approx(2 * 4 * 169 * 32 * 3)


def test_a_strip_wider_than_the_array_is_folded(evaluate: Evaluate) -> None:
    """27 rows of results on 14 columns: two halves of a set of 5 rows fill 10 of 12 rows. Sets without room have no pass."""
    sizes = {
        "m": 729, "n": 16, "k": 50, "taps": 25, "image": 31 * 31 * 2, "images": 1, "outer_m": 729, "outer_n": 16, "outer_k": 50,
        "inner_m": 729, "inner_n": 16, "inner_k": 50, "element_n": 16, "element_k": 10,
    }  # fmt: skip
    row = rows_stay(evaluate, **sizes)
    assert (row["active_elements"], row["row_folds"]) == (pytest.approx(5 * 27), 1)
    crowded = rows_stay(evaluate, **sizes | {"element_n": 8})
    assert crowded["active_elements"] is None and crowded["row_folds"] is None
