"""Maintained tables and triggers made anew."""

from __future__ import annotations

from ..answer import Rows, answer
from ..core import Core


class Refresh(Core):
    """Maintained tables and triggers made anew."""

    @answer(is_writing=True)
    def refresh(self) -> Rows:
        """Evaluate the tables that are kept equal to a view anew, and put back the triggers that keep them so.

        For a file whose triggers are gone, as after EXPORT DATABASE; `charz check` tells. Gives the rows that differed.
        """
        from charz.sql import maintain

        with self.changing(create=False) as connection:
            changed = maintain.differences(connection)
            maintain.refresh(connection)
        self.messages.remark("every maintained table is as its facts say")
        return Rows(("table", "rows"), sorted(changed.items()))
