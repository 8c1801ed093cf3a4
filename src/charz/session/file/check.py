"""Whether what must be empty in a database is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from ..answer import Rows
from ..core import Core
from ..parameters import Text
from .sample import Grid

Every = Annotated[bool, Text("Examine every model on every part under every scenario, however long it takes.")]

Done = Callable[[str], None]
"""Told what each step did."""


class Check(Core):
    """Whether what must be empty in a database is."""

    def _violations(self, grid: Grid, every: bool) -> Rows:
        """List violated invariants, maintained tables that differ from their views, and missing triggers, each with its rows."""
        texts = self._invariants()
        with self.messages.progress("doctor", self._step_count(grid, every)) as done:
            rows = [*self._maintained(grid, every, done), *self._missing()]
            counts = self._counts(grid, every, done)
        for name, count in counts.items():
            if count:
                self.messages.warn(f'{name} is broken: `charz sql "SELECT * FROM {name}"` shows the rows')
        rows += [("invariant", name, counts[name], text) for name, text in texts.items()]
        is_failure = any(row[2] for row in rows)
        if not is_failure:
            self.messages.remark(f"all {len(rows)} hold for {self._extent_of(grid, every)}")
        return Rows(("kind", "name", "rows", "must_be_empty_because"), rows, is_failure=is_failure)

    def _invariants(self) -> dict[str, str]:
        """Views that must be empty, each with why."""
        query = "SELECT view, description FROM view_catalog WHERE layer = 'invariant' ORDER BY view"
        return dict(self.connection().execute(query).fetchall())

    def _extent_of(self, grid: Grid, every: bool) -> str:
        """What was examined, in words."""
        if every or grid.is_small:
            return f"all {grid.total:,} targets"
        sample = grid.some()
        count = grid.count(sample.runs, sample.targets)
        return f"{count:,} of {grid.total:,} targets, with every model, part and scenario among them; --every takes all"

    def _step_count(self, grid: Grid, every: bool) -> int:
        from charz.sql import evaluate

        return 1 + evaluate.portion_count(self.connection(), grid.scope(every), list(self._invariants()))

    def _maintained(self, grid: Grid, every: bool, done: Done) -> list[tuple[str, str, int, str]]:
        """Maintained tables with the rows by which each differs from what its facts say."""
        from charz.sql import maintain

        query = "SELECT view FROM view_catalog WHERE kind = 'table' ORDER BY position"
        differing = maintain.differences(self.connection(), grid.scope(every).runs)
        done("maintained tables")
        text = "Its rows are what the view of its name evaluates to; `charz refresh` evaluates it anew."
        names = [name for (name,) in self.connection().execute(query).fetchall()]
        return [("maintained table", name, differing.get(name, 0), text) for name in names]

    def _missing(self) -> list[tuple[str, str, int, str]]:
        """Triggers that are missing, or one row that says none is."""
        from charz.sql import triggers

        text = "It keeps maintained tables equal to their facts; `charz refresh` puts it back."
        missing = [("trigger", name, 1, text) for name in triggers.missing(self.connection())]
        return missing or [("trigger", "all", 0, text)]

    def _counts(self, grid: Grid, every: bool, done: Done) -> dict[str, int]:
        """Rows of each invariant, with what several of them read evaluated once."""
        from charz.sql import evaluate
        from charz.sql.installed import catalog
        from charz.sql.layers import MODELS, WORKLOAD

        counts = dict.fromkeys(self._invariants(), 0)
        known = catalog(self.connection())
        of_parts, of_runs = ({r.name for r in known.of(*layers)} for layers in (MODELS, (*MODELS, WORKLOAD)))
        read = {name: known.upstream([name]) for name in counts}
        with self.cursor() as cursor:
            for number, portion in enumerate(evaluate.evaluated(cursor, grid.scope(every), counts, done)):
                for name in counts:
                    if number == 0 or read[name] & of_parts or (portion.is_first and read[name] & of_runs):
                        counts[name] += cursor.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0]
        return counts
