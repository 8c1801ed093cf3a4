"""Rows that a trigger refuses when a client inserts or updates them: scenarios that no run can have, and scenarios that exist already."""

from __future__ import annotations

from charz.schema import ddl
from charz.schema.conditions import CACHE_STATES, MEMORY_FORMATS, PHASES
from charz.schema.scenario import Scenario

CONDITIONS = tuple(name for name in Scenario.model_fields if name not in ("scenario_id", "origin"))
"""Columns in which two scenarios differ."""

_COUNTS = ("batch", "sequence", "context", "device_count")
_WORDS = {"phase": PHASES, "memory_format": MEMORY_FORMATS, "cache_state": CACHE_STATES}
_NAMES = {
    "precision": ("precision_policy", "policy"),
    "backend": ("backend", "backend"),
    "engine_version": ("engine_version", "engine_version"),
    "kv_precision": ("precision", "precision"),
}
"""Columns with the name of a row of a fact, each with the fact and its column."""


def scenarios(new: str) -> str:
    """Write the query that raises an error for the first refused row of `new`, the table of inserted or changed scenarios, and returns no row otherwise."""
    cases = [f"WHEN {name} < 1 THEN CONCAT('{name} ', {name}, ' is not possible: write 1 or more')" for name in _COUNTS]
    for name, words in _WORDS.items():
        listed, hint = ", ".join(map(ddl.literal, words)), ddl.literal(f": write one of {', '.join(words)}")
        cases.append(f"WHEN {name} NOT IN ({listed}) THEN CONCAT('unknown {name} ', {name}, {hint})")
    for name, (fact, column) in _NAMES.items():
        known = f"SELECT {column} FROM main.{fact}"
        cases.append(f"WHEN {name} NOT IN ({known}) THEN CONCAT('unknown {name} ', {name}, ': SELECT {column} FROM {fact} lists them')")
    faults = f"SELECT CASE {' '.join(cases)} END AS fault FROM {new}"
    same = ", ".join(CONDITIONS)
    repeated = (
        f"SELECT CONCAT('the scenario exists already, as scenario_id ', MIN(scenario_id)) AS fault FROM main.scenario GROUP BY {same}"
        f" HAVING COUNT(*) > 1 AND BOOL_OR(scenario_id IN (SELECT scenario_id FROM {new}))"
    )
    found = f"SELECT MIN(fault) AS fault FROM ({faults} UNION ALL {repeated})"
    return f"SELECT CAST(error(CONCAT('scenario: ', fault)) AS BOOLEAN) FROM ({found}) WHERE fault IS NOT NULL"
