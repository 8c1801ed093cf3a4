"""Data of loop nests sent over networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Evaluate = Callable[..., list[dict[str, Any]]]
Record = dict[str, Any]

TRAFFIC = {
    "array_count": 6.0, "trips_m": 4.0, "trips_n": 3.0, "inner_input_byte": 300.0, "inner_weight_byte": 200.0, "inner_output_byte": 50.0,
    "inner_byte": 550.0, "inner_input_visits": 3.0, "inner_weight_visits": 4.0, "dataflow": "output_stationary",
    "macs": 500.0, "element_byte": 1.0,
}  # fmt: skip
"""Six arrays: three on tiles of the same rows, two on tiles of the same columns."""
MESH = {
    "has_unit_mesh": True, "has_die_mesh": False, "has_element_mesh": False, "die_count": 1.0, "unit_distance": 1.5, "unit_hop_j_per_byte": 2.0,
    "die_distance": 0.0,
}  # fmt: skip
DICE = MESH | {
    "has_die_mesh": True,
    "die_count": 3.0,
    "die_distance": 1.25,
    "die_hop_j_per_byte": 10.0,
    "unit_distance": 0.5,
}


def sent(evaluate: Evaluate, mesh: Record | None, **traffic: Any) -> Record:
    (row,) = evaluate("nest_hop", nest_traffic=[TRAFFIC | traffic], part_mesh=[mesh] if mesh else [])
    return row


def test_a_multicast_leaves_once_and_goes_on_from_each_to_the_next(evaluate: Evaluate) -> None:
    row = sent(evaluate, MESH)
    assert (row["input_receivers"], row["weight_receivers"]) == (3, 2)
    assert row["cast_byte"] == 300 / 3 + 200 / 2 + 50
    hops = 100 * (1.5 + 2) + 100 * (1.5 + 1) + 50 * 1.5
    assert (row["unit_hop_byte"], row["die_hop_byte"], row["hop_j"]) == (hops, 0, 2 * hops)


def test_without_a_network_every_array_loads_its_own(evaluate: Evaluate) -> None:
    row = sent(evaluate, None)
    assert (row["input_receivers"], row["weight_receivers"], row["cast_byte"]) == (1, 1, 550)
    assert (row["unit_hop_byte"], row["die_hop_byte"], row["hop_j"]) == (0, 0, 0)


def test_dice_hold_neighbours(evaluate: Evaluate) -> None:
    """Two arrays per die: input for three goes to two dies, weights for every third array to two."""
    row = sent(evaluate, DICE)
    assert row["die_hop_byte"] == pytest.approx(100 * (1.25 + 1) + 100 * (1.25 + 1) + 50 * 1.25)
    # Within each die the first receiver is 0.5 links away.
    assert row["unit_hop_byte"] == pytest.approx(100 * (2 * 0.5 + 1) + 100 * (2 * 0.5 + 0) + 50 * 0.5)
    assert row["hop_j"] == pytest.approx(10 * row["die_hop_byte"] + 2 * row["unit_hop_byte"])


def test_a_multicast_that_fits_a_die_stays_there(evaluate: Evaluate) -> None:
    """One tile of columns: all six arrays take different rows and the same weights, on three dies."""
    row = sent(evaluate, DICE, trips_n=1.0, trips_m=9.0)
    assert (row["input_receivers"], row["weight_receivers"]) == (1, 6)
    # Weights for six arrays arrive four times.
    assert row["die_hop_byte"] == pytest.approx(300 * 1.25 + 200 / 4 * (1.25 + 2) + 50 * 1.25)


def test_what_stays_is_sent_to_each_that_works_with_it(evaluate: Evaluate) -> None:
    """Weights arrive once for two arrays: as many bytes leave their memory, and they go on to the second."""
    row = sent(evaluate, MESH, inner_weight_visits=1.0)
    assert row["cast_byte"] == 300 / 3 + 200 + 50
    assert row["unit_hop_byte"] == 100 * (1.5 + 2) + 200 * (1.5 + 1) + 50 * 1.5


def test_fewer_tiles_than_arrays(evaluate: Evaluate) -> None:
    row = sent(evaluate, MESH, trips_n=2.0, trips_m=1.0)
    assert (row["input_receivers"], row["weight_receivers"]) == (2, 1)


def test_elements_hand_on(evaluate: Evaluate) -> None:
    mesh = {
        "has_unit_mesh": False,
        "has_die_mesh": False,
        "has_element_mesh": True,
        "element_hop_j_per_byte": 0.5,
        "die_count": 1.0,
    }
    row = sent(evaluate, mesh)
    assert (row["cast_byte"], row["unit_hop_byte"], row["hop_j"]) == (550, 0, 500)
