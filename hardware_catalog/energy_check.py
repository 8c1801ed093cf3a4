"""Check of memory energies by rule against documented ones of the same technology and scope."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from charz.schema.catalog.energy import EnergyFact, SiliconRule
from charz.schema.row import Row

MOST_FACTOR = 1.5
"""Largest accepted ratio of a rule's energy and a stated one; assumed: documents on one technology differ by as much."""

_QUANTITY, _PJ = "dram_pj_per_byte", 1e-12


@dataclass(frozen=True, slots=True)
class Off:
    """A rule and a stated energy that differ by more than the accepted ratio."""

    rule: str
    rule_j_per_byte: float
    fact: str
    fact_j_per_byte: float
    scope: str

    @property
    def line(self) -> str:
        """Both energies and their ratio, as a sentence."""
        stated, by_rule = self.fact_j_per_byte / _PJ, self.rule_j_per_byte / _PJ
        factor = max(stated / by_rule, by_rule / stated)
        return (
            f"silicon_rule {self.rule}: {by_rule:.4g} pJ/byte, where energy_fact {self.fact} states {stated:.4g} at the same"
            f" scope, {self.scope}: {factor:.2g} times apart"
        )


def off(tables: dict[type[Row], list[Row]], most_factor: float = MOST_FACTOR) -> list[Off]:
    """Find rules that differ by more than a factor from an energy stated for their technology at their scope. A rule's scope is that of
    the first fact that its reason cites; a rule that cites none is skipped."""
    facts = {row.energy_fact_id: row for row in tables.get(EnergyFact, []) if isinstance(row, EnergyFact)}
    rules = [r for r in tables.get(SiliconRule, []) if isinstance(r, SiliconRule) and r.quantity == _QUANTITY]
    return [found for rule in rules for found in _off(rule, facts, most_factor)]


def _off(rule: SiliconRule, facts: dict[str, EnergyFact], most_factor: float) -> Iterator[Off]:
    cited = [name for name in re.findall(r"\be\d{3}\b", rule.reason) if name in facts]
    if not cited:
        return
    scope, by_rule = facts[cited[0]].scope, rule.value * _PJ
    for name, fact in facts.items():
        stated = j_per_byte(fact)
        if stated is None or fact.scope != scope or not _is_of_memory(fact, rule.row_key):
            continue
        if max(stated / by_rule, by_rule / stated) > most_factor:
            yield Off(rule.silicon_rule, by_rule, name, stated, scope)


def _is_of_memory(fact: EnergyFact, technology: str) -> bool:
    """Return whether a fact is about main memory of the technology, not about caches of a part that has it."""
    words = fact.what.lower()
    return fact.technology == technology and any(word in words for word in ("dram", "path", technology.lower()))


def j_per_byte(fact: EnergyFact) -> float | None:
    """Return a stated energy per byte; None if it is not stated per bits or bytes. [J/byte]"""
    match = re.fullmatch(r"(?:(\d+)-)?(bit|byte)(?: access)?", fact.per)
    if match is None:
        return None
    return fact.energy_j / (int(match[1] or 1) * (0.125 if match[2] == "bit" else 1.0))
