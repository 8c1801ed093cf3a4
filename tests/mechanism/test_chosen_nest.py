"""The nest that `charz mapping` shows as chosen equals the tile of the answers: number of steps, utilization, and bytes at the border of
the memory next to the arrays."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from charz.session.decide.loop_nests import Product, Room, chosen

Record = dict[str, Any]
Evaluate = Callable[..., list[Record]]

SHAPES = [
    (49, 512, 4608, 1), (3136, 512, 4608, 1), (1, 1000, 2048, 1), (12544, 64, 147, 1), (197, 197, 64, 12), (197, 64, 197, 12),
    (10, 20, 6, 1), (64, 64, 64, 16), (130, 70, 129, 3), (7, 3000, 40, 1), (5000, 33, 65, 2), (1, 1, 1, 1),
]  # fmt: skip
"""Rows, columns, depth and number of products: convolutions, attentions, a vector, and sizes that fill nothing."""
DRAW = random.Random(1)
SHAPES += [(*DRAW.choices((1, 3, 16, 60, 250, 1000), k=3), 1 + number % 2) for number in range(12)]
WINDOWS = {(3136, 512, 4608, 1): (9, 64 * 512 * 7 * 7), (12544, 64, 147, 1): (49, 3 * 224 * 224)}
"""Positions of the kernel and elements of the input, for convolutions with overlapping windows."""
MEMORY_BYTE = 2.0**18
PART = {
    "cache_level": "l2",
    "tile_memory_level": None,
    "cache_byte": 1e12,
    "dram_byte_per_s": 1e9,
    "dram_j_per_byte": 0.0,
    "static_w": 0.0,
}


def window(shape: tuple[int, ...]) -> Record:
    """Return the columns of a convolution's window; empty for other products."""
    return dict(zip(("taps", "image"), WINDOWS[shape], strict=True)) if shape in WINDOWS else {}


def counted(
    evaluate: Evaluate, shapes: Sequence[tuple[int, ...]], tile: Record, flow: str
) -> Iterator[tuple[Record, Record]]:
    """Return the step of each shape with its tile, and the nest of that tile."""
    rows, columns, units = tile["matrix_array_rows"], tile["matrix_array_columns"], tile["tile_unit_count"]
    kept = tile["accumulator_rows"]
    held = math.floor((MEMORY_BYTE - 2 * rows * columns) / (2 * rows + (0 if kept else 4 * columns)))
    held = min(held, kept) if kept else held
    steps = [
        {
            "shape_id": number, "is_product": True, "product_count": 1, "m": float(m), "n": float(n), "k": float(k),
            "gemm_count": float(count), "flops": 2.0 * m * n * k * count, **window((m, n, k, count)),
        }
        for number, (m, n, k, count) in enumerate(shapes)
    ]  # fmt: skip
    listed = {
        "dataflow": flow, "is_matrix": True, "array_clock_hz": 1.0, "filled_fraction": 1.0, "stages": 2.0, "element_byte": 1.0, "listed_m": 0.0,
        "listed_n": 0.0, "listed_k": 0.0, "peak_ops_per_s": 2.0 * rows * columns * units, "unit_ops_per_s": 2.0 * rows * columns,
        "wave_quantization_fraction": 1.0, "split_k": 1.0, "divisor": 1.0, "tile_memory_byte": MEMORY_BYTE,
        "held_rows": None if flow == "wavefront" else held,
    }  # fmt: skip
    found = {row["shape_id"]: row for row in evaluate("tile_step", shape_step=steps, arithmetic_tile=[listed | tile])}
    room = Room(int(rows), int(columns), 1.0, 1e12, MEMORY_BYTE, int(units), accumulator_rows=kept)
    nests = []
    for number, (m, n, k, count) in enumerate(shapes):
        cut = (int(found[number]["tile_m"]), int(found[number]["tile_n"]), int(found[number]["tile_k"]))
        (nest,) = chosen(Product((m, n, k), count), room, flow, cut, int(tile.get("split_k", 1)))
        nests.append({
            "loop_nest_id": number, "m": m, "n": n, "k": k, "gemm_count": count, "images": 1, "dataflow": flow, "split_k": nest.split,
            **{f"{level}_{d}": getattr(nest, level)[p] for level in ("outer", "inner") for p, d in enumerate("mnk")},
            "outer_kept": nest.outer_kept, "inner_kept": nest.inner_kept, **window((m, n, k, count)),
        })  # fmt: skip
    rate = {
        "element_byte": 1.0, "unit_count": units, "matrix_unit_count": units, "matrix_array_rows": rows, "matrix_array_columns": columns,
        "accumulator_byte": 4.0, "matrix_ops_per_s": 2.0 * rows * columns * units, "matrix_op_j": 0.0, "tile_memory_byte": MEMORY_BYTE,
        "accumulator_rows": kept,
    }  # fmt: skip
    costs = {
        row["loop_nest_id"]: row for row in evaluate("loop_nest_cost", loop_nest=nests, part_rate=[rate], part=[PART])
    }
    for number in range(len(shapes)):
        yield found[number], costs[number]


