"""The oracle of killed commands accepts a file before its answers are filled, and no other partial file; the CPU time of a command that
ended before its interrupt is not counted as time after it."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from benchmarks.hostile.interrupt import stats
from benchmarks.hostile.kill import ANSWERS, Content, State, differing_keys, is_unanswered, state_of

NEW: State = {
    ("main.kernel", "mlp"): Content(3, "17", (1.5,)),
    ("main.run", "mlp"): Content(2, "18", ()),
    ("main.kernel", "old"): Content(1, "19", (1.0,)),
    (ANSWERS, "mlp"): Content(4, "20", (2.0, None)),
}
"""Contents of a file after an ingest of `mlp`."""


def without(*keys: tuple[str, str]) -> State:
    """Copy of the new state without some contents."""
    return {key: content for key, content in NEW.items() if key not in keys}


def test_a_model_without_any_of_its_answers_is_unanswered() -> None:
    assert is_unanswered(without((ANSWERS, "mlp")), NEW, "mlp")
    assert not is_unanswered(NEW, NEW, "mlp")


@pytest.mark.parametrize(
    "state",
    [
        without((ANSWERS, "mlp"), ("main.run", "mlp")),
        without((ANSWERS, "mlp")) | {("main.kernel", "mlp"): Content(2, "17", (1.5,))},
        without() | {(ANSWERS, "mlp"): Content(3, "20", (2.0, None))},
        without((ANSWERS, "mlp")) | {("main.kernel", "mlp"): Content(3, "17", (1.5001,))},
        without((ANSWERS, "mlp")) | {("main.term", "mlp"): Content(1, "1", ())},
    ],
    ids=["a table is missing", "a row is missing", "an answer is missing", "a number differs", "a row too many"],
)
def test_a_partial_model_is_not(state: State) -> None:
    assert not is_unanswered(state, NEW, "mlp")


def test_sums_may_differ_by_rounding_and_null_is_no_zero() -> None:
    near = without() | {(ANSWERS, "mlp"): Content(4, "20", (2.0 + 1e-12, None))}
    assert differing_keys(near, NEW) == []
    assert differing_keys(without() | {(ANSWERS, "mlp"): Content(4, "20", (2.0, 0.0))}, NEW) == [(ANSWERS, "mlp")]


def test_the_contents_of_a_file_are_split_by_model(tmp_path: Path) -> None:
    """Rows of `a` add up to 0.5 + 0.25 = 0.75 s; `ingest_s` and times of day do not count."""
    path = tmp_path / "file.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t (model VARCHAR, time_s DOUBLE, ingest_s DOUBLE, noted TIMESTAMP);"
            "INSERT INTO t VALUES ('a', 0.5, 1, now()::TIMESTAMP), ('a', 0.25, 2, now()::TIMESTAMP), ('b', NULL, 3, now()::TIMESTAMP);"
            "CREATE VIEW v AS FROM t"
        )
    found = state_of(path)
    assert {key: (content.count, content.sums) for key, content in found.items() if not key[0].startswith("object ")} == {
        ("main.t", "a"): (2, (0.75,)),
        ("main.t", "b"): (1, (None,)),
    }
    assert ("object view main.v", "") in found
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE t SET ingest_s = 9, noted = NULL; UPDATE t SET time_s = 0.125 WHERE model = 'b'")
    assert differing_keys(state_of(path), found) == [("main.t", "b")]
    assert math.isclose(state_of(path)["main.t", "b"].sums[0] or 0.0, 0.125)


def test_a_process_that_has_ended_keeps_its_cpu_time_until_it_is_waited_for() -> None:
    """The process takes 0.2 s; the system counts in steps of 0.01 s."""
    code = "import time\nwhile time.process_time() < 0.2: pass"
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        ((used, is_running),) = stats(process.pid).values()
    assert 0.19 <= used < 5 and not is_running
    assert stats(process.pid) == {}
