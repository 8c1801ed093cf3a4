"""`merge` adds models of other files: the result equals one ingest of all, unsuitable files are refused, and a change is complete
or absent."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from oracle.database import ingested
from whole.generated import graph

import charz
from charz.ingest import write
from charz.ingest.rows import content_hash
from charz.ingest.write import MODEL_TABLES
from charz.schema.errors import CharzError
from charz.sql import answers, installed, maintain
from charz.sql.layers import WORKLOAD

SEEDS = {"small": 1, "other": 2, "decoder": 3, "fourth": 9}


def made(few_parts: Path, path: Path, *names: str, with_answers: bool = True, **seeds: int) -> Path:
    """Make a file of generated models, each from its own seed."""
    shutil.copy(few_parts, path)
    with charz.open(path) as session, session.changing(fills=False) as connection:
        models = [ingested(graph(seeds.get(name, SEEDS[name])), name) for name in names]
        for model in models:
            model.model["content_hash"] = content_hash(model.columns, model.model)
        write.write(connection, models, maintain.add_models if with_answers else maintain.add_runs)
    return path


def content(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Read all rows of a file about its models."""
    with charz.open(path) as session:
        connection = session.connection()
        tables = [row_type.TABLE for row_type in MODEL_TABLES]
        tables += [table.name for table in installed.catalog(connection).tables(WORKLOAD)]
        queries = {name: f"SELECT * FROM {name} ORDER BY ALL" for name in tables}
        queries["model"] = "SELECT * EXCLUDE (ingested_at, ingest_s) FROM model ORDER BY model"
        found = {name: connection.execute(query).fetchall() for name, query in queries.items()}
        keys = "SELECT model, hardware, scenario_id FROM answer.stored ORDER BY ALL"
        return found | {"answer": connection.execute(keys).fetchall()}


def test_merged_files_are_what_one_ingest_gives(few_parts: Path, tmp_path: Path) -> None:
    whole = made(few_parts, tmp_path / "whole.duckdb", "small", "other", "fourth")
    into = made(few_parts, tmp_path / "into.duckdb", "small")
    parts = [made(few_parts, tmp_path / "a.duckdb", "other", "small"), made(few_parts, tmp_path / "b.duckdb", "fourth")]
    with charz.open(into) as session:
        found = session.merge(parts)
        assert found.rows() == [
            (str(parts[0]), "other", "written"),
            (str(parts[0]), "small", "unchanged"),
            (str(parts[1]), "fourth", "written"),
        ]
        assert answers.missing(session.connection()).count == 0
        assert answers.differences(session.connection()) == {}
        assert maintain.differences(session.connection()) == {}
    assert content(into) == content(whole)
    with charz.open(into) as session:
        assert set(session.merge([*parts, into])["state"]) == {"unchanged"}


def test_answers_of_a_part_with_other_numbers_stay_behind(few_parts: Path, tmp_path: Path) -> None:
    into, part = made(few_parts, tmp_path / "into.duckdb", "small"), made(few_parts, tmp_path / "a.duckdb", "other")
    with duckdb.connect(str(part)) as connection:
        connection.execute(
            "UPDATE hardware_memory SET bandwidth_byte_per_s = 1e12 WHERE hardware = 't4' AND level = 'dram'"
        )
    with charz.open(part) as session:
        session.refresh()
    with charz.open(into) as session:
        session.merge(part)
        lacking = answers.missing(session.connection())
        behind = {name for scope in lacking.scopes for name in scope.hardware or ()}
        assert "t4" in behind  # and parts that borrow from it
        assert {model for scope in lacking.scopes for model in scope.models or ()} == {"other"}
        session.refresh()
        assert answers.differences(session.connection()) == {}


def test_runs_of_scenarios_that_the_other_file_lacks_are_evaluated(few_parts: Path, tmp_path: Path) -> None:
    into, part = made(few_parts, tmp_path / "into.duckdb", "small"), made(few_parts, tmp_path / "a.duckdb", "other")
    with charz.open(into) as session:
        session.scenario.add(batch=7)
        session.merge(part)
        assert maintain.differences(session.connection()) == {}
        assert "other" in session.sql("SELECT run.model FROM run WHERE run.batch = 7")["model"].to_list()
        session.refresh()
        assert answers.differences(session.connection()) == {}


