"""The sum of costs that do not depend on the tile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "dram_s": 3.0, "cache_s": 2.0, "latency_bound_s": 1.0, "thread_s": 0.5, "team_s": 0.25, "reorder_s": 4.0, "library_s": 0.0, "paging_s": 8.0,
    "dram_energy_j": 10.0, "cache_energy_j": 20.0, "reorder_energy_j": 40.0, "library_energy_j": 0.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # The longest of 3, 2, 1 and 0.5; 0.25 + 4 + 8; 10 + 20 + 40.
        pytest.param({}, {"untiled_s": 3.0, "exposed_s": 12.25, "untiled_energy_j": 70.0}, id="main memory"),
        pytest.param({"cache_s": 5.0}, {"untiled_s": 5.0}, id="cache"),
        pytest.param({"latency_bound_s": 5.0}, {"untiled_s": 5.0}, id="latency"),
        pytest.param({"row_s": 5.0}, {"untiled_s": 5.0}, id="rows"),
        pytest.param({"flight_s": 5.0}, {"untiled_s": 5.0}, id="loads in flight"),
        pytest.param({"thread_s": 5.0}, {"untiled_s": 5.0}, id="threads"),
        pytest.param({"dram_s": None}, {"untiled_s": 2.0}, id="unknown bandwidth"),
        pytest.param({"reorder_energy_j": None}, {"untiled_energy_j": None}, id="unknown energy"),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_untiled", expected, cost_paging=SHAPE | shape)
