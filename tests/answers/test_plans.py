"""A question about everything scans tables: the tables that it reads are counted."""

from __future__ import annotations

import duckdb
import pytest
from whole.plans import planned

AT_HAND = {
    "fastest part for each model": (
        "SELECT model, MIN_BY(hardware, latency_s) FROM answer.model_report WHERE batch = 1 AND is_at_hand GROUP BY model",
        ["stored"],
    ),
    # Runs without an answer are found by their keys.
    "fastest part for each model, or none": (
        "SELECT model, MIN_BY(hardware, latency_s), BOOL_AND(is_at_hand) FROM answer.model_report GROUP BY model",
        ["part_support", "run", "stored", "stored"],
    ),
    "memory-bound share of each part": (
        "SELECT hardware, SUM(memory_s) / SUM(latency_s) FROM answer.model_cost GROUP BY hardware",
        ["stored"],
    ),
    "speed-up on each part": (
        "SELECT hardware, precision, MAX(speedup), MAX(assumed_count) FROM answer.precision_comparison GROUP BY ALL",
        ["assumed_input", "part_support", "stored"],
    ),
}
"""Questions to everything, each with the tables that it reads."""


@pytest.mark.parametrize("question", AT_HAND)
def test_a_question_to_everything_reads_the_rows_at_hand_once(
    connection: duckdb.DuckDBPyConnection, question: str
) -> None:
    query, tables = AT_HAND[question]
    assert sorted(planned(connection, query)) == tables
    assert len(planned(connection, query.replace("answer.", "main.").replace("is_at_hand", "TRUE"))) > 20, "the live views, beside"
