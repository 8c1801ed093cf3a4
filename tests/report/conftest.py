"""Reports and rollups over rows that a test writes, with expected values computed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from mechanism.conftest import CONDITIONS, KEYS, Bench, is_same, rows_beside_others

from charz.sql import documents, layers, terms, views

Record = dict[str, Any]
MADE = "kernel_term"
"""The one report without a file: it is generated from the headers of the mechanisms' files."""


class ReportBench(Bench):
    """The bench with the generated report."""

    def __init__(self) -> None:
        super().__init__()
        self.files[MADE] = views.ROOT / layers.REPORT / f"{MADE}.sql"

    def body(self, relation: str) -> str:
        """Return the statement of a relation; of the generated one, from the files that name a term."""
        if relation == MADE and relation not in self.bodies:
            texts = {path: path.read_text() for name, path in self.files.items() if name != MADE}
            named = [documents.parse(path, text) for path, text in texts.items() if "\n-- Term:" in text]
            self.bodies[relation] = terms.document(named, views.ROOT).body
            self.reads[relation] = ["kernel_time", "part_backend", "chain_efficiency", "efficiency"]
            for name in self.reads[relation]:
                self.make(name)
        return super().body(relation)

    def insert(self, relation: str, records: list[Record]) -> None:
        """Insert rows, completed with the usual conditions too."""
        usual = {name: value for name, value in CONDITIONS.items() if name in self.columns[relation]}
        super().insert(relation, [usual | record for record in records])


@pytest.fixture(scope="session")
def bench() -> Iterator[ReportBench]:
    """The bench, made once."""
    made = ReportBench()
    yield made
    made.connection.close()


@pytest.fixture
def evaluate(bench: ReportBench) -> Callable[..., list[Record]]:
    """A function: `evaluate("model_work", run=[{...}], shape=[{...}])` returns its rows."""

    def rows(relation: str, **given: list[Record]) -> list[Record]:
        return bench.evaluate(relation, given)

    return rows


@pytest.fixture
def gives(bench: ReportBench) -> Callable[..., None]:
    """A function: `gives("model_work", [{"macs": 17.0}], run=[{...}], shape=[{...}])` checks that the view has exactly the expected rows
    with the expected values; `by` names the columns that identify a row.

    The check runs again with additional rows of other runs and parts that differ in one key each and have other numbers: a view that
    joins or sums rows of different keys then fails. Keys that the report compares `across`, and keys it lacks, stay equal; `within`
    names further keys that must not mix, and `free` columns of a relation that have a key's name but another meaning.
    """

    def holds(
        relation: str,
        expected: Sequence[Record],
        by: Sequence[str] = (),
        across: Sequence[str] = (),
        within: Sequence[str] = (),
        free: Mapping[str, Sequence[str]] = {},
        **given: list[Record],
    ) -> None:
        rows = bench.evaluate(relation, given)
        compare(relation, rows, expected, by)
        keys = [name for name in KEYS if name in bench.columns_of(relation) and name not in across]
        mine = rows_beside_others(bench, relation, given, (*keys, *within), free)
        compare(f"{relation} beside other runs", mine, expected, by)

    return holds


def compare(what: str, rows: Sequence[Record], expected: Sequence[Record], by: Sequence[str]) -> None:
    """Fail if the rows differ from those expected."""
    assert len(rows) == len(expected), f"{what}: {len(rows)} rows, {len(expected)} expected"
    found = {tuple(row[name] for name in by): row for row in rows}
    for record in expected:
        mark = tuple(record[name] for name in by)
        assert mark in found, f"{what}: no row {mark} among {list(found)}"
        row = found[mark]
        wrong = {name: (row[name], value) for name, value in record.items() if not is_same(row[name], value)}
        assert not wrong, f"{what} {mark} (found, expected): {wrong}"
