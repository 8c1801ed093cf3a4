"""Loops that a processor's backend runs in few threads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "chunk_element": 100.0, "loop_elements": 399.0, "unit_count": 4.0, "stated_unit_count": 4.0, "macs": 0.0, "moved_byte": 600.0,
    "unit_dram_byte_per_s": 500.0, "thread_fraction": 0.8,
}  # fmt: skip
"""One unit alone draws 500 bytes per second; a thread reaches 400."""


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # One element short of a chunk for each of four threads: one thread moves all, 600 / 400.
        pytest.param({}, {"team_size": 1.0, "thread_s": 1.5}, id="one thread"),
        pytest.param({"loop_elements": 400.0}, {"team_size": 4.0, "thread_s": 0.0}, id="all threads"),
        # On average as many threads as chunks: 600 / (3.99 x 400).
        pytest.param({"shares_by_chunk": True}, {"team_size": 3.99, "thread_s": 600 / 1596}, id="by chunk"),
        pytest.param(
            {"shares_by_chunk": True, "loop_elements": 9.0}, {"team_size": 1.0, "thread_s": 1.5}, id="part of a chunk"
        ),
        pytest.param(
            {"shares_by_chunk": True, "loop_elements": 900.0}, {"team_size": 4.0, "thread_s": 0.0}, id="more chunks"
        ),
        # Libraries distribute every product over all threads.
        pytest.param({"macs": 1.0}, {"team_size": 4.0, "thread_s": 0.0}, id="product"),
        pytest.param({"chunk_element": None}, {"team_size": 4.0, "thread_s": 0.0}, id="no chunks"),
        pytest.param({"thread_fraction": None}, {"team_size": 1.0, "thread_s": 0.0}, id="nothing known of threads"),
        pytest.param(
            {"unit_dram_byte_per_s": None}, {"team_size": 1.0, "thread_s": 0.0}, id="nothing known of a unit alone"
        ),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_thread", expected, cost_row=SHAPE | shape)
