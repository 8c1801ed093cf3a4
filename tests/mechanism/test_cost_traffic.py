"""Bytes of a shape on a part."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "traffic_byte": 900.0, "produced_byte": 100.0, "output_byte": 200.0, "cache_byte": 1000.0, "residency_fraction": 0.5,
    "cache_state": "warm",
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "resident_byte"),
    [
        # 100 from earlier kernels and 200 of results fit in half of 1,000.
        pytest.param({}, 300.0, id="warm"),
        pytest.param({"cache_byte": 600.0}, 300.0, id="just fits"),
        pytest.param({"cache_byte": 599.0}, 0.0, id="streams through"),
        pytest.param({"cache_state": "cold"}, 0.0, id="cold"),
        # Everything that crosses the border is there already, up to the whole cache; otherwise as in a warm one.
        pytest.param({"cache_state": "hot"}, 900.0, id="hot"),
        pytest.param({"cache_state": "hot", "cache_byte": 899.0}, 300.0, id="hot and larger than the cache"),
        pytest.param({"cache_byte": 0.0}, 0.0, id="no cache"),
    ],
)
def test_what_the_cache_serves(check: Callable[..., None], shape: dict[str, object], resident_byte: float) -> None:
    """Produced inputs and results together, or nothing."""
    expected = {"moved_byte": 900.0, "resident_byte": resident_byte, "cut_count": 0}
    check("cost_traffic", expected, previous=SHAPE | shape)


def test_what_a_chain_spills_moves_besides(check: Callable[..., None]) -> None:
    """1,600 bytes more, none of them served by the cache."""
    expected = {"moved_byte": 2500.0, "resident_byte": 300.0, "cut_count": 1}
    check("cost_traffic", expected, previous=SHAPE, chain_cut={"spilled_byte": 1600.0, "cut_count": 1})
    # That of another part is not this one's.
    chain = {"hardware": "other", "spilled_byte": 1600.0, "cut_count": 1}
    check("cost_traffic", expected | {"moved_byte": 900.0, "cut_count": 0}, previous=SHAPE, chain_cut=chain)


def test_sums_start_at_nothing(check: Callable[..., None]) -> None:
    """The links that follow add to them."""
    expected = {"memory_s": 0.0, "memory_level": "dram", "exposed_s": 0.0, "memory_energy_j": 0.0}
    check("cost_traffic", expected, previous=SHAPE)
