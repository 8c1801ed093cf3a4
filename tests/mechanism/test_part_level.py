"""Memory levels of a part side by side."""

from __future__ import annotations

from collections.abc import Callable

import pytest

PART = {
    "hardware": {"hardware": "chip", "family": "npu"},
    "hardware_family": {"family": "npu", "tiles_second_level": False},
    "part_unit": {"hardware": "chip", "unit_count": 4.0},
}
DRAM = {
    "hardware": "chip", "level": "dram", "depth": 9, "scope": "chip", "management": "hardware", "capacity_byte": 1e9,
    "bandwidth_byte_per_s": 100.0,
}  # fmt: skip
L2 = {
    "hardware": "chip", "level": "l2", "depth": 2, "scope": "unit", "management": "software", "capacity_byte": 1000.0,
    "bandwidth_byte_per_s": 25.0,
}  # fmt: skip
"""Four units' own: 4,000 bytes at 100 a second together, as fast as main memory."""


@pytest.mark.parametrize(
    ("level", "takes_groups"),
    [
        pytest.param({}, True, id="as fast as main memory"),
        pytest.param({"bandwidth_byte_per_s": 24.0}, False, id="slower than main memory"),
        pytest.param({"bandwidth_byte_per_s": None}, True, id="of unknown bandwidth"),
        pytest.param({"management": "hardware"}, False, id="a cache"),
    ],
)  # fmt: skip
def test_a_batch_goes_in_groups_where_software_places_what_is_as_fast_as_main_memory(
    check: Callable[..., None], level: dict[str, object], takes_groups: bool
) -> None:
    expected = {"cache_level": "l2", "cache_byte": 4000.0, "dram_byte_per_s": 100.0, "takes_groups": takes_groups}
    check("part_level", expected, part_memory=[DRAM, L2 | level], **PART)
