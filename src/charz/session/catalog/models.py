"""The models of a database."""

from __future__ import annotations

from typing import Literal

from ..answer import Rows, answer
from ..axes import names
from ..core import Core
from ..parameters import AnyModels
from ..scoped import Scoped

_COVERAGE = (
    "model", "operator_count", "view_count", "sized_count", "unsized_count", "bounded_count", "is_batch_symbolic",
    "is_sequence_symbolic", "specialized_reason",
)  # fmt: skip

_UNSIZED = ("aten_operator", "operator_count", "model_count", "first_model")

_OF = "WHERE list_contains(?, model) ORDER BY model"


class Models(Core):
    """The models of a database."""

    @answer("models", alone=("coverage", "unsized"))
    def models(
        self, models: AnyModels = None, *, section: Literal["models", "coverage", "unsized"] = "models"
    ) -> Rows:
        """List the ingested models with their size and work for one sample.

        `--coverage` lists each model's operators by how they were sized, `--unsized` every operator without a rule. Both end with exit
        code 1 when there is one: its work is unknown, and every sum over that model too small.
        """
        chosen = [self.model_name(name) for name in names(models)] or self._names("model")
        if not chosen:
            self.messages.remark("no models yet; `charz ingest efficientnet_b0` adds one")
        scoped = self.whole()
        if section == "models":
            return scoped.rows("model_list", (), _OF, [chosen])
        listed = _unsized(scoped, chosen)
        if chosen and not listed:
            self.messages.remark(f"every operator of {len(chosen)} models has a rule")
        if section == "unsized":
            return Rows(_UNSIZED, listed, is_failure=bool(listed))
        rows = scoped.rows("ingest_coverage", _COVERAGE, _OF, [chosen])
        return Rows(rows.columns, rows.fetch(), rows.views, bool(listed))


def _unsized(scoped: Scoped, models: list[str]) -> list[tuple[str, int, int, str]]:
    """ATen operators without a rule: how many operators they are, of how many models, and the first of these."""
    query = "SELECT aten_operator, model FROM operator_without_rule WHERE list_contains(?, model) ORDER BY model"
    found: dict[str, list[str]] = {}
    for operator, model in scoped.execute(query, [models]).fetchall():
        found.setdefault(operator, []).append(model)
    rows = [(operator, len(of), len(set(of)), of[0]) for operator, of in found.items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))
