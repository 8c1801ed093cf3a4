"""The cuts of a domain-flow chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

LINK = {"kernel_class": "linear", "batch": 8, "weight_byte": 100.0}
PART = {"cache_byte": 1000.0}
SHARE = [
    {"kernel_class": "linear", "operator_name": "*", "precision_class": "*", "residency_fraction": fraction, "efficiency_chain": chain}
    for chain, fraction in (("any", 0.5), ("another", 0.125))
]


@pytest.mark.parametrize(
    ("links", "weight_byte", "expected"),
    [
        # Both fit in half of 1,000 bytes.
        pytest.param(
            [500.0, 400.0],
            100.0,
            {"link_count": 2, "cut_count": 0, "pass_count": 1, "held_byte": 500.0, "spilled_byte": 0.0},
            id="all held",
        ),
        # 800 bytes do not fit: five of eight samples do, in two groups; reading 100 bytes of weights once more costs
        # less than 1,600 bytes written and read.
        pytest.param(
            [800.0, 400.0],
            100.0,
            {"cut_count": 0, "pass_count": 2, "held_byte": 500.0, "spilled_byte": 100.0},
            id="in groups",
        ),
        # Weights of 1,600 bytes cost as much as the link itself, which leaves the chip and returns.
        pytest.param(
            [800.0, 400.0],
            1600.0,
            {"cut_count": 1, "pass_count": 1, "held_byte": 400.0, "spilled_byte": 1600.0},
            id="spilled",
        ),
        # 8,000 bytes are 1,000 per sample: none fits. The other link passes in two groups: 16,000 + 100 against 16,000
        # + 1,600.
        pytest.param(
            [8000.0, 800.0],
            100.0,
            {"link_count": 2, "cut_count": 1, "pass_count": 2, "held_byte": 500.0, "spilled_byte": 16_100.0},
            id="one lost",
        ),
        # One sample of 500 bytes at a time, in eight groups.
        pytest.param(
            [4000.0],
            100.0,
            {"cut_count": 0, "pass_count": 8, "held_byte": 500.0, "spilled_byte": 700.0},
            id="one by one",
        ),
        # Three samples of 150 bytes fit, in three groups of at most three: 450 bytes at a time, weights read twice
        # more.
        pytest.param(
            [1200.0],
            100.0,
            {"cut_count": 0, "pass_count": 3, "held_byte": 450.0, "spilled_byte": 200.0},
            id="three groups",
        ),
    ],
)
def test_a_link_is_held_passed_or_spilled(
    check: Callable[..., None], links: list[float], weight_byte: float, expected: dict[str, Any]
) -> None:
    """A chain of eight samples on a chip of 1,000 bytes, half of it usable for links."""
    rows = [LINK | {"tensor_id": i, "held_byte": size, "weight_byte": weight_byte} for i, size in enumerate(links)]
    check("chain_cut", expected, shape_link=rows, part_support=PART, chain_efficiency=SHARE)


def test_a_part_without_a_cache_spills_all(check: Callable[..., None]) -> None:
    """The part has no room for a sample of any link."""
    row = LINK | {"tensor_id": 0, "held_byte": 800.0}
    expected = {"cut_count": 1, "pass_count": 1, "spilled_byte": 1600.0}
    check("chain_cut", expected, shape_link=row, part_support={"cache_byte": 0.0}, chain_efficiency=SHARE)


PLACED = {"cache_byte": 1000.0, "is_cache_placed": True, "takes_groups": True, "keeps_weights": True}
OF_RUN = LINK | {"cache_state": "warm", "weight_byte": 1600.0, "run_weight_byte": 600.0, "run_activation_byte": 1600.0, "held_byte": 1600.0}


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        # All 600 bytes of weights stay next to one of eight samples: 400 are left, for two samples of 200 bytes.
        # Weights that stay cost nothing when they are read three more times.
        pytest.param({}, {"cut_count": 0, "pass_count": 4, "held_byte": 400.0, "spilled_byte": 4800.0}, id="weights stay"),
        # Streamed weights leave all 1,000 bytes to five samples, but reading 1,600 bytes once more costs less than
        # 3,200.
        pytest.param(
            {"cache_state": "weights_streamed"}, {"cut_count": 0, "pass_count": 2, "held_byte": 1000.0, "spilled_byte": 1600.0}, id="streamed",
        ),
        # 1,000 of 1,200 bytes stay neither with one sample nor with all, because reading the rest eight times costs
        # more.
        pytest.param({"run_weight_byte": 1200.0}, {"cut_count": 0, "pass_count": 2, "spilled_byte": 1600.0}, id="too large"),
    ],
)  # fmt: skip
def test_a_chain_beside_weights_that_stay(check: Callable[..., None], run: dict[str, Any], expected: dict[str, Any]) -> None:
    """Software places data in the memory: no share of it is lost, and links get the bytes that weights leave."""
    check("chain_cut", expected, shape_link=OF_RUN | run, part_support=PLACED, chain_efficiency=SHARE)
