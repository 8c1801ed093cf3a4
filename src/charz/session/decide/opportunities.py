"""The command that lists changes that would save time or energy of a model on a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from charz.schema.errors import CharzError
from charz.sql.keys import TARGET as KEYS

from ..answer import Rows, answer, of_query
from ..core import Core
from ..parameters import Backend, Batch, Cap, Model, Part, Precision, Sequence_, Text, Top
from ..question import DEFAULT_BATCHES, PREFERRED_PRECISIONS, Question, single

_START = ("hardware", "backend", "precision", "batch")
"""Columns that distinguish the given condition from the alternatives."""

_IS_START = " AND ".join(f"{name} = ?" for name in _START)

LEAST_SAVING = 0.01
"""Smallest share of a sample's time or energy that is worth a change."""

_HELPED = (
    "model", "hardware", "backend", "precision", "batch", "kind",
    """CASE kind WHEN 'part' THEN hardware WHEN 'batch' THEN CONCAT('batch ', batch) WHEN 'precision' THEN precision
        WHEN 'backend' THEN backend ELSE 'default' END AS instead_of""",
    "change", "sample_s", "saved_s", "saved_time_fraction", "saved_j", "saved_energy_fraction", "saved_memory_byte",
    "saved_million_usd", "trade",
)  # fmt: skip


class Opportunities(Core):
    """Changes that would save time or energy of a model on a part."""

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
        parts: Annotated[bool, Text("Include changes to another part.")] = False,
        modules: Annotated[
            str | None, Text("Rank modules by the time saved if that module alone runs in this precision, e.g. int8.")
        ] = None,
        depth: Annotated[int, Text("Depth of the modules of --modules.", least=1, most=100)] = 1,
        top: Top = 15,
    ) -> Rows:
        """List changes to the given condition that save at least 1 % of time or energy, the largest saving of time first, each with its trade-off."""
        _, start = self.target(single(model, on, batch, sequence, precision, backend, cap=cap), "model_report")
        if modules is not None:
            return self._of_modules(start, modules, depth, sequence, cap, top)
        question = Question(
            [model],
            [] if parts else [start["hardware"]],
            sorted({start["batch"], *DEFAULT_BATCHES}),
            [sequence] if sequence else [],
            caps=[cap] if cap else [],
            every_backend=True,
            # The given precision and narrower precisions.
            preferred=tuple(dict.fromkeys([start["precision"], *PREFERRED_PRECISIONS[1:]])),
            is_strict=True,
            is_first=False,
        )
        scoped = self.asked(question, "opportunity")
        keys = [start[name] for name in _START]
        order = "saved_time_fraction DESC, saved_energy_fraction DESC NULLS LAST, kind, change"
        query = f"SELECT {', '.join(_HELPED)} FROM opportunity WHERE {_IS_START} ORDER BY {order}"
        found = of_query(scoped.sql(query, keys), "opportunity")
        places = [_HELPED.index(f"saved_{quantity}_fraction") for quantity in ("time", "energy")]
        rows = [*found.fetch(), *self._of_network(start, sequence, cap, found.columns)]
        rows.sort(key=lambda row: [-(row[place] or 0.0) for place in places])
        kept = [row for row in rows if max(row[place] or 0.0 for place in places) >= LEAST_SAVING]
        found = replace(found, source=kept)
        if less := len(rows) - len(kept):
            self.messages.remark(f"left out: {less} changes that save less than {LEAST_SAVING:.0%} of time and energy")
        if not kept:
            self.messages.warn(
                f"no known change helps {model} on {start['hardware']}; --parts includes other parts"
            )
        return self.cut(found, top, "changes")

    def _of_network(
        self, start: dict[str, Any], sequence: int | None, cap: str | None, columns: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """Return the changes of the network that the target's kernels suggest, in the columns of other changes."""
        asked = {name: start[name] for name in ("batch", "precision", "backend")}
        scoped, _ = self.target(single(start["model"], start["hardware"], sequence=sequence, cap=cap, **asked), "network_opportunity")
        return [
            tuple(
                {
                    **row,
                    "kind": "network",
                    "instead_of": f"{row['kernel_count']} {row['change']}",
                    "change": row["advice"],
                    "trade": "at most, and the network changes",
                }.get(name)
                for name in columns
            )
            for row in scoped.records("SELECT * FROM network_opportunity")
        ]

    def _of_modules(
        self, start: dict[str, Any], precision: str, depth: int, sequence: int | None, cap: str | None, top: int
    ) -> Rows:
        """Rank modules by their saving in another precision, the largest share of the run first."""
        if precision == start["precision"]:
            raise CharzError("the model is in this precision already", precision, next="name another with --modules")
        scoped = self.asked(
            Question(
                [start["model"]],
                [start["hardware"]],
                [start["batch"]],
                [sequence] if sequence else [],
                [start["precision"], precision],
                [start["backend"]],
                [cap] if cap else [],
            ),
            "module_edp",
        )
        same = ", ".join(name for name in KEYS if name not in ("precision", "scenario_id"))
        saved = ", ".join(
            f"a.{column} - b.{column} AS saved_{column.rpartition('_')[2]},"
            f" (a.{column} - b.{column}) / NULLIF(r.{column}, 0) AS saved_{quantity}_fraction"
            for column, quantity in (("latency_s", "time"), ("energy_j", "energy"))
        )
        query = f"""
            SELECT {", ".join(f"a.{name}" for name in ("model", *_START))}, a.module, a.class_name, b.precision AS change,
                a.latency_s, {saved}
            FROM (FROM module_edp WHERE depth = {depth} AND precision = ?) AS a
            JOIN (FROM module_edp WHERE depth = {depth} AND precision = ?) AS b USING ({same}, module_id)
            JOIN model_report AS r ON {" AND ".join(f"r.{key} = a.{key}" for key in KEYS)}
            ORDER BY saved_time_fraction DESC NULLS LAST, a.module
        """
        found = of_query(scoped.sql(query, [start["precision"], precision]), "module_edp")
        if not found.fetch():
            where = f"{start['model']} on {start['hardware']} under {start['backend']}, depth {depth}"
            raise CharzError("no module to compare in both precisions", where, next="take another --backend or --depth")
        self.messages.remark("each row changes one module alone; conversions of its inputs and outputs are not counted")
        return self.cut(found, top, "modules")
