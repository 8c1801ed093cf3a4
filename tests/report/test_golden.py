"""Every relation of `sql/` has the rows of the golden table."""

from __future__ import annotations

import golden
import pytest


@pytest.mark.every_relation
@pytest.mark.costly("evaluates every relation of `sql/` once, which takes 120 U")
def test_rows_are_those_of_the_golden_table() -> None:
    """The test stops at the first column that differs."""
    change = next(golden.changes(golden.kept(), golden.summaries()), None)
    assert change is None, f"{change}; `python -m tests.golden` lists every change"
