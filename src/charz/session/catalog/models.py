"""The command that lists the models of a database."""

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

_LAYER = ("model", "path", "class_name", "input_shape", "output_shape", "parameter_count", "macs", "output_byte")

_UNSIZED = ("aten_operator", "operator_count", "model_count", "first_model")

_OF = "WHERE list_contains(?, model) ORDER BY model"


class Models(Core):
    """Models of a database."""

    @answer("models", alone=("layers", "coverage", "unsized"))
    def models(
        self, models: AnyModels = None, *, section: Literal["models", "layers", "coverage", "unsized"] = "models"
    ) -> Rows:
        """List the ingested models with their size and work per sample.

        `--layers` lists the modules with the shapes of their first call, and with parameters and work, submodules included. `--coverage`
        counts each model's operators by the way their work was determined. `--unsized` lists every operator without a rule. The work of
        such an operator is unknown, so every sum over its model is too small: with `--coverage` and `--unsized`, the exit code is then 1.
        """
        chosen = [self.model_name(name) for name in names(models)] or self._names("model")
        if not chosen:
            self.messages.remark("no models yet; `charz ingest efficientnet_b0` adds one")
        scoped = self.whole()
        if section == "models":
            return scoped.rows("model_list", (), _OF, [chosen])
        if section == "layers":
            return scoped.rows("model_layer", _LAYER if len(chosen) > 1 else _LAYER[1:], f"{_OF}, module_id", [chosen])
        listed = _unsized(scoped, chosen)
        if chosen and not listed:
            self.messages.remark(f"every operator of {len(chosen)} models has a rule")
        if section == "unsized":
            return Rows(_UNSIZED, listed, is_failure=bool(listed))
        rows = scoped.rows("ingest_coverage", _COVERAGE, _OF, [chosen])
        return Rows(rows.columns, rows.fetch(), rows.views, bool(listed))


def _unsized(scoped: Scoped, models: list[str]) -> list[tuple[str, int, int, str]]:
    """Return a row for each ATen operator without a rule: its name, the number of calls, the number of models with it, and the first model."""
    query = "SELECT aten_operator, model FROM operator_without_rule WHERE list_contains(?, model) ORDER BY model"
    found: dict[str, list[str]] = {}
    for operator, model in scoped.execute(query, [models]).fetchall():
        found.setdefault(operator, []).append(model)
    rows = [(operator, len(of), len(set(of)), of[0]) for operator, of in found.items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))