@pytest.mark.parametrize("kept", [0.0, 50.0, 4096.0])
@pytest.mark.parametrize("flow", ["weight_stationary", "input_stationary", "wavefront"])
@pytest.mark.parametrize(
    ("units", "rows", "columns", "cut"), [(1.0, 64.0, 64.0, 1.0), (16.0, 64.0, 64.0, 1.0), (3.0, 16.0, 32.0, 4.0)]
)
def test_the_tile_that_is_counted_is_the_nest_that_is_shown(
    evaluate: Evaluate, flow: str, units: float, rows: float, columns: float, cut: float, kept: float
) -> None:
    """Steps, utilization and bytes are equal for every shape, also if a stream is split into parts or the depth into slices, and with
    partial results in accumulators or in the memory."""
    tile = {"accumulator_rows": kept, "matrix_array_rows": rows, "matrix_array_columns": columns, "tile_unit_count": units}
    tile["split_k" if flow == "wavefront" else "divisor"] = cut
    shapes = [sizes for sizes in SHAPES if flow != "wavefront" or sizes[2] >= cut]
    for (m, n, k, count), (found, nest) in zip(shapes, counted(evaluate, shapes, tile, flow), strict=True):
        sizes = (m, n, k, count)
        assert nest["overflowing_level"] is None, sizes
        assert nest["cycles"] == pytest.approx(found["ideal_s"]), sizes
        assert nest["utilization_fraction"] == pytest.approx(
            m * n * k * count / (found["ideal_s"] * rows * columns * units)
        ), sizes
        # Answers count results as bytes of the tile memory only if software moves every byte, a nest always does.
        assert nest["cache_byte"] - count * m * n == pytest.approx(found["reload_byte"]), sizes
        # Each operand once.
        image = window(sizes).get("image", count * m * k)
        assert nest["dram_byte"] == pytest.approx(image + count * (k * n + m * n)), sizes


def test_a_convolution_by_hand(evaluate: Evaluate) -> None:
    """49 x 512 x 4608 on 16 arrays of 64 x 64: 72 folds of the depth, 8 of the columns, 36 turns of 64 steps, because a fold of weights
    takes as long to load, and 126 to fill. Two arrays have a column of folds: its results cross once, 4 bytes out and in. With 64
    images 661 rows stay in the accumulators of an array: 3,136 halved three times go in eight parts of 392, and are shown so. Without accumulators 661 rows
    stay next to an array, (2^18 - 2 x 64 x 64) / (2 x 64 + 4 x 64), and results cross for 71 more folds."""
    tile = {"accumulator_rows": 661.0, "matrix_array_rows": 64.0, "matrix_array_columns": 64.0, "tile_unit_count": 16.0}
    (one, its), (many, theirs) = counted(evaluate, SHAPES[:2], tile, "weight_stationary")
    assert (one["tile_count"], one["waves"], one["ideal_s"], its["cycles"]) == (576, 36, 2430, 2430)
    assert its["utilization_fraction"] == pytest.approx(49 * 512 * 4608 / (2430 * 16 * 64 * 64))
    assert one["reload_byte"] == 49 * 4608 * 8 + 4608 * 512 + 49 * 512 * 8
    assert (many["tile_m"], many["tile_count"]) == (392, 8 * 576)
    assert theirs["cycles"] == many["ideal_s"] == 288 * 392 + 126
    (passing, _), (long, _) = counted(evaluate, SHAPES[:2], tile | {"accumulator_rows": 0.0}, "weight_stationary")
    assert passing["reload_byte"] == 49 * 4608 * 8 + 4608 * 512 + 49 * 512 * 8 * 71
    assert long["tile_m"] == 392


