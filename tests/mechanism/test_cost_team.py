"""A team of threads begins and ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "chunk_element": 100.0, "team_size": 4.0, "team_byte": 50.0, "unit_count": 4.0, "dram_byte_per_s": 800.0,
    "moved_byte": 1.0, "exposed_s": 1.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "team_s"),
    [
        # As long as the part moves 50 bytes for each of four units: 200 / 800.
        ({}, 0.25),
        ({"team_size": 1.5}, 0.25),
        ({"team_size": 1.0}, 0.0),
        ({"chunk_element": None}, 0.0),
        ({"moved_byte": 0.0}, 0.0),
        ({"team_byte": None}, 0.0),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], team_s: float) -> None:
    """What one number changes."""
    check("cost_team", {"team_s": team_s, "exposed_s": 1.0 + team_s}, previous=SHAPE | shape)
