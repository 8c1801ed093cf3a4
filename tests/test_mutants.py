"""Mutants of a relation's SQL (`benchmarks/mutate.py`)."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pytest

from charz.sql import views

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import mutants

TEXT = """-- What it says: 2 * 3.
CREATE VIEW sample AS
SELECT
    -- Twice. [s]
    2e0 * SUM(a.x) / NULLIF(MAX(b.y), 0e0) AS twice_s,
    CASE WHEN a.kind = 'one' AND a.z < 1 THEN a.x ELSE 0e0 END AS chosen,
    COUNT(*) OVER (PARTITION BY a.k, a.l) AS counted,
    COALESCE(a.x, 5) AS known
FROM a
LEFT JOIN b ON b.k = a.k AND b.l = a.l
WHERE a.z IS NOT NULL AND NOT a.is_old
"""


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("constant", "2e0", "4e0"), ("constant", "2e0", "2000e0"), ("constant", "2e0", "(-2e0)"), ("sign", "*", "/"),
        ("function", "SUM", "MAX"), ("function", "MAX", "MIN"), ("text", "'one'", "'one~'"), ("comparison", "<", "<="),
        ("comparison", "=", "<>"), ("condition", "a.z < 1", "TRUE"), ("join key", "b.l = a.l", "TRUE"),
        ("filter", "NOT a.is_old", "TRUE"), ("partition", "a.k,", ""), ("partition", ", a.l", ""), ("default", ", 5", ""),
        ("join", "LEFT", "INNER"), ("aggregate", "COUNT(*)", "SUM(2)"), ("logic", "NOT", ""), ("constant", "0e0", "1e0"),
        ("ratio", "SUM(a.x) / NULLIF(MAX(b.y), 0e0)", "(MAX(b.y)) / NULLIF(SUM(a.x), 0e0)"),
        ("swap", "a.x ELSE 0e0", "0e0 ELSE a.x"),
        ("arm", "CASE WHEN a.kind = 'one' AND a.z < 1 THEN a.x ELSE 0e0 END", "(0e0)"),
    ],
)  # fmt: skip
def test_one_change(kind: str, old: str, new: str) -> None:
    """A mutant changes one token or clause; comments and the guard of a division stay."""
    found = [m for m in mutants.of(TEXT) if (m.kind, m.old, m.new) == (kind, old, new)]
    assert len(found) == 1
    changed = found[0].applied(TEXT)
    assert changed != TEXT and changed.startswith("-- What it says: 2 * 3.") and ", 0e0)" in changed


def test_mutants_are_told_apart_until_the_statement_changes() -> None:
    """The text identifies a mutant, not its position: a new comment changes nothing, a new token makes another statement."""
    before = {m.key for m in mutants.of(TEXT)}
    assert len(before) == len(mutants.of(TEXT))
    assert {m.key for m in mutants.of(TEXT.replace("-- Twice.", "-- Twice as long.\n    -- Or not."))} == before
    assert not {m.key for m in mutants.of(TEXT.replace("2e0 *", "3e0 *"))} & before


@pytest.mark.parametrize("name", ["kernel_edp", "opportunity", "roofline_roof", "kernel_time"])
def test_every_mutant_parses(name: str) -> None:
    """A change that no engine can read would be useless."""
    (path,) = views.ROOT.glob(f"*/{name}.sql")
    text = path.read_text()
    made = mutants.of(text)
    assert len(made) > 40
    for mutant in made:
        assert len(duckdb.extract_statements(mutant.applied(text))) == 1
