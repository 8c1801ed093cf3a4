"""What would help a model on a part."""

from __future__ import annotations

from typing import Annotated

from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..axes import names, sizes
from ..core import PREFERRED_PRECISIONS, Core, Question
from ..parameters import (
    Backends,
    Batches,
    Model,
    Part,
    Powers,
    Precisions,
    Sequences,
    Text,
    Top,
)
from ..question import DEFAULT_BATCHES

_HELPED = (
    "model", "hardware", "backend", "precision", "batch", "kind", "change", "sample_s", "saved_s", "saved_time_fraction",
    "saved_j", "saved_energy_fraction", "saved_memory_byte", "saved_million_usd", "trade",
)  # fmt: skip


class Opportunities(Core):
    """What would help a model on a part."""

    @answer()
    def opportunities(
        self,
        model: Model,
        *,
        on: Part,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        power: Powers = None,
        parts: Annotated[bool, Text("Other parts as well.")] = False,
        top: Top = 15,
    ) -> Rows:
        """List changes with what each saves and its trade, from the smallest batch and the first precision named that the
        part computes in."""
        part = self.part_name(on)
        batches, precisions = sizes(batch) or DEFAULT_BATCHES, names(precision) or PREFERRED_PRECISIONS
        question = Question(
            [model],
            [] if parts else [part],
            batches,
            sizes(sequence),
            names(precision),
            names(backend),
            names(power),
            every_backend=True,
            is_first=False,
        )
        scoped = self.asked(question, "opportunity")
        query = "SELECT min_by(precision, list_position(?, precision)) FROM part_support WHERE hardware = ?"
        asked_precision = scoped.value(query, [list(precisions), part])
        if asked_precision is None:
            where, next = f"{model} on {part}", "name another --precision or --backend"
            raise CharzError("this part does not run this model so", where, next=next)
        start = "WHERE hardware = ? AND batch = ? AND precision = ?"
        order = f"{start} ORDER BY saved_time_fraction DESC NULLS LAST, kind, change, backend LIMIT {top}"
        found = scoped.rows("opportunity", _HELPED, order, [part, batches[0], asked_precision])
        if not found.fetch():
            self.messages.warn(
                f"nothing known would help {model} on {part}; widen --batch, --precision, --backend or add --parts"
            )
        return found
