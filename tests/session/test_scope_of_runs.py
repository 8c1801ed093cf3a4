"""Runs and views to which a question limits a connection."""

from __future__ import annotations

from pathlib import Path

import pytest

import charz
from charz.session.question import Question
from charz.session.scoped import Scoped

PARTS = ["h100_sxm5_80", "kpu_t256"]
SIZES = [{"batch": 1, "sequence": None, "phase": "decode", "context": 16, "device_count": count} for count in (None, 2, 8)]


def asked(db: charz.Session, parts: list[str]) -> Scoped:
    return db.asked(Question(["decoder"], parts, runs=SIZES, serves=True))


def test_runs_on_more_devices_than_a_link_joins_are_left_out(file: Path) -> None:
    """Links join up to 8 H100, but no two of the KPU."""
    with charz.open(file) as db:
        query = "SELECT run.backend, LIST(device_count ORDER BY device_count) FROM run GROUP BY ALL"
        found = dict(asked(db, PARTS).execute(query).fetchall())
        assert found.pop("kpu") == [1] and list(found.values()) == [[1, 2, 8]]
        assert dict(asked(db, PARTS[1:]).execute(query).fetchall()) == {"kpu": [1]}


def test_an_answer_is_the_same_with_and_without_a_part_that_has_no_link(file: Path) -> None:
    query = "SELECT * FROM model_cost WHERE hardware = 'h100_sxm5_80' ORDER BY ALL"
    with charz.open(file) as db:
        apart, together = (asked(db, parts).records(query) for parts in (PARTS[:1], PARTS))
    times = [[row["latency_s"] for row in rows] for rows in (apart, together)]
    assert times[0] == pytest.approx(times[1], rel=1e-12) and len(times[0]) == 3


def test_views_of_new_runs_are_evaluated_once(file: Path) -> None:
    """`placed_kernel` is a view of runs that sums over parts read. The file has no run of these sizes."""
    with charz.open(file) as db:
        scoped = asked(db, PARTS)
        count = scoped.value("SELECT COUNT(*) FROM served_sum") and scoped.value("SELECT COUNT(*) FROM placed_kernel")
        kept = scoped.connection.execute("SELECT estimated_size FROM duckdb_tables() WHERE temporary AND table_name = 'placed_kernel'").fetchall()
        assert kept == [(count,)] and count > 0
