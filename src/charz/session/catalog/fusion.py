"""How the fusion of models compares with inductor's."""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..answer import Rows
from ..core import Core

if TYPE_CHECKING:
    from charz.ingest.inductor import Examination
    from charz.ingest.sources.spec import Spec


class Fusion(Core):
    """How the fusion of models compares with inductor's."""

    def _fused(self, models: list[str], by_pair: bool) -> Rows:
        """Let inductor plan the loops of models on this machine's CPU, and compare its plan with the fusion rules.

        Inductor is stopped before it writes code: nothing is compiled or run. The rules describe its plan for a GPU. A CPU's differs by
        design in the pairs of operators that `by_pair` lists.
        """
        from charz.ingest.sources.spec import parse

        examined = {name: self._examined(parse(name)) for name in models}
        if by_pair:
            rows = [(name, *row) for name, found in examined.items() for row in _differences(found)]
            return Rows(("model", "producer", "consumer", "fused_by", "pair_count"), rows)
        columns = (
            "model", "predicted_kernel_count", "pair_count", "both_count", "neither_count", "rules_only_count",
            "inductor_only_count", "agreement_fraction",
        )  # fmt: skip
        return Rows(columns, [(name, *_agreement(found)) for name, found in examined.items()])

    def _examined(self, spec: Spec) -> Examination:
        """What inductor plans for a model, asked for once as long as the rules of the file stay."""
        from charz.ingest.compile.rules import from_connection
        from charz.ingest.inductor import examine

        rules = from_connection(self.catalog())
        key = (spec, rules.fingerprint)
        if key not in self._plans:
            self._plans[key] = examine(spec, rules)
        return self._plans[key]

    @functools.cached_property
    def _plans(self) -> dict[tuple[Spec, str], Examination]:
        return {}


def _agreement(found: Examination) -> tuple[Any, ...]:
    counts = Counter((edge.is_predicted, edge.is_actual) for edge in found.edges)
    right = counts[True, True] + counts[False, False]
    return (
        found.predicted_kernels,
        len(found.edges),
        counts[True, True],
        counts[False, False],
        counts[True, False],
        counts[False, True],
        right / len(found.edges) if found.edges else None,
    )


def _differences(found: Examination) -> list[tuple[str, str, str, int]]:
    """Producer, consumer, who fuses them and how often, the most frequent first."""
    operators = found.flow.names
    counts = Counter(
        (operators[edge.producer][0], operators[edge.consumer][0], "rules" if edge.is_predicted else "inductor")
        for edge in found.edges
        if edge.is_predicted != edge.is_actual
    )
    return [(*pair, count) for pair, count in counts.most_common()]
