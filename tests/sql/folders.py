"""Folders of views that a test writes."""

from __future__ import annotations

from pathlib import Path

GOOD = {
    "1_hardware/rank_count.sql": """
-- Levels of confidence
-- by whether they are guesses.
-- Grain: is_guess
CREATE TABLE rank_count AS
SELECT
    is_guess,
    -- Levels of that kind,
    -- all of them.
    CAST(COUNT(*) AS BIGINT) AS level_count
FROM confidence
GROUP BY is_guess
""",
    "3_mapping/rank_total.sql": """
-- Levels in all, and a made-up size.
-- Grain: total
CREATE VIEW rank_total AS
WITH counted AS (SELECT SUM(level_count) AS total FROM rank_count)
SELECT
    -- All levels.
    CAST(total AS BIGINT) AS total,
    -- Made up. [byte]
    CAST(total AS DOUBLE) * 2e0 AS size_byte
FROM counted
""",
    "6_report/rank_report.sql": """
-- The same, reported.
-- Grain: total
CREATE VIEW rank_report AS
SELECT
    r.*,
    r.size_byte AS same_byte,
    -- Half of it. [byte]
    r.size_byte / 2e0 AS half_byte
FROM rank_total AS r
""",
}
"""A maintained table, a model over it and a report."""


def folder(root: Path, files: dict[str, str]) -> Path:
    """Write the files under a folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip())
    return root


def with_body(body: str, name: str = "v", kind: str = "VIEW") -> str:
    """Write a file whose statement is the body."""
    return f"-- What it says.\n-- Grain: a\nCREATE {kind} {name} AS\n{body}\n"


def item(expression: str, source: str = "confidence") -> str:
    """Write a body of one documented item `a`."""
    return f"SELECT\n    -- What.\n    {expression}\nFROM {source}"
