"""The rates of an element type under a backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

RATE = {
    "precision": "fp16", "matrix_ops_per_s": 8e12, "matrix_precision": "fp16", "vector_ops_per_s": 4e12,
    "vector_precision": "fp16", "vector_op_j": 1.0, "single_vector_ops_per_s": 2e12, "single_vector_precision": "fp32",
    "single_vector_op_j": 2.0, "is_native": True,
}  # fmt: skip
HALF = {"vector_ops_per_s": 4e12, "vector_precision": "fp16", "vector_op_j": 1.0}
SINGLE = {"vector_ops_per_s": 2e12, "vector_precision": "fp32", "vector_op_j": 2.0}
PART = {"family": "gpu", "unit_count": 10.0, "lanes": 64.0, "tile_memory_byte": 100.0, "clock_hz": 1e9}
FORMAT: dict[str, Any] = {
    "precision": {"precision": "fp16", "bits": 16},
    "library_constant": {"library_constant": "vector_block_threads", "value": 256.0},
}  # fmt: skip
"""Facts of a two-byte format, shared by most tests."""


@pytest.mark.parametrize(
    ("sums_in_half", "rate", "expected"),
    [
        (True, {}, HALF),
        (False, {}, SINGLE),
        # Pascal's half-precision rate is a 64th: the backend does not use it.
        (True, {"vector_ops_per_s": 2e12 / 64}, SINGLE),
        (True, {"single_vector_ops_per_s": None, "single_vector_precision": None, "single_vector_op_j": None}, HALF),
    ],
)
def test_sums_in_half(
    check: Callable[..., None], sums_in_half: bool, rate: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Vector units accumulate in half precision if the backend allows it and it is not slower."""
    check(
        "arithmetic_rate",
        expected | {"element_byte": 2.0, "block_threads": 256.0, "unit_count": 10.0},
        backend_arithmetic={"sums_in_half": sums_in_half},
        hardware_rate=RATE | rate,
        part=PART,
        **FORMAT,
    )


@pytest.mark.parametrize(("packed", "asked", "ops", "byte"), [
    ("int8", "fp16_q8", 9e12, 1.0), (None, "fp16_q8", 5e12, 2.0), ("int8", "fp16", 2e12, 2.0),
])  # fmt: skip
def test_packed_weights(
    evaluate: Callable[..., list[dict[str, Any]]], packed: str | None, asked: str, ops: float, byte: float
) -> None:
    """A backend computes in the format to which it converts activations; backends that unpack weights, and unpacked formats, compute in
    their own."""
    rows = evaluate(
        "arithmetic_rate",
        backend_arithmetic=[{"sums_in_half": False, "packed_precision": packed}],
        hardware_rate=[
            RATE | {"precision": name, "single_vector_ops_per_s": rate}
            for name, rate in (("fp16", 2e12), ("fp16_q8", 5e12), ("int8", 9e12))
        ],
        part=[PART],
        precision=[
            {"precision": "fp16", "bits": 16, "kind": "float"}, {"precision": "int8", "bits": 8, "kind": "integer"},
            {"precision": "fp16_q8", "bits": 16, "kind": "packed"},
        ],
        library_constant=[{"library_constant": "vector_block_threads", "value": 256.0}],
    )  # fmt: skip
    (row,) = (row for row in rows if row["compute_precision"] == asked)
    assert (row["vector_ops_per_s"], row["element_byte"]) == (ops, byte)


@pytest.mark.parametrize(
    ("part", "rate"),
    [
        ({"tile_memory_level": "l1", "tile_memory_byte_per_s": 500.0, "cache_byte_per_s": 300.0}, 500.0),
        ({"tile_memory_level": "l1", "tile_memory_byte_per_s": None, "cache_byte_per_s": 300.0}, None),
        ({"tile_memory_level": None, "tile_memory_byte_per_s": None, "cache_byte_per_s": 300.0}, 300.0),
    ],
    ids=["beside the units", "unknown", "last-level cache"],
)
def test_where_tiles_are_loaded_from(check: Callable[..., None], part: dict[str, Any], rate: float | None) -> None:
    """Tiles load from the memory next to the units, even with unknown bandwidth; without one from the last-level cache."""
    check(
        "arithmetic_rate",
        {"load_byte_per_s": rate},
        backend_arithmetic={"sums_in_half": False},
        hardware_rate=RATE,
        part=PART | part,
        **FORMAT,
    )


