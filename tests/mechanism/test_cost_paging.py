"""Fresh pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {"family": "cpu", "fault_byte": 300.0, "paging_fraction": 0.125, "dram_byte_per_s": 800.0}


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 300 bytes at 800 / 8 per second.
        ({}, {"paged_byte": 300.0, "paging_s": 3.0}),
        ({"family": "gpu"}, {"paged_byte": 0.0, "paging_s": 0.0}),
        ({"paging_fraction": None}, {"paged_byte": 0.0, "paging_s": 0.0}),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_paging", expected, cost_convert=SHAPE | shape)
