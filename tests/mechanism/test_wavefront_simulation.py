"""Cycles of the domain-flow array, counted by moving every operand and result, compared with the view's closed form.

The simulation uses no formula: a processing element starts a tile when the wavefront of operands reaches it and the previous tile has
left it, and writes its result to a latch. From there the result moves down the column, one element per cycle, where results from above
leave room.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Record = dict[str, Any]

ROWS = COLUMNS = 16
UNITS = 24
L1, L2 = 2048.0, 16384.0
LOAD, STREAM = 32.0, 64.0
"""Bytes per cycle that a unit loads into its second level, and draws from there."""
PART: Record = {
    "dataflow": "wavefront", "is_matrix": True, "matrix_array_rows": float(ROWS), "matrix_array_columns": float(COLUMNS),
    "array_clock_hz": 1.0, "fed_array_hz": 2.0, "filled_fraction": 1.0, "stages": 2.0, "element_byte": 1.0,
    "tile_unit_count": float(UNITS), "peak_ops_per_s": 2.0 * UNITS * ROWS * COLUMNS, "unit_ops_per_s": 2.0 * ROWS * COLUMNS,
    "wave_quantization_fraction": 1.0, "tile_memory_byte": L2, "stream_memory_byte": L1, "load_unit_byte_per_s": LOAD,
    "stream_unit_byte_per_s": STREAM, "listed_m": 0.0, "listed_n": 0.0, "listed_k": 0.0, "split_k": 1.0,
}  # fmt: skip
"""A part with one cycle per second, so that seconds are cycles."""
CANDIDATES: list[Record] = [
    {},
    {"split_k": 2.0},
    {"split_k": 8.0},
    {"listed_m": 32.0, "listed_n": 32.0},
    {"listed_m": 64.0, "listed_n": 16.0},
    {"listed_m": 32.0, "listed_n": 32.0, "listed_k": 64.0},
]


def wavefront(depths: list[int]) -> int:
    """Return the cycle in which the last element of an array finishes the last of several tiles in sequence."""
    free = np.zeros((ROWS, COLUMNS), dtype=int)
    emptied = np.zeros((ROWS, COLUMNS), dtype=int)
    taken: list[set[int]] = [set() for _ in range(COLUMNS)]
    for depth in depths:
        start = np.zeros((ROWS, COLUMNS), dtype=int)
        for i, j in itertools.product(range(ROWS), range(COLUMNS)):
            above = start[i - 1, j] + 1 if i else 0
            beside = start[i, j - 1] + 1 if j else 0
            start[i, j] = max(above, beside, free[i, j])
        # A result waits until the latch of its element is empty, and the element waits with it.
        free = np.maximum(start + depth, emptied)
        for i, j in itertools.product(range(ROWS), range(COLUMNS)):
            hops = ROWS - 1 - i
            arrival = next(cycle for cycle in itertools.count(free[i, j] + hops) if cycle not in taken[j])
            taken[j].add(arrival)
            emptied[i, j] = arrival - hops + 1
    return int(free.max())


def slabs(depth: int, count: int) -> list[int]:
    """Split a reduction into slabs as equal as whole steps allow."""
    return [depth // count + (i < depth % count) for i in range(count)]


def meeting_rounds(outputs: int, parts: int, units: int) -> int:
    """Return the rounds until every output has one partial result: per round an output joins pairs, and a unit takes one pair."""
    held, rounds = [parts] * outputs, 0
    while max(held) > 1:
        rounds, idle = rounds + 1, units
        for number in sorted(range(outputs), key=lambda n: -held[n]):
            joined = min(held[number] // 2, idle)
            held[number] -= joined
            idle -= joined
    return rounds


def tiles_of(size: int, block: int, side: int) -> int:
    """Return the array tiles along one side of a product that is divided into blocks."""
    return sum(-(-min(block, size - start) // side) for start in range(0, size, block))


def simulated_cycles(product: Record, candidate: Record) -> float:
    """Simulate one product with one candidate and return the cycles: runs of adjacent tiles are distributed over the units, and the
    longest is simulated."""
    m, n, k, count = (int(product[name]) for name in ("m", "n", "k", "gemm_count"))
    rows, columns = int(candidate.get("listed_m", ROWS)), int(candidate.get("listed_n", COLUMNS))
    parts = int(candidate.get("split_k", 1))
    depth = -(-k // parts)
    down, across = tiles_of(m, rows, ROWS), tiles_of(n, columns, COLUMNS)
    outputs = count * down * across
    block = min(-(-min(rows, m) // ROWS) * -(-min(columns, n) // COLUMNS), outputs * parts)
    run = max(-(-outputs * parts // UNITS), block)
    cut = -(-depth // int(candidate.get("listed_k", depth))) if block > 1 else 1
    cycles = float(wavefront([d for _ in range(run) for d in slabs(depth, cut)]))
    if parts > 1:
        used = min(UNITS, -(-outputs * parts // run))
        cycles += meeting_rounds(outputs, parts, used) * 4 * ROWS * COLUMNS / LOAD
    return cycles


def products() -> list[Record]:
    """Return fifty random products and ten convolutions as products."""
    draw = random.Random(23)
    made = [
        {"m": draw.randint(1, 400), "n": draw.randint(1, 400), "k": draw.randint(1, 600), "gemm_count": draw.choice([1, 1, 1, 6])}
        for _ in range(50)
    ]  # fmt: skip
    # Side of the image, channels in and out, kernel, as in ResNet-18, a grouped one and the stem of a vision
    # transformer.
    convolutions = [
        (28, 3, 64, 7, 1), (14, 64, 64, 3, 1), (14, 64, 128, 3, 1), (14, 64, 128, 1, 1), (7, 128, 256, 3, 1),
        (7, 256, 256, 3, 1), (7, 256, 512, 1, 1), (4, 512, 512, 3, 1), (14, 128, 128, 3, 8), (14, 3, 96, 16, 1),
    ]  # fmt: skip
    made += [
        {"m": s * s, "n": o // g, "k": c // g * f * f, "gemm_count": g} for s, c, o, f, g in convolutions
    ]  # fmt: skip
    return [{name: float(size) for name, size in row.items()} for row in made]


def test_the_view_counts_what_the_simulation_does(evaluate: Callable[..., list[Record]]) -> None:
    """The fastest candidate of each product agrees within 2 %."""
    sizes = products()
    steps = [
        {"is_product": True, "product_count": 1, "shape_id": i, "flops": 2.0, **size} for i, size in enumerate(sizes)
    ]
    tiles = [PART | c | {"candidate": i} for i, c in enumerate(CANDIDATES)]
    rows = evaluate("tile_step", shape_step=steps, arithmetic_tile=tiles)
    fastest = [min((r for r in rows if r["shape_id"] == i), key=lambda r: r["ideal_s"]) for i in range(len(sizes))]
    counted = [simulated_cycles(size, CANDIDATES[row["candidate"]]) for size, row in zip(sizes, fastest, strict=True)]
    off = {
        i: (row["candidate"], row["ideal_s"], cycles)
        for i, (row, cycles) in enumerate(zip(fastest, counted, strict=True))
        if abs(row["ideal_s"] / cycles - 1) > 0.02
    }
    assert not off, off
    assert len({row["candidate"] for row in fastest}) > 2


@pytest.mark.parametrize(
    ("depths", "cycles"),
    [
        # One tile: K + R + C - 2.
        ([40], 40 + 30),
        # Three tiles: 40 more for each further one.
        ([40, 40, 40], 40 + 30 + 80),
        # Results leave a column one per cycle: a reduction shorter than the array waits for 16 results of the previous
        # tile.
        ([4, 4, 4], 4 + 30 + 32),
    ],
)
def test_the_simulation_itself(depths: list[int], cycles: int) -> None:
    """The source's statement on one tile and on several."""
    assert wavefront(depths) == cycles
