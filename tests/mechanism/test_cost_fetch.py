"""The memory that all units share, from which they fetch tiles into their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {"fetch_byte": 1000.0, "moved_byte": 600.0, "cache_level": "l2", "cache_byte_per_s": 250.0, "cache_j_per_byte": 0.5}


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 1,000 / 250 s; 600 of the bytes cross once, 400 x 0.5 J more.
        pytest.param({}, {"fetch_s": 4.0, "fetch_energy_j": 200.0}, id="more than once"),
        pytest.param({"moved_byte": 1200.0}, {"fetch_s": 4.0, "fetch_energy_j": 0.0}, id="less than all traffic"),
        pytest.param({"cache_byte_per_s": None}, {"fetch_s": 0.0, "fetch_energy_j": 200.0}, id="unknown bandwidth"),
        pytest.param({"cache_j_per_byte": None}, {"fetch_s": 4.0, "fetch_energy_j": None}, id="unknown energy"),
        pytest.param({"fetch_byte": 0.0, "cache_j_per_byte": None}, {"fetch_s": 0.0, "fetch_energy_j": 0.0}, id="no such memories"),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_fetch", expected, cost_reload=SHAPE | shape)
