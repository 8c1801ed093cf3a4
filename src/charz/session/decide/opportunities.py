"""What would help a model on a part."""

from __future__ import annotations

from typing import Annotated

from ..answer import Rows, answer, of_query
from ..core import Core, Question
from ..parameters import Backend, Batch, Cap, Model, Part, Precision, Sequence_, Text, Top
from ..question import DEFAULT_BATCHES, single

_START = ("hardware", "backend", "precision", "batch")
"""What tells the condition that is asked about from those that it is held against."""

_IS_START = " AND ".join(f"{name} = ?" for name in _START)

_BEST = "PARTITION BY kind ORDER BY saved_time_fraction DESC NULLS LAST, saved_energy_fraction DESC NULLS LAST, change"

_HELPED = (
    "model", "hardware", "backend", "precision", "batch", "kind",
    """CASE kind WHEN 'part' THEN hardware WHEN 'batch' THEN CONCAT('batch ', batch) WHEN 'precision' THEN precision
        WHEN 'backend' THEN backend ELSE 'default' END AS instead_of""",
    "change", "sample_s", "saved_s", "saved_time_fraction", "saved_j", "saved_energy_fraction", "saved_memory_byte",
    "saved_million_usd", "trade",
)  # fmt: skip


class Opportunities(Core):
    """What would help a model on a part."""

    @answer()
    def opportunities(
        self,
        model: Model,
        *,
        on: Part,
        batch: Batch = None,
        sequence: Sequence_ = None,
        precision: Precision = None,
        backend: Backend = None,
        cap: Cap = None,
        parts: Annotated[bool, Text("Other parts as well.")] = False,
        top: Top = 15,
    ) -> Rows:
        """List what to change of the condition that is asked about, from what to what, with what each saves and its trade: the best
        of every kind of change first, then the next best of every kind."""
        _, start = self.target(single(model, on, batch, sequence, precision, backend, cap=cap), "model_report")
        question = Question(
            [model],
            [] if parts else [start["hardware"]],
            sorted({start["batch"], *DEFAULT_BATCHES}),
            [sequence] if sequence else [],
            caps=[cap] if cap else [],
            every_backend=True,
            is_first=False,
        )
        scoped = self.asked(question, "opportunity")
        keys = [start[name] for name in _START]
        ranked = f"(SELECT *, ROW_NUMBER() OVER ({_BEST}) AS place FROM opportunity WHERE {_IS_START}) AS ranked"
        query = f"SELECT {', '.join(_HELPED)} FROM {ranked} ORDER BY place, saved_time_fraction DESC NULLS LAST, kind"
        found = of_query(scoped.sql(query, keys), "opportunity")
        if not found.fetch():
            self.messages.warn(
                f"nothing known would help {model} on {start['hardware']}; --parts asks about other parts too"
            )
        return self.cut(found, top, "changes")
