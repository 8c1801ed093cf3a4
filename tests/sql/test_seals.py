"""Only answers at hand that this user's charz computed have a valid seal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from charz.schema import cache, database
from charz.schema.row import ModelRow
from charz.schema.workload import Model
from charz.sql import seals


@pytest.fixture(autouse=True)
def _key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


FACTS = "CREATE TABLE model (model VARCHAR); INSERT INTO model VALUES ('a'), ('b'); CREATE TABLE term (model VARCHAR, coefficient DOUBLE)"


@pytest.fixture
def answers() -> Iterator[duckdb.DuckDBPyConnection]:
    """File with two sealed answers."""
    with duckdb.connect() as connection:
        connection.execute(
            f"{FACTS}; INSERT INTO term VALUES ('a', 8), ('a', 4), ('b', 2); CREATE SCHEMA answer;"
            "CREATE TABLE answer.stored (model VARCHAR, latency_s DOUBLE, power_w DOUBLE, seal UBIGINT);"
            "INSERT INTO answer.stored (model, latency_s, power_w) VALUES ('a', 0.5, 70), ('b', 0.25, NULL)"
        )
        assert seals.unsealed(connection) == 2
        seals.settle(connection)
        assert seals.unsealed(connection) == 0
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE answer.stored SET latency_s = 0.125 WHERE model = 'a'",
        "UPDATE answer.stored SET model = 'c' WHERE model = 'a'",
        "UPDATE answer.stored SET power_w = latency_s, latency_s = power_w WHERE model = 'a'",
        "UPDATE answer.stored SET seal = NULL WHERE model = 'a'",
        "UPDATE answer.stored SET seal = 0 WHERE model = 'a'",
        "UPDATE answer.stored SET seal = (SELECT seal FROM answer.stored WHERE model = 'b') WHERE model = 'a'",
        "INSERT INTO answer.stored SELECT 'c', latency_s, power_w, seal FROM answer.stored WHERE model = 'a'",
        "INSERT INTO answer.stored SELECT 'c', 1, 1, md5_number_lower(CAST(HASH('c', 1, 1) AS VARCHAR))",
        "UPDATE answer.stored SET latency_s = -6.203949019232658e-282, power_w = 2.117752262972241e-298 WHERE model = 'a'",
    ],
)
def test_an_answer_that_another_client_wrote_is_counted_and_deleted(
    statement: str, answers: duckdb.DuckDBPyConnection
) -> None:
    """The last pair of numbers and (0.5, 70) have hashes that differ by 2**63 + 2**31 and by 2**63: `HASH(secret, a, b)` is equal for
    every secret."""
    answers.execute(statement)
    assert seals.unsealed(answers) == 1
    seals.settle(answers)
    assert seals.unsealed(answers) == (0 if "NULL" in statement else 1)  # only what is new is sealed
    answers.execute(statement)
    seals.forget(answers)
    assert seals.unsealed(answers) == 0


def test_deleted_answers_leave_the_others_valid(answers: duckdb.DuckDBPyConnection) -> None:
    answers.execute("DELETE FROM answer.stored WHERE model = 'a'")
    assert seals.forget(answers) == []
    assert answers.execute("SELECT model FROM answer.stored").fetchall() == [("b",)]


def test_another_user_has_other_seals(answers: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    assert seals.unsealed(answers) == 2


def test_macros_of_the_file_do_not_make_seals_valid(answers: duckdb.DuckDBPyConnection) -> None:
    answers.execute("UPDATE answer.stored SET latency_s = 9 WHERE model = 'a'")
    for macro in ("md5_number_lower(a) AS 7", "count(a) AS 0", "concat(a, b) AS 'x'", "hash(a) AS 1"):
        answers.execute(f"CREATE MACRO main.{macro}")
    assert seals.unsealed(answers) == 1


def test_without_a_secret_nothing_is_sealed(answers: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert cache.secret("answer") == ""
    assert seals.unsealed(answers) == 0
    seals.forget(answers)
    assert answers.execute("SELECT count(*) FROM answer.stored").fetchall() == [(2,)]


def test_a_file_without_answers_or_seals_is_left_alone() -> None:
    with duckdb.connect() as connection:
        for statement in ("SELECT 1", "CREATE SCHEMA answer", "CREATE TABLE answer.stored (model VARCHAR)"):
            connection.execute(statement)
            seals.settle(connection)
            seals.forget(connection)
            assert seals.unsealed(connection) == 0


def test_secrets_differ_by_purpose_and_stay() -> None:
    assert cache.secret("answer") == cache.secret("answer") != cache.secret("rows")
    assert len(cache.secret("rows")) == 64


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE term SET coefficient = 1 WHERE coefficient = 4",
        "DELETE FROM term WHERE coefficient = 4",
        "INSERT INTO term VALUES ('a', 4)",
        "UPDATE term SET model = 'a' WHERE model = 'b'",
        "UPDATE term SET coefficient = CASE coefficient WHEN 8 THEN 0.5 ELSE 70 END WHERE model = 'a'",
    ],
)
def test_an_answer_is_not_believed_after_a_change_of_its_models_facts(statement: str, answers: duckdb.DuckDBPyConnection) -> None:
    answers.execute(statement)
    changed = {"a", "b"} if "'b'" in statement else {"a"}
    assert seals.unsealed(answers) == len(changed)
    seals.doubt(answers)
    seals.settle(answers)
    assert seals.unsealed(answers) == len(changed)  # until the answers are evaluated again
    assert seals.forget(answers) == sorted(changed)
    assert seals.unsealed(answers) == 0
    assert answers.execute("SELECT count(*) FROM answer.stored").fetchall() == [(2 - len(changed),)]


def test_rows_of_an_equal_content_in_another_table_are_other_facts(answers: duckdb.DuckDBPyConnection) -> None:
    answers.execute("CREATE TABLE access_term AS FROM term WHERE model = 'a'; DELETE FROM term WHERE model = 'a'")
    assert seals.unsealed(answers) == 1


def test_an_answer_without_its_model_is_not_believed(answers: duckdb.DuckDBPyConnection) -> None:
    answers.execute("DELETE FROM model WHERE model = 'a'; DELETE FROM term WHERE model = 'a'")
    assert seals.unsealed(answers) == 1
    assert seals.forget(answers) == []


def test_facts_of_all_tables_of_models_count() -> None:
    tables = {table.TABLE for table in database.TABLES if issubclass(table, ModelRow) or table is Model}
    assert set(seals._FACTS) == tables and len(seals._FACTS) == len(tables)
