"""The rows of `tiling_strategy` that apply to a part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

ROWS = [
    {"candidate": 0, "family": "gpu", "dataflow": "output_stationary", "matrix_instruction": "mma"},
    {"candidate": 1, "family": "gpu", "dataflow": "output_stationary", "matrix_instruction": "wgmma"},
    {"candidate": 2, "family": "gpu", "dataflow": "direct"},
    {"candidate": 3, "family": "kpu", "dataflow": "direct"},
    {"candidate": 4, "family": "npu", "dataflow": "output_stationary"},
    {"candidate": 5, "family": "npu", "dataflow": "query_block"},
    {"candidate": 6, "family": "*", "dataflow": "weight_stationary"},
    {"candidate": 7, "family": "*", "dataflow": "output_stationary"},
    {"candidate": 8, "family": "*", "dataflow": "wavefront"},
]


@pytest.mark.parametrize(
    ("family", "instruction", "dataflow", "candidates"),
    [
        # Without arrays: the rows of the family and its instruction.
        ("gpu", "mma", None, [0, 2]),
        ("gpu", "wgmma", None, [1, 2]),
        ("npu", "mma", None, [4, 5]),
        # With arrays: the rows of their dataflow, and the family's own for vector units.
        ("kpu", "mma", "wavefront", [3, 8]),
        ("kpu", "mma", "weight_stationary", [3, 6]),
        # A family's tiles for its units do not apply if the part states arrays.
        ("npu", "mma", "output_stationary", [5, 7]),
        # An unknown dataflow leaves only the vector units.
        ("kpu", "mma", "sideways", [3]),
    ],
)
def test_by_family_and_dataflow(
    evaluate: Callable[..., list[dict[str, Any]]], family: str, instruction: str, dataflow: str | None, candidates: list[int]
) -> None:
    part = {"family": family, "matrix_instruction": instruction, "dataflow": dataflow}
    found = evaluate("part_strategy", part=[part], tiling_strategy=ROWS)
    assert sorted(row["candidate"] for row in found) == candidates


@pytest.mark.parametrize(
    ("own", "usual", "expected"),
    [
        ("input_stationary", "wavefront", "input_stationary"),
        (None, "wavefront", "wavefront"),
        ("weight_stationary", None, "weight_stationary"),
        (None, None, None),
    ],
)
def test_a_part_says_more_than_its_family(
    check: Callable[..., None], own: str | None, usual: str | None, expected: str | None
) -> None:
    check(
        "part",
        {"dataflow": expected},
        hardware={"family": "foo", "dataflow": own, "status": "shipping"},
        hardware_family={"family": "foo", "dataflow": usual},
    )
