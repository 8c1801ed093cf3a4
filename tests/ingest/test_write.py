"""Rows of models in a file are found by name, replaced as a whole, and have distinct keys."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from charz.ingest import pipeline
from charz.ingest.compile.rules import Rules
from charz.ingest.rows import Ingested
from charz.ingest.sources.spec import parse
from charz.ingest.write import MODEL_TABLES, delete, known_hashes, write
from charz.schema import database, file
from charz.schema.row import ModelRow


@pytest.fixture(scope="module")
def network(rules: Rules) -> Ingested:
    return pipeline.ingest(parse("synthetic:mlp"), rules)


def named(network: Ingested, name: str) -> Ingested:
    return Ingested({**network.model, "model": name}, copy.deepcopy(network.columns))


def counts(connection) -> dict[str, dict[str, int]]:
    """Count the rows of each model in each table."""
    return {
        t.TABLE: dict(connection.execute(f"SELECT model, count(*) FROM {t.TABLE} GROUP BY model").fetchall())
        for t in MODEL_TABLES
    }


def test_every_table_of_a_model_is_written_and_deleted() -> None:
    assert {t for t in database.TABLES if issubclass(t, ModelRow)} == set(MODEL_TABLES)


def test_a_model_is_replaced_whole_and_leaves_the_others(tmp_path: Path, network: Ingested) -> None:
    path = tmp_path / "file.duckdb"
    evaluated: list[list[str]] = []

    def add_runs(connection: duckdb.DuckDBPyConnection, *, models: Sequence[str]) -> None:
        assert set(models) <= set(known_hashes(connection))
        evaluated.append(sorted(models))

    with file.replace(path, create=True) as connection:
        write(connection, [named(network, "a"), named(network, "b")], add_runs)
        before = counts(connection)
    assert set(before["operator"]) == {"a", "b"}
    with file.replace(path) as connection:
        write(connection, [named(network, "a"), named(network, "c"), named(network, "c")], add_runs)
        assert set(known_hashes(connection)) == {"a", "b", "c"}
        for table, found in counts(connection).items():
            assert set(found.values()) == set(before[table].values()), table
        assert database.repeated_keys(connection) == {}
        write(connection, [], add_runs)
        assert evaluated == [["a", "b"], ["a", "c"]]
        delete(connection, "b")
        assert set(known_hashes(connection)) == set(counts(connection)["operator"]) == {"a", "c"}
