"""The command that lists the models of a database."""

from __future__ import annotations

from typing import Any

from ..answer import Rows, answer
from ..core import Core


class Models(Core):
    """Models of a database."""

    @answer()
    def models(self) -> Rows:
        """List the ingested models with their size and their work for one sample."""
        rows = self.whole().rows("model_list", tail="ORDER BY model")
        return Rows(rows.columns, self._some(rows.fetch()), rows.views)

    def _some(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return the rows; without any, remark how to add some."""
        if not rows:
            self.messages.remark("no models yet; `charz ingest efficientnet_b0` adds one")
        return rows
