"""Whether what must be empty in a database is."""

from __future__ import annotations

from ..answer import Rows, answer
from ..axes import names
from ..core import Core
from ..parameters import AnyModels, Parts

_SHARED = "5_rollup"
"""Layer whose views many invariants read."""


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
        counts = dict.fromkeys(invariants, 0)
        first: dict[str, str] = {}
        with self.messages.progress("check", len(chosen)) as done:
            for model in chosen:
                for name, count in self._counts(model, names(on), list(invariants)).items():
                    counts[name] += count
                    if count:
                        first.setdefault(name, model)
                done(model)
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

    def _counts(self, model: str, parts: list[str], invariants: list[str]) -> dict[str, int]:
        """Rows of each invariant for one model, with what many of them read evaluated once."""
        with self.child(self.scope_of(model, parts)) as one:
            scoped = one.whole()
            query = f"SELECT view FROM view_catalog WHERE layer = '{_SHARED}' AND kind = 'view' ORDER BY position"
            for (view,) in scoped.connection.execute(query).fetchall():
                scoped.keep(view)
            return {name: int(scoped.value(f"SELECT count(*) FROM {name}")) for name in invariants}
