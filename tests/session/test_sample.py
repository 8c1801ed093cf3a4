"""The sample that represents a large file: it is small and includes every model, part and scenario."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import duckdb
import pytest

import charz
from charz.session import Messages
from charz.session.file import sample
from charz.session.file.sample import Grid
from charz.sql import evaluate, scopes, triggers


def test_every_model_part_and_scenario_is_met(file: Path) -> None:
    with charz.open(file) as db:
        grid = Grid(db.connection(), db._names("model"), db._names("hardware"))
        some = grid.some()
        count = "SELECT count(*) FROM run AS r JOIN part_support AS t ON t.backend = r.run.backend AND t.precision = r.run.precision"
        assert db.connection().execute(count).fetchall() == [(grid.total,)]
        how = {backend_precision for run, backend_precision in grid.runs.items() if run in some.runs}
        able = {part for part, *way in grid.triples if tuple(way) in how}
    assert {model for model, _ in some.runs} == {model for model, _ in grid.runs}
    assert {number for _, number in some.runs} == {number for _, number in grid.runs}
    assert {part for part, *_ in some.targets} == able and len(some.targets) == len(able)
    assert grid.count(some.runs, some.targets) < grid.total / 4


def test_all_targets_are_examined_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "MOST_TARGETS", 0)
    monkeypatch.setattr(evaluate, "KERNELS_AT_ONCE", 20_000)
    with charz.open(file) as db:
        grid = Grid(db.connection(), db._names("model"), db._names("hardware"))
        some, every = grid.scope(every=False), grid.scope(every=True)
        seen = [
            (model, part, row["scenario_id"])
            for portion in evaluate.evaluated(db.cursor(), every, ["model_cost"])
            for model, part, row in product(
                portion.scope.models or (), portion.scope.hardware or (), scopes.scenario_rows(db.connection())
            )
        ]
    assert some.runs != "TRUE" == every.runs
    assert len(seen) == len(set(seen)) and {model for model, *_ in seen} == {model for model, _ in grid.runs}
    assert {part for _, part, _ in seen} == {part for part, *_ in grid.triples}


@pytest.mark.slow
def test_a_sample_finds_what_is_wrong_and_says_what_it_took(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, said = tmp_path / "wrong.duckdb", list[str]()
    path.write_bytes(file.read_bytes())
    with charz.open(path) as db:
        db.messages = Messages(remark=said.append)
        assert set(db.doctor(section="invariants")["rows"]) == {0}
        assert any("which include every model, part and scenario; --every checks all" in text for text in said)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"INSERT INTO {triggers.WRITING} VALUES (TRUE)")
        connection.execute("UPDATE shape SET kernel_count = kernel_count + 1")
        connection.execute(f"DELETE FROM {triggers.WRITING}")
    with charz.open(path) as db:
        wrong = {name for name, rows in db.doctor(section="invariants").select("name", "rows").iter_rows() if rows}
    assert {"shape", "kernel_without_cost"} & wrong
