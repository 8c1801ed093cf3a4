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
    "bandwidth_byte_per_s": 25.0, "keeps_weights": None,
}  # fmt: skip
"""Four units' own level: 4,000 bytes at 100 per second together, as fast as main memory."""


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
    expected = {"cache_level": "l2", "cache_byte": 4000.0, "dram_byte_per_s": 100.0, "takes_groups": takes_groups, "is_cache_placed": takes_groups}
    check("part_level", expected, part_memory=[DRAM, L2 | level], **PART)


@pytest.mark.parametrize(
    ("level", "dram", "family", "keeps_weights"),
    [
        pytest.param({}, {}, {"keeps_weights": True}, True, id="as its family"),
        pytest.param({}, {}, {"keeps_weights": False}, False, id="not as its family"),
        pytest.param({"keeps_weights": True}, {}, {"keeps_weights": False}, True, id="as it says"),
        pytest.param({"keeps_weights": False}, {}, {"keeps_weights": True}, False, id="not as it says"),
        pytest.param({}, {"technology": "host"}, {"keeps_weights": False}, True, id="without a main memory"),
        pytest.param({"management": "hardware"}, {}, {"keeps_weights": True}, False, id="in a cache"),
        pytest.param({"bandwidth_byte_per_s": 24.0}, {}, {"keeps_weights": True}, False, id="slower than main memory"),
    ],
)  # fmt: skip
def test_who_keeps_weights(
    check: Callable[..., None], level: dict[str, object], dram: dict[str, object], family: dict[str, object], keeps_weights: bool
) -> None:
    """Programs of a part keep a model's weights if software manages the last level."""
    part = PART | {"hardware_family": PART["hardware_family"] | family}
    check("part_level", {"keeps_weights": keeps_weights}, part_memory=[DRAM | dram, L2 | level], **part)


def test_a_scratchpad_above_a_cache_keeps_no_weights(check: Callable[..., None]) -> None:
    """Software places data in the scratchpad shared by the units; hardware decides the contents of the level after it."""
    scratchpad = L2 | {"level": "scratchpad", "depth": 1, "scope": "chip"}
    expected = {"takes_groups": True, "is_cache_placed": False, "keeps_weights": False}
    part = PART | {"hardware_family": PART["hardware_family"] | {"keeps_weights": True}}
    check("part_level", expected, part_memory=[DRAM, scratchpad, L2 | {"management": "hardware"}], **part)
