"""Check of a database's invariants, for the command `doctor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from ..answer import Rows
from ..core import Core
from ..parameters import Text
from .sample import Grid

Every = Annotated[bool, Text("Check every model on every part under every scenario, which can take long.")]

Done = Callable[[str], None]
"""Function that is called with the result of each step."""


class Check(Core):
    """Invariants of a database."""

    def _violations(self, grid: Grid, every: bool) -> Rows:
        """List invariants, maintained tables and triggers, with the number of rows that violate, differ or are missing."""
        texts = self._invariants()
        with self.messages.progress("doctor", self._step_count(grid, every)) as done:
            rows = [*self._maintained(grid, every, done), *self._missing()]
            counts = self._counts(grid, every, done)
        for name, count in counts.items():
            if count:
                self.messages.warn(f'{name} is violated: `charz sql "SELECT * FROM {name}"` shows the rows')
        rows += [("invariant", name, counts[name], text) for name, text in texts.items()]
        is_failure = any(row[2] for row in rows)
        if not is_failure:
            self.messages.remark(f"all {len(rows)} checks pass on {self._extent_of(grid, every)}")
        return Rows(("kind", "name", "rows", "must_be_empty_because"), rows, is_failure=is_failure)

    def _invariants(self) -> dict[str, str]:
        """Map each invariant view to the reason why it must be empty."""
        query = "SELECT view, description FROM view_catalog WHERE layer = 'invariant' ORDER BY view"
        return dict(self.connection().execute(query).fetchall())

    def _extent_of(self, grid: Grid, every: bool) -> str:
        """Describe the checked targets."""
        if every or grid.is_small:
            return f"all {grid.total:,} targets"
        sample = grid.some()
        count = grid.count(sample.runs, sample.targets)
        return f"{count:,} of {grid.total:,} targets, which include every model, part and scenario; --every checks all"

    def _step_count(self, grid: Grid, every: bool) -> int:
        from charz.sql import evaluate

        return 1 + evaluate.portion_count(self.connection(), grid.scope(every), list(self._invariants()))

    def _maintained(self, grid: Grid, every: bool, done: Done) -> list[tuple[str, str, int, str]]:
        """List each maintained table with the number of rows that differ from a new evaluation."""
        from charz.sql import maintain

        query = "SELECT view FROM view_catalog WHERE kind = 'table' ORDER BY position"
        differing = maintain.differences(self.connection(), grid.scope(every).runs)
        done("maintained tables")
        text = "The rows equal those of the view of the same name; `charz doctor --repair` evaluates the table again."
        names = [name for (name,) in self.connection().execute(query).fetchall()]
        return [("maintained table", name, differing.get(name, 0), text) for name in names]

    def _missing(self) -> list[tuple[str, str, int, str]]:
        """List missing triggers, or one row if all are present."""
        from charz.sql import triggers

        text = "The trigger updates maintained tables after a change of facts; `charz refresh` restores it."
        missing = [("trigger", name, 1, text) for name in triggers.missing(self.connection())]
        return missing or [("trigger", "all", 0, text)]

    def _counts(self, grid: Grid, every: bool, done: Done) -> dict[str, int]:
        """Count the rows of each invariant view. Relations that several invariants read are evaluated once."""
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
