"""`kernel_term`: the mechanisms of every kernel as rows, made from what each mechanism's file says of itself.

    -- Term: dram, memory, dram_byte, dram_byte_per_s, memory_fraction, dram_s, dram_energy_j

names a term, its kind and the columns that hold its amount, rate, share of the rate, seconds and joules; a place without
a column is empty. So a new mechanism is a row here without an edit. Of the terms of a kind the longest counts in
`engine` and `memory`; those of `exposed`, `overlap`, `host`, `gap` and `power` add up; `bound` is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .documents import Document, Term, parse

_KEYS = ("model", "hardware", "backend", "precision", "batch", "sequence", "scenario_id", "kernel_id")


def document(found: Iterable[Document], root: Path) -> Document:
    """The view over all terms that the files name."""
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
    return f"""-- Every mechanism that takes time or energy in a kernel, one row each: what it moves or computes, at which rate and share
-- of it, how long and how many joules. Of the terms of kind `engine` and of kind `memory` the longest counts, `exposed`,
-- `overlap`, `host`, `gap` and `power` add to it, `bound` is a lower bound: what they take is at full clock, and `power` is
-- what the limit adds.
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
    -- Mechanism, by a short name.
    t.term,
    -- What it occupies: `engine`, `memory`, `exposed`, `overlap`, `host`, `gap`, `power` or `bound`.
    t.kind,
    -- View that adds it; its columns and their texts are the formula (`view_column`).
    t.mechanism,
    -- What is moved or computed: bytes, accesses, or seconds at the tiles' own pace; null where there is no such amount.
    {_case(terms, "amount")} AS amount,
    -- Peak rate of the resource; null where it has none. [1/s]
    {_case(terms, "rate")} AS rate_per_s,
    -- Share of that rate that kernels of the class reach; null where none applies.
    {_case(terms, "fraction")} AS fraction,
    -- Time it takes. [s]
    {_case(terms, "seconds")} AS term_s,
    -- Energy it takes; null where none is told apart. [J]
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
