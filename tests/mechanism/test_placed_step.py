"""The losses of a step that does not reach the peak."""

from __future__ import annotations

from collections.abc import Callable

import pytest

STEP = {
    "dataflow": "square", "tile_m": 64.0, "tile_n": 32.0, "tile_k": 8.0, "tile_count": 8.0, "tile_unit_count": 4.0, "m": 64.0,
    "n": 32.0, "k": 8.0, "covered_rows": 64.0, "covered_columns": 32.0, "covered_depth": 8.0, "busy_fraction": 1.0,
    "pipelining_fraction": 1.0, "fed_fraction": 1.0, "threads": 2048.0, "block_threads": 256.0, "utilization_fraction": 1.0,
}  # fmt: skip
WHOLE = dict.fromkeys(("row_fraction", "column_fraction", "depth_fraction", "lane_fraction", "other_fraction"), 1.0)


def test_nothing_is_lost(check: Callable[..., None]) -> None:
    check("placed_step", WHOLE | {"main_loss": None}, covered_step=STEP)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param(
            {"covered_rows": 128.0, "utilization_fraction": 0.5}, {"row_fraction": 0.5, "main_loss": "rows"}, id="rows"
        ),
        # An array of 64 rows of weights streams 49 rows: 49 of 64.
        pytest.param(
            {"dataflow": "weight_stationary", "m": 49.0, "loaded_rows": 64.0, "utilization_fraction": 49 / 64},
            {"row_fraction": 49 / 64, "main_loss": "weights"},
            id="loading weights",
        ),
        pytest.param(
            {"dataflow": "input_stationary", "n": 28.0, "loaded_rows": 64.0, "utilization_fraction": 0.875},
            {"column_fraction": 0.875, "main_loss": "inputs"},
            id="loading inputs",
        ),
        # Rows next to the columns of an array of inputs are its tile's, however long it loads.
        pytest.param(
            {"dataflow": "input_stationary", "covered_rows": 128.0, "loaded_rows": 64.0, "utilization_fraction": 0.5},
            {"row_fraction": 0.5, "main_loss": "rows"},
            id="rows of inputs",
        ),
        pytest.param(
            {"covered_columns": 40.0, "utilization_fraction": 0.8},
            {"column_fraction": 0.8, "main_loss": "columns"},
            id="columns",
        ),
        pytest.param(
            {"covered_depth": 32.0, "utilization_fraction": 0.25},
            {"depth_fraction": 0.25, "main_loss": "depth"},
            id="depth",
        ),
        # 384 threads in two blocks of 256.
        pytest.param(
            {"dataflow": "direct", "threads": 384.0, "utilization_fraction": 0.75},
            {"lane_fraction": 0.75, "main_loss": "lanes"},
            id="lanes",
        ),
        # One block alone keeps its unit busy.
        pytest.param(
            {"dataflow": "direct", "threads": 128.0}, {"lane_fraction": 1.0, "main_loss": None}, id="one block"
        ),
        pytest.param({"busy_fraction": 0.5, "utilization_fraction": 0.5}, {"main_loss": "waves"}, id="waves"),
        pytest.param(
            {"tile_count": 2.0, "busy_fraction": 0.5, "utilization_fraction": 0.5}, {"main_loss": "units"}, id="units"
        ),
        pytest.param({"pipelining_fraction": 0.5, "utilization_fraction": 0.5}, {"main_loss": "filling"}, id="filling"),
        pytest.param({"fed_fraction": 0.5, "utilization_fraction": 0.5}, {"main_loss": "feed"}, id="feed"),
        # Half the rows are lost and half of what is left: 0.25 of 0.5.
        pytest.param(
            {"covered_rows": 128.0, "utilization_fraction": 0.125},
            {"row_fraction": 0.5, "other_fraction": 0.25, "main_loss": "other"},
            id="other",
        ),
        pytest.param({"tile_m": None, "covered_rows": 128.0}, {"row_fraction": 1.0, "main_loss": None}, id="no tile"),
    ],
)
def test_the_smallest_share_is_the_main_loss(
    check: Callable[..., None], changed: dict[str, object], expected: dict[str, object]
) -> None:
    check("placed_step", WHOLE | expected, covered_step=STEP | changed)
