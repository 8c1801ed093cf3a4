"""Plausible numbers of a part that contradict each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Record = dict[str, Any]
Evaluate = Callable[..., list[Record]]

NPU = {
    "dataflow": "weight_stationary", "cache_level": "l2", "cache_byte_per_s": 272e9, "tdp_w": 12.0, "static_w": 2.0, "clocking_w": 1.0,
    "standby_w": 0.5, "reference_fraction": 0.5, "voltage_slope": 0.5, "voltage_floor": 0.5, "voltage_ceiling": 1.25,
}  # fmt: skip
"""16 arrays of 64 x 64 at 1 GHz in int8: 16 x 4,096 x 2 x 1e9 operations a second, and 16 x 64 bytes a clock through their rows."""
RATE = {
    "precision": "int8", "matrix_precision": "int8", "matrix_ops_per_s": 16 * 4096 * 2 * 1e9, "matrix_array_rows": 64.0,
    "matrix_array_columns": 64.0, "is_native": True,
}  # fmt: skip
HALF = RATE | {"precision": "fp16", "matrix_precision": "fp16", "matrix_ops_per_s": 16 * 4096 * 2 * 0.25e9}
"""At a quarter of the rate with twice the bytes: half the bandwidth."""
CLUSTER = {"cluster": "unit", "array_rows": 64, "array_columns": 64}
TRACED = [
    {
        "field": "memory.l2.bandwidth_byte_per_s", "is_guess": True, "standing": "assumed", "stated_value": None,
        "formula": "4 ratio x bandwidth of main memory",
    },
    {"field": "energy.static.chip", "is_guess": True, "standing": "assumed"},
]  # fmt: skip
BITS = [{"precision": "int8", "bits": 8}, {"precision": "fp16", "bits": 16}]


def warned(evaluate: Evaluate, part: Record, traced: list[Record] = TRACED, cluster: Record = CLUSTER) -> dict[str, str]:
    """Return the warnings about the part, by kind."""
    found = evaluate(
        "part_warning", part=[NPU | part], hardware_rate=[HALF, RATE], hardware_cluster=[cluster], traced_number=traced, precision=BITS,
    )  # fmt: skip
    assert {row["hardware"] for row in found} <= {"chip"}
    return {row["warning"]: row["reason"] for row in found}


def test_an_assumed_memory_that_starves_the_arrays(evaluate: Evaluate) -> None:
    """272 GB/s, but 16 x 64 bytes per clock are 1,024 GB/s."""
    said = warned(evaluate, {})
    assert said == {
        "bandwidth": "l2 is assumed to give 272 GB/s (4 ratio x bandwidth of main memory) and its arrays take 1024 GB/s at their"
        " peak in int8: the assumption starves them"
    }
    stated = [TRACED[0] | {"stated_value": 272e9}, TRACED[1]]
    assert "272 GB/s and its arrays" in warned(evaluate, {}, stated)["bandwidth"]


@pytest.mark.parametrize(
    ("part", "traced"),
    [
        ({"cache_byte_per_s": 1024e9}, TRACED),
        ({}, [TRACED[0] | {"is_guess": False}, TRACED[1]]),
        # The memory next to the units feeds them, from a slower level.
        ({"tile_memory_level": "scratchpad", "tile_memory_byte_per_s": 1e9}, TRACED),
        ({"tile_memory_level": "l2", "tile_memory_byte_per_s": 2e12}, TRACED),
        ({"stream_level": "l2", "stream_memory_byte_per_s": 2e12, "tile_memory_level": "l2", "tile_memory_byte_per_s": 1.0}, TRACED),
    ],
    ids=["wide enough", "known", "another level", "tile memory", "first level"],
)  # fmt: skip
def test_a_memory_that_is_wide_enough_or_known(evaluate: Evaluate, part: Record, traced: list[Record]) -> None:
    assert warned(evaluate, part, traced) == {}


def test_where_results_stay_both_operands_stream(evaluate: Evaluate) -> None:
    """64 + 64 bytes per clock of each array: 2,048 GB/s."""
    for dataflow in ("output_stationary", "wavefront"):
        assert "take 2048 GB/s" in warned(evaluate, {"dataflow": dataflow})["bandwidth"]
    assert "take 1024 GB/s" in warned(evaluate, {"dataflow": "input_stationary"})["bandwidth"]


def test_an_array_that_tiles_ignore(evaluate: Evaluate) -> None:
    """A part without a file: no lint checked that its arrays have a dataflow."""
    assert list(warned(evaluate, {"dataflow": None})) == ["array"]
    assert warned(evaluate, {"dataflow": None}, cluster={"cluster": "unit"}) == {}


@pytest.mark.parametrize(
    ("part", "said"),
    [
        # At half the reference clock the voltage is 0.75 and its square 0.5625: (2.0 - 0.5 - 1.0 x 0.5) x 0.5625 + 0.5.
        (
            {"tdp_w": 1.5},
            "2.0 W of static power at the reference clock, assumed, are above its power limit of 1.5 W; at its own clock it draws"
            " 1.06 W of them",
        ),
        ({"tdp_w": 1.0}, "1.06 W of static power at its own clock, assumed, are above its power limit of 1.0 W"),
        # At twice the clock and a voltage of 1.25: (2.0 - 0.5 + 1.0) x 1.5625 + 0.5.
        (
            {"reference_fraction": 2.0, "tdp_w": 4.0},
            "4.41 W of static power at its own clock, assumed, are above its power limit of 4.0 W",
        ),
        ({"tdp_w": 2.0}, None),
        ({"tdp_w": None}, None),
    ],
)
def test_static_power_above_the_limit(evaluate: Evaluate, part: Record, said: str | None) -> None:
    assert warned(evaluate, {"cache_byte_per_s": 2e12} | part).get("static") == said
