"""The view `kernel_term`: the mechanisms of every kernel as rows, from the header of each mechanism's file.

    -- Term: dram, memory, dram_byte, dram_byte_per_s, memory_fraction, dram_s, dram_energy_j

names a term, its kind and the columns of its amount, rate, share of the rate, seconds and joules; an empty place means no such column.
So a new mechanism becomes rows here without an edit. In `engine` and `memory` the longest term counts; those of `exposed`, `overlap`,
`host`, `gap` and `power` add up; `bound` is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .documents import Document, Term, parse

_KEYS = ("model", "hardware", "backend", "precision", "batch", "sequence", "scenario_id", "kernel_id")


def document(found: Iterable[Document], root: Path) -> Document:
    """Make the view over all terms that the files name.

    >>> file = parse(
    ...     Path("4_cost/cost_dram.sql"),
    ...     '''-- Term: dram, memory, dram_byte, dram_byte_per_s, memory_fraction, dram_s, dram_energy_j
    ... CREATE VIEW cost_dram AS
    ... SELECT
    ...     dram_s
    ... FROM t''',
    ... )
    >>> [line.strip() for line in document([file], Path()).body.splitlines() if line.endswith("AS term_s,")]
    ["CASE t.term WHEN 'dram' THEN k.dram_s END AS term_s,"]
    """
    terms = [(term, source) for source in found for term in source.terms]
    return parse(root / "6_report" / "kernel_term.sql", _text(terms))


def _text(terms: list[tuple[Term, Document]]) -> str:
    keys = "".join(f"    k.{key},\n" for key in _KEYS)
    listed = "\n    UNION ALL\n    ".join(
        f"SELECT '{t.name}' AS term, '{t.kind}' AS kind, '{source.name}' AS mechanism" for t, source in terms
    )
    same = " AND ".join(
        f"e.{c} = k.{c}" for c in ("kernel_class", "operator_name", "precision_class", "layout")
    )
    return f"""-- Mechanisms that take time or energy in a kernel, one row each: amount moved or computed, rate, share of the rate
-- reached, seconds and joules. Of the terms of kind `engine` and of kind `memory` the longest counts, `exposed`,
-- `overlap`, `host`, `gap` and `power` add to it, `bound` is a lower bound. Times are at full clock; `power` is
-- the time that the power limit adds.
-- Grain: {", ".join(_KEYS)}, term
CREATE VIEW kernel_term AS
WITH named_terms AS (
    {listed}
)

SELECT
{keys}    k.kernel,
    k.operator,
    k.module,
    k.kernel_class,
    -- Short name of the mechanism.
    t.term,
    -- Kind of the term: `engine`, `memory`, `exposed`, `overlap`, `host`, `gap`, `power` or `bound`.
    t.kind,
    -- View that adds the term; its columns and their texts give the formula (`view_column`).
    t.mechanism,
    -- Amount moved or computed: bytes, accesses, or seconds at the tiles' own rate; null if not applicable.
    {_case(terms, "amount")} AS amount,
    -- Peak rate of the resource; null if it has none. [1/s]
    {_case(terms, "rate")} AS rate_per_s,
    -- Share of that rate that large kernels of the class reach; null if not applicable. The kernel itself reaches amount / (rate * time).
    {_case(terms, "fraction")} AS fraction,
    -- Time of the term. [s]
    {_case(terms, "seconds")} AS term_s,
    -- Energy of the term; null if not separated. [J]
    {_case(terms, "joules")} AS term_j,
    f.efficiency_id,
    f.scope,
    f.source_id,
    f.confidence
FROM kernel_time AS k
CROSS JOIN named_terms AS t
INNER JOIN part_backend AS b ON b.hardware = k.hardware AND b.backend = k.backend
LEFT JOIN chain_efficiency AS e
    ON e.efficiency_chain = b.efficiency_chain AND {same}
LEFT JOIN efficiency AS f
    ON f.efficiency_id = {_case(terms, "efficiency_id")}
WHERE {_case(terms, "seconds")} > 0e0
"""


def _case(terms: list[tuple[Term, Document]], field: str) -> str:
    prefix = "e" if field == "efficiency_id" else "k"
    named = [(t.name, getattr(t, field)) for t, _ in terms if getattr(t, field)]
    branches = " ".join(f"WHEN '{name}' THEN {prefix}.{column}" for name, column in named)
    return f"CASE t.term {branches} END"
