"""Reports and rollups over rows that a test writes out: what must come out is worked out by hand beside them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import pytest
from mechanism.conftest import USUAL, Bench, is_same

from charz.sql import documents, layers, terms, views

Record = dict[str, Any]
Rows = Mapping[str, list[Record]]
KEYS = ("model", "hardware", "backend", "precision", "batch", "sequence", "scenario_id")
CONDITIONS: Record = {
    "context": 0, "phase": "forward", "memory_format": "nchw", "host_factor": 1.0, "cache_state": "warm", "power": "default",
}  # fmt: skip
"""What tells scenarios of equal keys apart, as it is unless the test says otherwise."""
MADE = "kernel_term"
"""The one report without a file: it is made from what the files of mechanisms say."""


class ReportBench(Bench):
    """The tables, with the report that is made."""

    def __init__(self) -> None:
        super().__init__()
        self.files[MADE] = views.ROOT / layers.REPORT / f"{MADE}.sql"

    def body(self, relation: str) -> str:
        """The statement of a relation, that of the made one from the files that name a term."""
        if relation == MADE and relation not in self.bodies:
            texts = {path: path.read_text() for name, path in self.files.items() if name != MADE}
            named = [documents.parse(path, text) for path, text in texts.items() if "\n-- Term:" in text]
            self.bodies[relation] = terms.document(named, views.ROOT).body
            self.reads[relation] = ["kernel_time", "part_efficiency", "efficiency"]
            for name in self.reads[relation]:
                self.make(name)
        return super().body(relation)

    def insert(self, relation: str, records: list[Record]) -> None:
        """Rows, completed with the usual conditions too."""
        usual = {name: value for name, value in CONDITIONS.items() if name in self.columns[relation]}
        super().insert(relation, [usual | record for record in records])

    def columns_of(self, relation: str) -> list[str]:
        """Columns that a relation answers with."""
        self.make(relation)
        return list(self.columns[relation])


@pytest.fixture(scope="session")
def bench() -> Iterator[ReportBench]:
    """The tables, made once."""
    made = ReportBench()
    yield made
    made.connection.close()


@pytest.fixture
def evaluate(bench: ReportBench) -> Callable[..., list[Record]]:
    """`evaluate("model_work", run=[{...}], shape=[{...}])` -> its rows."""

    def rows(relation: str, **given: list[Record]) -> list[Record]:
        return bench.evaluate(relation, given)

    return rows


@pytest.fixture
def gives(bench: ReportBench) -> Callable[..., None]:
    """`gives("model_work", [{"macs": 17.0}], run=[{...}], shape=[{...}])`: the view has as many rows as are expected, and each
    holds what is expected of it; `by` names the columns that tell them apart.

    And the same with rows of other runs and parts beside them, which differ in one key each and hold other numbers: what
    joins or sums rows of different keys answers otherwise. Keys that the report compares `across`, and those that
    it has not, stay as they are; `within` names further ones that must not mix,
    and `free` columns of a relation that are called like a key and are none.
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
        columns = {name: bench.columns[name] for name in given}
        own = {key: {values(record, key) for one in given.values() for record in one} for key in (*keys, *within)}
        bound = {name: [key for key in own if key in columns[name] and key not in free.get(name, ())] for name in given}
        hidden = set(within) - set(bench.columns_of(relation))
        beside = {name: [*records, *others(records, bound[name], hidden)] for name, records in given.items()}
        found = bench.evaluate(relation, beside)
        runs = {values(record, "scenario_id") for one in given.values() for record in one}
        found = [row for row in found if row.get("scenario_id", min(runs)) in runs]
        mine = [row for row in found if all(row[key] in own[key] for key in own if key in row)]
        compare(f"{relation} beside other runs", mine, expected, by)

    return holds


def values(record: Record, key: str) -> Any:
    """What a record holds as a key."""
    return record.get(key, (USUAL | CONDITIONS).get(key))


def others(records: Sequence[Record], keys: Sequence[str], hidden: Collection[str]) -> list[Record]:
    """The records under another value of each key, once with larger numbers and once with smaller ones; where the report
    does not show the key, in another scenario."""
    made: list[Record] = []
    for key in keys:
        known = [record for record in records if values(record, key) is not None]
        for number, factor in ((1, 7.0), (2, 1 / 7)):
            changed = [
                scaled(record, factor * (1 + i)) | {key: other(values(record, key), number)}
                for i, record in enumerate(known)
            ]
            if key in hidden and key in CONDITIONS:
                changed = [r | {"scenario_id": other(values(r, "scenario_id"), number)} for r in changed]
            made += changed
    return made


def scaled(record: Record, factor: float) -> Record:
    """Its floating-point numbers times a factor."""
    return {name: factor * value if isinstance(value, float) else value for name, value in record.items()}


def other(value: Any, number: int) -> Any:
    """A value that no row of the test holds."""
    return f"{value}~{number}" if isinstance(value, str) else value + 1000 * number


def compare(what: str, rows: Sequence[Record], expected: Sequence[Record], by: Sequence[str]) -> None:
    """Fail where the rows are not those expected."""
    assert len(rows) == len(expected), f"{what}: {len(rows)} rows, {len(expected)} expected"
    found = {tuple(row[name] for name in by): row for row in rows}
    for record in expected:
        mark = tuple(record[name] for name in by)
        assert mark in found, f"{what}: no row {mark} among {list(found)}"
        row = found[mark]
        wrong = {name: (row[name], value) for name, value in record.items() if not is_same(row[name], value)}
        assert not wrong, f"{what} {mark} (found, expected): {wrong}"
