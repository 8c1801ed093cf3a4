"""Sample of a file's targets that includes every model, part and scenario, for checks that take too long on all targets."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from charz.schema import ddl

if TYPE_CHECKING:
    import duckdb

    from charz.sql.scopes import Scope, Triple

MOST_TARGETS = 500
"""Largest number of targets of a file that is checked without sampling."""

Run = tuple[str, int]
"""Model and id of the scenario."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Runs, and the parts, backends and precisions on which they are checked."""

    runs: Sequence[Run]
    targets: Sequence[Triple]

    @property
    def condition(self) -> str:
        """SQL condition on rows of tables of runs."""
        rows = ", ".join(f"({ddl.literal(model)}, {number})" for model, number in self.runs) or "(NULL, NULL)"
        return f"(run.model, run.scenario_id) IN ({rows})"

    @property
    def scope(self) -> Scope:
        """The scope of these targets."""
        from charz.sql.scopes import Scope

        models = list(dict.fromkeys(model for model, _ in self.runs))
        hardware = list(dict.fromkeys(part for part, *_ in self.targets))
        return Scope(models=models, hardware=hardware, targets=self.targets, runs=self.condition)


class Grid:
    """All targets of some models on some parts."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, models: Sequence[str], parts: Sequence[str]) -> None:
        self.models, self.parts = list(models), list(parts)
        query = "SELECT run.model, run.scenario_id, run.backend, run.precision FROM run WHERE list_contains(?, run.model) ORDER BY ALL"
        self.runs: dict[Run, tuple[str, str]] = {}
        for model, number, *how in connection.execute(query, [list(models)]).fetchall():
            self.runs[model, number] = (how[0], how[1])
        query = "SELECT hardware, backend, precision FROM part_support WHERE list_contains(?, hardware) ORDER BY ALL"
        self.triples: list[Triple] = connection.execute(query, [list(parts)]).fetchall()

    def count(self, runs: Sequence[Run], triples: Sequence[Triple]) -> int:
        """Count the targets of some runs on some parts."""
        able: dict[tuple[str, str], int] = defaultdict(int)
        for _, backend, precision in triples:
            able[backend, precision] += 1
        return sum(able[self.runs[run]] for run in runs)

    @property
    def total(self) -> int:
        """Number of all targets."""
        return self.count(list(self.runs), self.triples)

    @property
    def is_small(self) -> bool:
        """True if all targets are checked by default."""
        return self.total <= MOST_TARGETS

    def scope(self, every: bool) -> Scope:
        """Return the scope to check: all targets, or a sample of a large grid."""
        from charz.sql.scopes import Scope

        return Scope(models=self.models, hardware=self.parts) if every or self.is_small else self.some().scope

    def some(self) -> Sample:
        """Choose few targets that include every model, part and scenario. The scenarios are distributed over the models, at least one to each model.
        Each part takes one backend and precision that it supports, among those of the chosen runs."""
        by_model = [list(runs) for _, runs in itertools.groupby(self.runs, key=lambda run: run[0])]
        share = -(-max(map(len, by_model), default=0) // max(len(by_model), 1))
        runs = [
            of_model[(i * share + j) % len(of_model)]
            for i, of_model in enumerate(by_model)
            for j in range(min(share, len(of_model)))
        ]
        how = {self.runs[run] for run in runs}
        triples = []
        by_part = itertools.groupby((t for t in self.triples if t[1:] in how), key=lambda triple: triple[0])
        for i, (_, of_part) in enumerate(by_part):
            able = list(of_part)
            triples.append(able[i % len(able)])
        return Sample(runs, triples)
