"""Maintained tables and triggers made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..answer import Rows, answer
from ..core import Core

if TYPE_CHECKING:
    import duckdb


class Refresh(Core):
    """Maintained tables, triggers and answers made anew."""

    @answer(is_writing=True)
    def refresh(self) -> Rows:
        """Evaluate the tables that are kept equal to a view anew, put back the triggers that keep them so, and fill the answers
        at hand that are missing.

        For a file in which facts were changed (`answer_state` counts what is missing) or whose triggers are gone, as after EXPORT
        DATABASE; `charz check` tells. Gives the rows that differed and the answers that were filled.
        """
        with self.changing(create=False, fills=False) as connection:
            changed, filled = self._refreshed(connection)
        self.messages.remark("every maintained table is as its facts say, and every answer at hand")
        return Rows(("table", "rows"), [*sorted(changed.items()), *([("answer.stored", filled)] if filled else [])])

    def _refreshed(self, connection: duckdb.DuckDBPyConnection) -> tuple[dict[str, int], int]:
        """Make what follows from facts anew; gives the rows by which each maintained table differed, and the answers filled."""
        from charz.sql import answers, maintain

        changed = maintain.refresh(connection)
        lacking = answers.missing(connection)
        with self.messages.progress("answers", answers.portion_count(connection, lacking)) as done:
            return changed, answers.fill(connection, lacking, done)
