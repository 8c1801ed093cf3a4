"""Comparison of the fusion rules with the fusion of PyTorch's inductor, for the command `measure`."""

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
    """Comparison of fusion rules with inductor."""

    def _fused(self, models: list[str], by_pair: bool) -> Rows:
        """Let inductor fuse the operators of models for this machine's CPU, and compare the fused pairs with those of the fusion rules.

        Inductor is stopped before it generates code, so nothing is compiled or run. The rules describe inductor's fusion for a GPU. Fusion for
        a CPU differs by design in some pairs of operators, which `by_pair` lists.
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
        """Return inductor's fusion of a model, cached until the rules of the file change."""
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
    """Count the pairs of producer and consumer that only the rules or only inductor fuses, the most frequent pair first."""
    operators = found.flow.names
    counts = Counter(
        (operators[edge.producer][0], operators[edge.consumer][0], "rules" if edge.is_predicted else "inductor")
        for edge in found.edges
        if edge.is_predicted != edge.is_actual
    )
    return [(*pair, count) for pair, count in counts.most_common()]
