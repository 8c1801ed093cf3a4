"""Whether what must be empty in a database is."""

from __future__ import annotations

from ..answer import Rows, answer
from ..axes import names
from ..core import Core
from ..parameters import AnyModels, Parts


class Check(Core):
    """Whether what must be empty in a database is."""

    @answer()
    def check(self, models: AnyModels = None, *, on: Parts = None) -> Rows:
        """List what must be empty with the rows it has: invariants, rows of maintained tables that are not as their facts say,
        triggers that are missing. Exit code 1 if one has any.

        One model after the other, under every scenario of the database.
        """
        connection = self.connection()
        known = self._names("model")
        chosen = [self.model_name(name) for name in names(models)] or known
        query = "SELECT view, description FROM view_catalog WHERE layer = 'invariant' ORDER BY view"
        invariants = dict(connection.execute(query).fetchall())
        rows = [*self._maintained(), *self._missing()]
        counts, first = self._counts(chosen, names(on), list(invariants))
        for name, model in first.items():
            self.messages.warn(f'{name} is broken, first in {model}: `charz sql "SELECT * FROM {name}"` shows the rows')
        rows += [("invariant", name, counts[name], text) for name, text in invariants.items()]
        is_failure = any(row[2] for row in rows)
        if not is_failure:
            self.messages.remark(f"all {len(rows)} hold for {len(chosen)} models")
        return Rows(("kind", "name", "rows", "must_be_empty_because"), rows, is_failure=is_failure)

    def _maintained(self) -> list[tuple[str, str, int, str]]:
        """Maintained tables with the rows by which each differs from what its facts say."""
        from charz.sql import maintain

        query = "SELECT view FROM view_catalog WHERE kind = 'table' ORDER BY position"
        differing = maintain.differences(self.connection())
        text = "Its rows are what the view of its name evaluates to; `charz refresh` evaluates it anew."
        names = [name for (name,) in self.connection().execute(query).fetchall()]
        return [("maintained table", name, differing.get(name, 0), text) for name in names]

    def _missing(self) -> list[tuple[str, str, int, str]]:
        """Triggers that are missing, or one row that says none is."""
        from charz.sql import triggers

        text = "It keeps maintained tables equal to their facts; `charz refresh` puts it back."
        missing = [("trigger", name, 1, text) for name in triggers.missing(self.connection())]
        return missing or [("trigger", "all", 0, text)]

    def _counts(
        self, models: list[str], parts: list[str], invariants: list[str]
    ) -> tuple[dict[str, int], dict[str, str]]:
        """Rows of each invariant over some models, and the models among which one is broken first; what many of them read is
        evaluated once."""
        from charz.sql import evaluate
        from charz.sql.installed import catalog
        from charz.sql.layers import MODELS, WORKLOAD

        known = catalog(self.connection())
        of_parts, of_runs = ({r.name for r in known.of(*layers)} for layers in (MODELS, (*MODELS, WORKLOAD)))
        read = {name: known.upstream([name]) for name in invariants}
        scope = self.scope_of("", parts)
        rows = evaluate.scenario_rows(self.connection(), scope.scenarios or None)
        asked = evaluate.Scope(
            models=models,
            hardware=list(scope.hardware) or None,
            scenarios=rows,
            stored=[row["scenario_id"] for row in rows],
        )
        counts = dict.fromkeys(invariants, 0)
        first: dict[str, str] = {}
        with self.cursor() as cursor:
            steps = evaluate.portion_count(cursor, asked, invariants)
            with self.messages.progress("invariants", steps) as done:
                for number, portion in enumerate(evaluate.evaluated(cursor, asked, invariants, done)):
                    for name in invariants:
                        is_new = read[name] & of_parts or (portion.is_first and read[name] & of_runs) or number == 0
                        count = cursor.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0] if is_new else 0
                        counts[name] += count
                        if count:
                            first.setdefault(name, ", ".join(portion.scope.models or ()))
        return counts, first
