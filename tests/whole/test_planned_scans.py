"""A budget for the planner: the fixed cost of an answer is about a millisecond for each scanned table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from benchmarks import budget

from charz.sql import layers, views
from whole.plans import planned

MOST = budget.limit("scans")
TARGET = {"model": "'small'", "hardware": "'h100_sxm5_80'", "batch": "1"}
REPORTS = sorted(view.name for view in views.load() if view.layer == layers.REPORT)


@pytest.fixture(scope="module")
def connection(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connection of a plain client to the file."""
    with duckdb.connect(str(file), read_only=True) as made:
        yield made


@pytest.mark.parametrize("report", REPORTS)
def test_one_target_by_names(connection: duckdb.DuckDBPyConnection, report: str) -> None:
    """Return a query for one model on one part at one batch, by the names that the report has."""
    columns = {name for name, *_ in connection.execute(f"DESCRIBE {report}").fetchall()}
    where = " AND ".join(f"{name} = {value}" for name, value in TARGET.items() if name in columns) or "TRUE"
    read = planned(connection, f"SELECT * FROM {report} WHERE {where}")
    # The planner itself may recognize an empty answer: no measurement, no decoding.
    assert read or connection.execute(f"SELECT 1 FROM {report} WHERE {where} LIMIT 1").fetchone() is None
    assert len(read) <= MOST
