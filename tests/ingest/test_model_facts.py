"""The stored facts of models equal those of a fresh ingest."""

from __future__ import annotations

import model_facts
import pytest


@pytest.mark.slow("traces every model whose facts are kept")
@pytest.mark.parametrize("name", model_facts.MODELS)
def test_kept_facts_are_those_of_a_fresh_ingest(name: str) -> None:
    """`python -m tests.model_facts` rewrites them."""
    fresh, kept = (model_facts.stated(made) for made in (model_facts.fresh(name), model_facts.kept(name)))
    assert kept.keys() == fresh.keys()
    for table, columns in fresh.items():
        assert kept[table].keys() == columns.keys(), table
        for column, values in columns.items():
            assert kept[table][column] == values, (table, column)


def test_each_kept_file_is_of_a_model_that_is_named() -> None:
    assert {path.stem for path in model_facts.FOLDER.glob("*.parquet")} == set(model_facts.MODELS)
