"""Questions in SQL: one query, in the sandbox and its limits, that leaves no temporary object."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from polars.testing import assert_frame_equal

import charz
from charz import sandbox
from charz.schema import unfinished
from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.catalog import condition

TABLE = "CREATE TEMP TABLE kernel_time AS SELECT 1 AS latency_s"
CHANGES = [
    f"EXPLAIN ANALYZE {TABLE}",
    "WITH gone AS (DELETE FROM temp.run RETURNING *) SELECT * FROM gone",
    "WITH made AS (INSERT INTO temp.run SELECT * FROM temp.run RETURNING *) SELECT * FROM made",
]


@pytest.fixture(scope="module")
def db(file: Path) -> Iterator[Session]:
    with charz.open(file) as session:
        yield session


@pytest.fixture(scope="module")
def scoped(db: Session) -> Session:
    return db.scope(models="small", hardware="t4")


@pytest.mark.parametrize("query", CHANGES)
def test_what_a_query_changes_no_later_answer_reads(scoped: Session, query: str) -> None:
    asked = "SELECT scenario_id, SUM(latency_s) AS latency_s FROM kernel_latency GROUP BY 1 ORDER BY 1"
    before = scoped.sql(asked)
    assert len(before) > 1
    scoped.sql(query)
    assert_frame_equal(scoped.sql(asked), before, rel_tol=1e-12)


@pytest.mark.default
@pytest.mark.parametrize("query", [TABLE, "SET VARIABLE a = 1", "CREATE TEMP MACRO mod(a, b) AS 1", "SET threads = 1"])
def test_a_statement_without_rows_is_refused_before_it_runs(db: Session, query: str) -> None:
    before = db.report("small", on="t4")
    with pytest.raises(CharzError, match="returns no rows"):
        db.sql(query)
    assert db.report("small", on="t4").equals(before)


@pytest.mark.parametrize("query", [TABLE, *CHANGES])
def test_a_lazy_answer_changes_nothing(scoped: Session, query: str) -> None:
    before = scoped.sql("SELECT count(*) AS runs FROM run")
    with pytest.raises(CharzError):
        scoped.lazy(query)
    assert scoped.sql("SELECT count(*) AS runs FROM run").equals(before)
    assert scoped.lazy("SELECT 3 AS a").collect()["a"].to_list() == [3]


@pytest.mark.parametrize("is_guarded", [False, True])
@pytest.mark.parametrize(
    ("query", "said"),
    [
        (TABLE, "not a query"),
        ("SET threads = 100000; SELECT 1", "not exactly one statement"),
        ("EXPLAIN ANALYZE SELECT 1", "not a query"),
        ("COPY hardware TO 'rows.csv'", "not a query"),
        ("PRAGMA threads = 1", "not a query"),
    ],
)
def test_only_one_query_is_described(file: Path, query: str, said: str, is_guarded: bool) -> None:
    with charz.open(file, is_guarded=is_guarded) as db, pytest.raises(CharzError, match=said):
        db.schema(query)


@pytest.mark.parametrize("is_guarded", [False, True])
def test_a_query_is_described_without_being_run(file: Path, is_guarded: bool) -> None:
    query = "SELECT latency_s, count(*) OVER () AS n FROM model_report, range(1000000000000) -- long;"
    with charz.open(file, is_guarded=is_guarded) as db:
        found = db.schema(query)
    assert found["column"].to_list() == ["latency_s", "n"] and found["unit"].to_list() == ["s", None]
    assert found["type"].to_list() == ["DOUBLE", "BIGINT"] and found["meaning"][0] and found["meaning"][1] is None


def test_a_condition_of_somebody_is_asked_in_the_sandbox(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = "x.batch < (SELECT count(*) FROM range(10000000) AS a(i), range(10000000) AS b(j) WHERE i * j = 7)"
    large = "x.batch = (SELECT count(*) FROM (SELECT DISTINCT md5(i::VARCHAR) FROM range(100000000) AS a(i)))"
    with charz.open(file) as db:
        for text, limits, said in (
            (endless, sandbox.Limits(timeout_s=1), "longer than 1 s"),
            (large, sandbox.Limits(memory_byte=sandbox.LEAST_MEMORY_BYTE, spill_byte=10**6), "memory|disk"),
        ):
            monkeypatch.setattr(condition, "LIMITS", limits)
            for ask in (db.validate, lambda where: db.calibrate("hardware:t4", where=where, write=False)):
                with pytest.raises(CharzError, match=said):
                    ask(where=text)


def test_what_memory_does_not_hold_goes_to_disk_and_is_gone_afterwards(few_parts: Path, tmp_path: Path) -> None:
    many = "SELECT count(*) FROM (SELECT DISTINCT md5(i::VARCHAR) FROM range(3000000) AS a(i))"
    with charz.open(shutil.copy(few_parts, tmp_path), is_guarded=True) as db:
        connection = db.connection()
        connection.execute("SET memory_limit = '60MB'; SET threads = 1")
        assert connection.execute(many).fetchall() == [(3_000_000,)]
        assert unfinished.spill().exists()
        with pytest.raises(duckdb.Error, match="disabled|permission"):
            connection.execute("SELECT content FROM read_text('/etc/hostname')")
    assert not unfinished.spill().exists()
    assert unfinished.spill.__wrapped__() != unfinished.spill.__wrapped__()  # nobody can make the folder first


@pytest.mark.default
def test_a_limit_below_the_lowest_setting_of_a_board_is_refused_with_that(file: Path) -> None:
    """A T4 takes 60 W and more."""
    with charz.open(file) as db:
        with pytest.raises(CharzError, match="lowest setting of the board: 50w. The lowest: t4 at 60w"):
            db.report("small", on="t4", cap="50w")
        assert len(db.report("small", on="t4", cap="65w")) > 0
