"""Every relation of `sql/` has the rows of the golden table."""

from __future__ import annotations

import itertools

import golden
import pytest


@pytest.mark.every_relation
def test_rows_are_those_of_the_golden_table() -> None:
    """`python -m tests.golden` stores the summaries of changed rows."""
    found = list(itertools.islice(golden.changes(golden.kept(), golden.summaries()), 20))
    assert not found, "\n".join(found)
