"""Networks of a part: their sides, links and distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Evaluate = Callable[..., list[dict[str, Any]]]
Record = dict[str, Any]

UNITS = {"mesh": "unit", "link_byte_per_s": 10.0, "hop_j_per_byte": 2.0, "busy_fraction": 0.5}
DICE = {"mesh": "die", "link_byte_per_s": 4.0, "hop_j_per_byte": 8.0, "busy_fraction": 0.75}


def meshed(
    evaluate: Evaluate,
    meshes: list[Record],
    units: float = 6.0,
    die_count: int | None = None,
    faults: list[Record] | None = None,
) -> Record:
    (row,) = evaluate(
        "part_mesh",
        hardware=[{"die_count": die_count}],
        part_unit=[{"unit_count": units}],
        hardware_mesh=meshes,
        part_fault=faults or [],
    )
    return row


def test_units_on_a_mesh(evaluate: Evaluate) -> None:
    """6 units as 2 x 3: 2 x 2 + 3 links, both ways. Two of three places in a row are (0 + 1 + 2 + 1 + 0 + 1 + 2 + 1 + 0) / 9 apart, two of
    two a half."""
    row = meshed(evaluate, [UNITS])
    assert (row["has_unit_mesh"], row["has_die_mesh"], row["has_element_mesh"]) == (True, False, False)
    assert (row["die_count"], row["die_unit_count"], row["unit_link_count"]) == (1, 6, 14)
    assert row["unit_distance"] == pytest.approx(8 / 9 + 1 / 2)
    assert (row["unit_link_byte_per_s"], row["unit_hop_j_per_byte"], row["unit_busy_fraction"]) == (10, 2, 0.5)


@pytest.mark.parametrize(
    ("sides", "links"),
    # A row of 6, a column of 6, and both sides stated.
    [({"mesh_rows": 1}, 10), ({"mesh_columns": 1}, 10), ({"mesh_rows": 3, "mesh_columns": 2}, 14)],
)
def test_sides_may_be_stated(evaluate: Evaluate, sides: Record, links: int) -> None:
    assert meshed(evaluate, [UNITS | sides])["unit_link_count"] == links


def test_every_die_has_its_own(evaluate: Evaluate) -> None:
    """4 dies as 2 x 2 have 4 links, both ways, and are a half apart in each direction; so are 4 units on each."""
    row = meshed(evaluate, [UNITS, DICE], 16.0, 4)
    assert (row["die_count"], row["die_unit_count"]) == (4, 4)
    assert (row["unit_link_count"], row["die_link_count"]) == (4 * 8, 8)
    assert (row["unit_distance"], row["die_distance"]) == (1, 1)
    assert (row["die_link_byte_per_s"], row["die_hop_j_per_byte"], row["die_busy_fraction"]) == (4, 8, 0.75)


def test_without_links_between_dice_all_units_are_on_one(evaluate: Evaluate) -> None:
    assert meshed(evaluate, [UNITS], 16.0, 4)["die_unit_count"] == 16


def test_elements(evaluate: Evaluate) -> None:
    row = meshed(evaluate, [{"mesh": "element", "hop_j_per_byte": 3.0}])
    assert (row["has_element_mesh"], row["element_hop_j_per_byte"], row["has_unit_mesh"]) == (True, 3, False)


@pytest.mark.parametrize(("is_possible", "energy"), [(False, None), (True, 2.0)])
def test_what_cannot_be_is_not_known(evaluate: Evaluate, is_possible: bool, energy: float | None) -> None:
    fault = {"kind": "mesh", "field": "mesh.unit.hop_j_per_byte", "is_possible": is_possible}
    row = meshed(evaluate, [UNITS, DICE], faults=[fault])
    assert (row["unit_hop_j_per_byte"], row["die_hop_j_per_byte"]) == (energy, 8)