def test_another_model_of_the_name_is_refused_and_forced(few_parts: Path, tmp_path: Path) -> None:
    into = made(few_parts, tmp_path / "into.duckdb", "small", "other")
    part = made(few_parts, tmp_path / "a.duckdb", "small", "fourth", small=5)
    before = content(into)["operator"]
    with charz.open(into) as session:
        with pytest.warns(charz.session.CharzWarning, match="refused"):
            found = session.merge(part)
        assert dict(found["model", "state"].iter_rows()) == {"small": "refused", "fourth": "written"}
        assert [row for row in content(into)["operator"] if row[0] != "fourth"] == before
        assert dict(session.merge(part, force=True)["model", "state"].iter_rows()) == {
            "small": "written",
            "fourth": "unchanged",
        }
    whole = made(few_parts, tmp_path / "whole.duckdb", "small", "other", "fourth", small=5)
    assert content(into) == content(whole)


def test_another_catalog_is_refused_with_the_difference(few_parts: Path, tmp_path: Path) -> None:
    into, part = made(few_parts, tmp_path / "into.duckdb", "small"), made(few_parts, tmp_path / "a.duckdb", "other")
    before = into.read_bytes()
    with duckdb.connect(str(part)) as connection:
        connection.execute("UPDATE charz_meta SET value = 'another' WHERE key = 'catalog_version'")
        changed = "UPDATE charz_meta SET value = replace(value, '[\\\"eager\\\"]', '[\\\"hasty\\\"]') WHERE key = 'catalog_rows'"
        connection.execute(changed)
    with (
        charz.open(into) as session,
        pytest.raises(CharzError, match=r"another catalog: .*a\.duckdb\. Different: 2 rows of backend, e.g. eager"),
    ):
        session.merge(part)
    assert into.read_bytes() == before


def test_other_rules_are_refused(few_parts: Path, tmp_path: Path) -> None:
    into, part = made(few_parts, tmp_path / "into.duckdb", "small"), made(few_parts, tmp_path / "a.duckdb", "other")
    with duckdb.connect(str(part)) as connection:
        connection.execute("DELETE FROM fusion_rule WHERE backend = 'inductor'")
    before = into.read_bytes()
    with charz.open(into) as session, pytest.raises(CharzError, match="compiled by other rules.*fusion_rule"):
        session.merge(part)
    assert into.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "says"), [("none.duckdb", "no such file"), ("text.duckdb", "not a"), ("", "nothing to merge")]
)
def test_what_is_no_file_of_charz_is_one_line(few_parts: Path, tmp_path: Path, name: str, says: str) -> None:
    into = made(few_parts, tmp_path / "into.duckdb", "small", with_answers=False)
    (tmp_path / "text.duckdb").write_text("no database" * 1000)
    before = into.read_bytes()
    with charz.open(into) as session, pytest.raises(CharzError, match=says):
        session.merge(tmp_path / name if name else into)
    assert into.read_bytes() == before


@pytest.mark.slow
def test_a_killed_merge_leaves_whole_files_taken_in_and_goes_on(few_parts: Path, tmp_path: Path) -> None:
    into = made(few_parts, tmp_path / "into.duckdb", "small", with_answers=False)
    names = [name for name in SEEDS if name != "small"]
    parts = [made(few_parts, tmp_path / f"{name}.duckdb", name, with_answers=False) for name in names]
    whole = made(few_parts, tmp_path / "whole.duckdb", *SEEDS, with_answers=False)
    command = [sys.executable, "-m", "charz", "--db", str(into), "merge", *map(str, parts)]
    started = time.monotonic()
    subprocess.run([*command[:-3], str(whole)], check=True, capture_output=True)
    took, expected = time.monotonic() - started, content(whole)
    assert content(into) == expected
    for share in (0.3, 0.6, 0.8, 0.95):
        made(few_parts, into, "small", with_answers=False)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(share * took)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with charz.open(into) as session:
            there = session.sql("SELECT model FROM model")["model"].to_list()
            assert maintain.differences(session.connection()) == {}
            assert set(there) == {"small", *names[: len(there) - 1]}
            session.merge(parts)
        assert content(into) == expected
