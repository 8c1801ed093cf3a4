"""`--live` takes no row at hand, at any position of the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from charz.cli import dispatch
from charz.sql import seals

COMPARE = ["compare", "resnet18", "--on", "t4", "--precision", "fp16", "--batch", "1"]
SQL = ["sql", "SELECT latency_s FROM model_report WHERE model = 'resnet18' AND hardware = 't4'"]
LIST = ["scenario", "list"]


@pytest.fixture
def altered(resnet18: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The rows at hand of this file differ from the views, so that an answer shows its source."""
    path = tmp_path / "charz.duckdb"
    shutil.copy(resnet18, path)
    path.chmod(0o600)
    with duckdb.connect(str(path)) as connection:
        ((changed,),) = connection.execute("UPDATE answer.stored SET latency_s = 7, seal = NULL").fetchall()
        seals.settle(connection)
    assert changed
    monkeypatch.setenv("CHARZ_DB", str(path))
    return path


def latencies(line: list[str], capsys: pytest.CaptureFixture[str]) -> set[float]:
    assert dispatch.run([*line[:-1], line[-1], "--format", "json"]) == 0, capsys.readouterr().err
    return {row["latency_s"] for row in json.loads(capsys.readouterr().out)}


@pytest.mark.parametrize("question", [COMPARE, SQL], ids=["compare", "sql"])
def test_nothing_at_hand_is_taken(question: list[str], altered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert latencies(question, capsys) == {7.0}
    for line in (["--live", *question], [*question, "--live"]):
        found = latencies(line, capsys)
        assert found and 0 < max(found) < 1
    assert latencies(question, capsys) == {7.0}


def test_a_what_if_passes_it_on(altered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["what-if", "--set", "t4.sm.unit_count=80", "--", *COMPARE]
    assert 7.0 in latencies(line, capsys)
    for place in (0, 1, 5):
        found = latencies([*line[:place], "--live", *line[place:]], capsys)
        assert len(found) == 2 and max(found) < 1


def test_a_command_of_a_group_takes_it(altered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.run(["--live", *LIST]) == 0 and dispatch.run([*LIST, "--live"]) == 0
    assert dispatch.run(["--help"]) == 0
    assert "--live" in capsys.readouterr().out


def test_schema_names_what_is_at_hand(altered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.run(["schema", "--format", "json"]) == 0
    listed = {row["name"]: row["at_hand"] for row in json.loads(capsys.readouterr().out)}
    with duckdb.connect(str(altered), read_only=True) as connection:
        views = connection.execute("SELECT view_name FROM duckdb_views() WHERE schema_name = 'answer'").fetchall()
    assert {name: kept for name, kept in listed.items() if kept} == {name: f"answer.{name}" for (name,) in views}
    assert listed["kernel_latency"] is None and listed["hardware"] is None
    assert dispatch.run(["schema", "answer.model_report", "--format", "json"]) == 0
    kept = json.loads(capsys.readouterr().out)
    assert dispatch.run(["schema", "model_report", "--format", "json"]) == 0
    live = json.loads(capsys.readouterr().out)
    assert live and kept[:-1] == live and kept[-1]["column"] == "is_at_hand" and kept[-1]["meaning"]