def test_what_lies_on_the_chip_comes_from_no_main_memory(evaluate: Evaluate) -> None:
    """Input and results of 16 x 12 and 16 x 8 bytes, a quarter of them from main memory; weights of 12 x 8 that are read three times."""
    nest = {
        "m": 16, "n": 8, "k": 12, "gemm_count": 1, "images": 1, "outer_m": 16, "outer_n": 8, "outer_k": 12, "outer_kept": "output",
        "inner_m": 8, "inner_n": 8, "inner_k": 12, "inner_kept": "output", "dataflow": "weight_stationary",
        "activation_dram_fraction": 0.25, "weight_dram_fraction": 3.0,
    }  # fmt: skip
    rate = {
        "element_byte": 1.0, "unit_count": 2.0, "matrix_unit_count": 2.0, "matrix_array_rows": 12.0, "matrix_array_columns": 8.0,
        "accumulator_byte": 4.0, "matrix_ops_per_s": 1e9, "matrix_op_j": 0.0, "tile_memory_byte": 4000.0,
    }  # fmt: skip
    (shared,) = evaluate("loop_nest_cost", loop_nest=[nest], part_rate=[rate], part=[PART])
    assert shared["dram_byte"] == (192 + 128) / 4 + 3 * 96
    # A memory next to each array borders main memory: two tiles of rows load the weights twice.
    own = PART | {"cache_level": "l1", "tile_memory_level": "l1", "cache_byte": 8000.0}
    (beside,) = evaluate("loop_nest_cost", loop_nest=[nest], part_rate=[rate], part=[own])
    assert beside["dram_byte"] == (192 + 128) / 4 + 3 * 2 * 96


def test_a_chip_wide_memory_is_drawn_from_for_every_pass(evaluate: Evaluate) -> None:
    """Two columns of folds read the 192 bytes of input twice from a memory shared by the arrays, and once from one next to each; weights
    of 12 x 8 pass both tiles of rows. An array's own energy is that memory's."""
    nest = {
        "m": 16, "n": 8, "k": 12, "gemm_count": 1, "images": 1, "outer_m": 16, "outer_n": 8, "outer_k": 12, "outer_kept": "output",
        "inner_m": 8, "inner_n": 8, "inner_k": 12, "inner_kept": "output", "dataflow": "weight_stationary",
    }  # fmt: skip
    rate = {
        "element_byte": 1.0, "unit_count": 2.0, "matrix_unit_count": 2.0, "matrix_array_rows": 12.0, "matrix_array_columns": 4.0,
        "accumulator_byte": 4.0, "matrix_ops_per_s": 1e9, "matrix_op_j": 0.0, "tile_memory_byte": 4000.0, "tile_memory_byte_per_s": 1.0,
    }  # fmt: skip
    energies = {"cache_j_per_byte": 1.0, "tile_j_per_byte": 100.0}
    (shared,) = evaluate("loop_nest_cost", loop_nest=[nest], part_rate=[rate], part=[PART | energies])
    assert (shared["cache_byte"], shared["array_s"], shared["energy_j"]) == (2 * 192 + 2 * 96 + 128, 0, 704)
    near = PART | energies | {"tile_memory_level": "l1"}
    (own,) = evaluate("loop_nest_cost", loop_nest=[nest], part_rate=[rate], part=[near])
    assert own["cache_byte"] == 192 + 2 * 96 + 128
    assert own["array_s"] > 0
