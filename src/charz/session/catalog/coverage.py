"""The command that lists how the operators of models were sized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ..answer import Rows, answer
from ..axes import names
from ..parameters import AnyModels
from .models import Models

if TYPE_CHECKING:
    from ..scoped import Scoped

_COVERAGE = (
    "model", "operator_count", "view_count", "sized_count", "unsized_count", "bounded_count", "is_batch_symbolic",
    "is_sequence_symbolic", "specialized_reason",
)  # fmt: skip

_UNSIZED = ("aten_operator", "operator_count", "model_count", "first_model")


class Coverage(Models):
    """Coverage of models by operator rules."""

    @answer("model", "operator")
    def coverage(self, models: AnyModels = None, *, section: Literal["model", "operator"] = "model") -> Rows:
        """Count each model's operators by how they were sized; section `operator` lists every operator without a rule.

        Exit code 1 if an operator has no rule: its work is unknown, so every sum over its model is too small.
        """
        chosen = [self.model_name(name) for name in names(models)] or self._names("model")
        scoped = self.whole()
        rows = scoped.rows("ingest_coverage", _COVERAGE, "WHERE list_contains(?, model) ORDER BY model", [chosen])
        found = self._some(rows.fetch())
        if section == "operator":
            listed = _unsized(scoped, chosen)
            return Rows(_UNSIZED, listed, is_failure=bool(listed))
        is_failure = any(row[_COVERAGE.index("unsized_count")] for row in found)
        if found and not is_failure:
            self.messages.remark(f"every operator of {len(found)} models has a rule")
        return Rows(_COVERAGE, found, rows.views, is_failure)


def _unsized(scoped: Scoped, models: Sequence[str]) -> list[tuple[str, int, int, str]]:
    """Return ATen operators without a rule, with their number of operators and of models, and the first model."""
    query = "SELECT aten_operator, model FROM operator_without_rule WHERE list_contains(?, model) ORDER BY model"
    found: dict[str, list[str]] = {}
    for operator, model in scoped.execute(query, [list(models)]).fetchall():
        found.setdefault(operator, []).append(model)
    rows = [(operator, len(of), len(set(of)), of[0]) for operator, of in found.items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))