@pytest.mark.parametrize(
    ("calls_library", "matrix", "half", "ops"),
    [(True, "fp16", 16e12, 16e12), (False, "fp16", 16e12, 8e12), (True, "bf16", 16e12, 8e12), (True, "fp16", 4e12, 8e12)],
)
def test_matrix_units_that_sum_in_half(
    check: Callable[..., None], calls_library: bool, matrix: str, half: float, ops: float
) -> None:
    """A server's library uses the faster half-precision rate; frameworks, other formats and slower rates do not."""
    check(
        "arithmetic_rate",
        {"matrix_ops_per_s": ops},
        backend_arithmetic={"sums_in_half": False, "calls_library": calls_library},
        hardware_rate=RATE | {"matrix_precision": matrix, "half_matrix_ops_per_s": half},
        part=PART,
        **FORMAT,
    )


UNITS = {"vector_unit_count": 12.0, "single_vector_unit_count": 6.0, "matrix_unit_count": 3.0}


@pytest.mark.parametrize(
    ("sums_in_half", "units", "count"),
    [
        (True, {}, 12.0),
        (False, {}, 6.0),
        (False, {"single_vector_unit_count": None}, 3.0),
        (False, {"single_vector_unit_count": None, "matrix_unit_count": None}, 10.0),
    ],
)
def test_units_that_reach_the_peak(
    check: Callable[..., None], sums_in_half: bool, units: dict[str, Any], count: float
) -> None:
    """The count is that of the vector units of the accumulating format; without it of the matrix units, else of all units."""
    check(
        "arithmetic_rate",
        {"vector_unit_count": count},
        backend_arithmetic={"sums_in_half": sums_in_half},
        hardware_rate=RATE | UNITS | units,
        part=PART,
        **FORMAT,
    )


@pytest.mark.parametrize(("stream", "tile", "cache", "load", "draw"), [(400.0, 600.0, 900.0, 60.0, 40.0), (800.0, 600.0, 300.0, 30.0, 60.0)])
def test_what_a_unit_draws(
    check: Callable[..., None], stream: float, tile: float, cache: float, load: float, draw: float
) -> None:
    """Ten units share the slower side of each border; an array of 3 rows and 5 columns takes 8 elements of 2 bytes per step."""
    check(
        "arithmetic_rate",
        {"load_unit_byte_per_s": load, "stream_unit_byte_per_s": draw, "fed_array_hz": stream / 160, "block_threads": 256.0},
        backend_arithmetic={"sums_in_half": False},
        hardware_rate=RATE | {"matrix_array_rows": 3.0, "matrix_array_columns": 5.0},
        part=PART | {"stream_memory_byte_per_s": stream, "tile_memory_byte_per_s": tile, "cache_byte_per_s": cache},
        **FORMAT | {"library_constant": [{"library_constant": "other", "value": 64.0}, FORMAT["library_constant"]]},
    )


@pytest.mark.parametrize(
    ("part", "owns", "fetches"),
    [
        ({}, True, True),
        # Fitted efficiencies of GPUs and processors include the loads.
        ({"family": "gpu"}, True, False),
        ({"family": "cpu"}, True, False),
        ({"cache_level": "scratchpad"}, True, False),
        ({"cache_level": None}, True, False),
        ({"tile_memory_level": None}, False, False),
        # All units share one scratchpad, or software moves data through every level.
        ({"tile_memory_pool_byte": 1e6}, False, False),
        ({"is_staged": True}, False, False),
    ],
)
def test_units_that_fetch_tiles_into_memories_of_their_own(
    check: Callable[..., None], part: dict[str, Any], owns: bool, fetches: bool
) -> None:
    levels = {"family": "npu", "is_staged": False, "tile_memory_level": "scratchpad", "cache_level": "l2"}
    check(
        "arithmetic_rate", {"has_own_memory": owns, "fetches_tiles": fetches}, backend_arithmetic={"sums_in_half": False},
        hardware_rate=RATE, part=PART | levels | part, **FORMAT,
    )  # fmt: skip
