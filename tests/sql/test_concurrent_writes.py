"""Maintained tables stay equal to their views, or a write is refused: concurrent transactions, temporary tables that hide others, a
renamed file."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import duckdb
import pytest

from charz.schema import database
from charz.sql import maintain, triggers

WRITES = (
    "INSERT INTO scenario SELECT * REPLACE (scenario_id + 100 AS scenario_id, batch + 2 AS batch) FROM scenario LIMIT 1",
    "DELETE FROM scenario WHERE scenario_id = 2",
    "UPDATE library_constant SET value = 2 * value",
    "UPDATE precision SET bits = 2 * bits WHERE precision = 'fp16'",
    "UPDATE backend_support SET run_s = 2 * run_s",
    "UPDATE hardware_memory SET bandwidth_byte_per_s = 2 * bandwidth_byte_per_s WHERE hardware = 'rtx4090'",
    "UPDATE hardware_power SET tdp_w = 2 * tdp_w WHERE hardware = 'tpu_v4'",
    "UPDATE efficiency SET half_work = 2 * half_work",
    "DELETE FROM tiling_strategy WHERE family = '*' AND candidate = 101",
    "UPDATE model SET default_sequence = 2",
)
"""Statements on facts of parts, of runs and of both."""

PAIRS = 40
"""Number of pairs of statements tried; each evaluates all tables three times."""
AT_MOST = 8
"""Number of pairs that run before every change is merged."""

FACTS = sorted(t.TABLE for t in database.FACTS)


def pair(path: Path, first: str, second: str) -> bool:
    """Run both in overlapping transactions of one process, commit both if possible, and return whether the second was refused."""
    with duckdb.connect(str(path), config={"threads": 1}) as opened:
        one, other = opened.cursor(), opened.cursor()
        one.execute("BEGIN")
        other.execute("BEGIN")
        one.execute(first)
        try:
            other.execute(second)
            other.execute("COMMIT")
        except duckdb.TransactionException:
            return True
        finally:
            one.execute("COMMIT")
            differences = maintain.differences(opened)
            assert differences == {}, (first, second)
        return False


def test_the_second_of_two_writers_at_once_is_refused(small: Path) -> None:
    """A scenario is inserted while a rule is changed: each transaction would miss the other's row."""
    assert pair(small, WRITES[0], WRITES[2])


def test_writers_one_after_the_other_are_not_refused(small: Path) -> None:
    with duckdb.connect(str(small), config={"threads": 1}) as opened:
        for statement in WRITES[:3:2]:
            opened.cursor().execute(statement)
        assert opened.execute("SELECT COUNT(*) FROM scenario").fetchall() == [(5,)]
        assert maintain.differences(opened) == {}


@pytest.mark.slow("each pair evaluates all tables three times")
@pytest.mark.parametrize("number", range(AT_MOST))
def test_pairs_of_writers_at_once(small: Path, number: int) -> None:
    dice = random.Random(number)
    assert pair(small, *dice.sample(WRITES, 2))


@pytest.mark.broad
@pytest.mark.parametrize("number", range(AT_MOST, PAIRS))
def test_further_pairs_of_writers_at_once(small: Path, number: int) -> None:
    dice = random.Random(number)
    assert pair(small, *dice.sample(WRITES, 2))


def hidden(path: Path, name: str, made: str, statement: str) -> str | None:
    """Return the refusal of a write while a temporary table or view has the name; None if the write succeeds."""
    with duckdb.connect(str(path), config={"threads": 1}) as opened:
        opened.execute(made.format(name=name, file=path.stem))
        refusal = None
        try:
            opened.execute(statement.replace("UPDATE ", f"UPDATE {path.stem}.main."))
        except duckdb.Error as error:
            refusal = str(error)
        opened.execute(f"DROP {'VIEW' if 'VIEW' in made else 'TABLE'} temp.{name}")
        assert maintain.differences(opened) == {}, name
        return refusal


EMPTY = "CREATE TEMP TABLE {name} AS SELECT * FROM {file}.main.{name} LIMIT 0"


@pytest.mark.parametrize(
    ("name", "made", "statement"),
    [
        pytest.param("hardware_power", EMPTY, WRITES[7], marks=pytest.mark.default),
        ("scenario", EMPTY, WRITES[2]),
        ("part_memory", "CREATE TEMP VIEW {name} AS SELECT 1 AS one", WRITES[5]),
    ],
    ids=["part", "run", "view"],
)
def test_a_temporary_table_that_hides_a_fact_refuses_writes(small: Path, name: str, made: str, statement: str) -> None:
    refusal = hidden(small, name, made, statement)
    assert refusal is not None
    assert f"the temporary table or view {name} hides a table or view that the triggers of charz read" in refusal
    assert f"drop temp.{name}" in refusal


def test_a_temporary_table_of_another_name_hides_nothing(small: Path) -> None:
    assert hidden(small, "mine", "CREATE TEMP TABLE {name} AS SELECT 1 AS one", WRITES[7]) is None


@pytest.mark.broad
def test_a_temporary_table_named_as_any_fact(small: Path) -> None:
    """The write is refused if a trigger reads the fact, and succeeds otherwise."""
    with duckdb.connect(str(small), config={"threads": 1}) as opened:
        read = {name for (name,) in opened.execute(f"SELECT name FROM {triggers.READ}").fetchall()}
        assert read & set(FACTS) and set(FACTS) - read
        for fact in FACTS:
            for statement in (WRITES[2], WRITES[7]):
                if f"UPDATE {fact} " in statement:
                    continue
                opened.execute(EMPTY.format(name=fact, file=small.stem))
                opened.begin()
                try:
                    opened.execute(statement.replace("UPDATE ", f"UPDATE {small.stem}.main."))
                    is_refused = False
                except duckdb.Error:
                    is_refused = True
                assert is_refused == (fact in read), (fact, statement)
                if not is_refused and statement == WRITES[2]:
                    opened.execute(f"DROP TABLE temp.{fact}")
                    assert maintain.differences(opened) == {}, fact
                opened.rollback()
                opened.execute(f"DROP TABLE IF EXISTS temp.{fact}")
        assert maintain.differences(opened) == {}


def test_a_file_renamed_copied_and_attached_keeps_its_tables(small: Path, tmp_path: Path) -> None:
    renamed = small.rename(tmp_path / "another name.duckdb")
    copied = shutil.copy(renamed, tmp_path / "copied.duckdb")
    with duckdb.connect(config={"threads": 1}) as opened:
        opened.execute(f"ATTACH '{renamed}' AS mine; ATTACH '{copied}' AS copied")
        for name in ("mine", "copied"):
            opened.execute(f"USE {name}")
            opened.execute(WRITES[5])
            opened.execute(WRITES[1])
            assert maintain.differences(opened) == {}
            assert opened.execute("SELECT COUNT(*) FROM run WHERE run.scenario_id = 2").fetchall() == [(0,)]
