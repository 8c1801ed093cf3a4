"""Maintained tables where Python writes: ingest, refresh, and what-ifs that do not change the file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from conftest import scenario

from charz.sql import evaluate, holder, maintain, scopes, triggers, views
from charz.sql.installed import catalog

Adder = Callable[[duckdb.DuckDBPyConnection, str, int], None]


def keys(connection: duckdb.DuckDBPyConnection, table: str) -> set[tuple[str, int]]:
    query = f"SELECT DISTINCT run.model, run.scenario_id FROM {table}"
    return {(model, number) for model, number in connection.execute(query).fetchall()}


def test_runs_of_many_models_end_a_transaction_by_portion(small: Path) -> None:
    """Memory of a portion is freed when its transaction ends, which a caller that writes a copy allows."""
    with duckdb.connect(str(small), config={"threads": 1}) as connection:
        for commits, is_same in ((False, True), (True, False)):
            connection.begin()
            before = connection.execute("SELECT txid_current()").fetchall()
            maintain.add_runs(connection, models=["narrow"], commits=commits)
            assert (connection.execute("SELECT txid_current()").fetchall() == before) is is_same
            connection.rollback()


@pytest.mark.default
def test_an_ingested_model_is_there_in_every_table(small: Path, add_model: Adder) -> None:
    with duckdb.connect(str(small), config={"threads": 1}) as connection:
        connection.begin()
        add_model(connection, "other", 64)
        connection.commit()
        assert {m for m, _ in keys(connection, "run_kernel")} == {"narrow", "wide", "other"}
        assert keys(connection, "shape") == keys(connection, "run_kernel") == keys(connection, "run")
        assert maintain.differences(connection) == {}


def test_a_model_ingested_again_takes_the_place_of_the_first(small: Path, add_model: Adder) -> None:
    with duckdb.connect(str(small), config={"threads": 1}) as connection:
        query = "SELECT MAX(macs) FROM shape WHERE run.model = 'narrow'"
        before = connection.execute(query).fetchall()
        connection.begin()
        add_model(connection, "narrow", 64)
        connection.commit()
        assert connection.execute(query).fetchall() != before
        assert maintain.differences(connection) == {}


def test_a_model_not_written_leaves_nothing(small: Path, add_model: Adder) -> None:
    with duckdb.connect(str(small), config={"threads": 1}) as connection:
        connection.begin()
        add_model(connection, "other", 64)
        connection.rollback()
        assert {m for m, _ in keys(connection, "shape")} == {"narrow", "wide"}
        assert maintain.differences(connection) == {}


@pytest.mark.slow
def test_runs_are_evaluated_where_their_text_or_rules_changed(
    small: Path, kept_layers: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    evaluated: list[object] = []
    evaluate_runs = maintain._evaluate_runs

    def noted(c: duckdb.DuckDBPyConnection, models: object, scenarios: object, commits: bool = False) -> None:
        evaluated.append({} if scenarios is None else {"scenarios": scenarios})
        evaluate_runs(c, models, scenarios, commits)

    monkeypatch.setattr(maintain, "_evaluate_runs", noted)
    root = Path(shutil.copytree(kept_layers, tmp_path / "sql"))
    with duckdb.connect(str(small), config={"threads": 1}) as connection:
        views.install(connection, root)
        with maintain.bulk(connection):
            connection.execute("UPDATE hardware_power SET tdp_w = 1")
        assert evaluated == []
        with maintain.bulk(connection):
            connection.execute(
                "UPDATE scenario SET batch = 9 WHERE scenario_id = 2; DELETE FROM scenario WHERE scenario_id = 3"
            )
        assert evaluated.pop() == {"scenarios": [2, 3]}
        with maintain.bulk(connection):
            connection.execute("UPDATE library_constant SET value = 2 * value")
        assert evaluated.pop() == {}
        assert maintain.differences(connection) == {}
        text = (root / "2_workload/tensor_size.sql").read_text()
        (root / "2_workload/tensor_size.sql").write_text(text.replace("SUM(", "2 * SUM("))
        views.install(connection, root)
        assert evaluated.pop() == {}
        assert maintain.differences(connection) == {}
        assert triggers.missing(connection) == []


def test_chunks_give_the_rows_of_the_whole(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with duckdb.connect(str(small), config={"threads": 1}) as connection:
        runs = maintain.runs_anew(connection, None, None)
        portions = [portion.scope for portion in evaluate.evaluated(connection, runs, ["shape"])]
        assert [portion.models for portion in portions] == [["narrow", "wide"]]
        monkeypatch.setattr(evaluate, "RUN_KERNELS_AT_ONCE", 1)
        portions = [portion.scope for portion in evaluate.evaluated(connection, runs, ["shape"])]
        found = [(model, row["scenario_id"]) for p in portions for model in p.models for row in p.scenarios]
        numbers = [row["scenario_id"] for row in runs.scenarios]
        assert sorted(found) == sorted((model, number) for model in ("narrow", "wide") for number in numbers)
        # Scenarios that differ only in the backend stay together: views that compare fused with unfused kernels read
        # both.
        conditions = {
            (model, row["batch"], row["precision"]) for p in portions for model in p.models for row in p.scenarios
        }
        assert len(portions) == len(conditions) == 2
        connection.begin()
        maintain.refresh(connection)
        connection.commit()
        monkeypatch.undo()
        assert maintain.differences(connection) == {}


@pytest.mark.default
@pytest.mark.parametrize("held", [(), (1,)], ids=["evaluated", "copied"])
def test_a_what_if_knows_its_scenario_alone_and_leaves_the_file(small: Path, held: tuple[int, ...]) -> None:
    content = small.read_bytes()
    with duckdb.connect(str(small), read_only=True) as connection:
        stored = connection.execute(
            "SELECT * FROM shape WHERE run.model = 'wide' AND run.scenario_id = 1 ORDER BY ALL"
        ).fetchall()
    with duckdb.connect(str(small), read_only=True) as connection:
        asked_runs = [dict(scenario(1, "eager")), dict(scenario(7, "xla", batch=5))]
        holder.hold(connection, scopes.Scope(scenarios=asked_runs, stored=held, models=["wide"]))
        assert keys(connection, "shape") == {("wide", 1), ("wide", 7)}
        asked = connection.execute("SELECT * FROM shape WHERE run.scenario_id = 1 ORDER BY ALL").fetchall()
        assert asked == stored
        assert connection.execute("SELECT model FROM model").fetchall() == [("wide",)]
        assert connection.execute("SELECT DISTINCT run.batch FROM run_kernel WHERE run.scenario_id = 7").fetchall() == [(5,)]
    assert small.read_bytes() == content


@pytest.mark.default
def test_numbers_of_devices_asked_together_are_asked_alone(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that differ only in devices share tables that no number of devices changes: one of the two batches here is evaluated once for three
    numbers. Each table of runs has the rows of a question about each number alone."""
    rows = [dict(scenario(i, "xla", batch)) | {"device_count": count} for i, (batch, count) in enumerate([(2, None), (2, 2), (2, 8), (3, 2)], 11)]
    counted: dict[str, int] = {}
    table = holder._Holder._table

    def counting(self: holder._Holder, name: str, query: str) -> None:
        table(self, name, query)
        if name in ("border_byte", "executed_step", "resident_byte"):
            ((count,),) = self.connection.execute(f"SELECT COUNT(DISTINCT run) FROM temp.{name}").fetchall()
            counted.setdefault(name, count)

    with duckdb.connect(str(small), read_only=True) as connection:
        names = [relation.name for relation in catalog(connection).tables("2_workload")]
        alone: dict[str, list[tuple[object, ...]]] = {name: [] for name in names}
        for row in rows:
            made = holder.hold(connection, scopes.Scope(scenarios=[row], models=["wide", "narrow"]))
            for name in names:
                alone[name] += connection.execute(f"SELECT * FROM {name}").fetchall()
            holder.release(connection, made)
        monkeypatch.setattr(holder._Holder, "_table", counting)
        holder.hold(connection, scopes.Scope(scenarios=rows, models=["wide", "narrow"]))
        for name in names:
            assert sorted(map(repr, connection.execute(f"SELECT * FROM {name}").fetchall())) == sorted(map(repr, alone[name])), name
    assert sum(map(len, alone.values())) > 100
    assert counted == {"border_byte": 4, "executed_step": 4, "resident_byte": 8}  # of two models


@pytest.mark.default
def test_a_scope_hides_the_other_models_and_parts(small: Path) -> None:
    with duckdb.connect(str(small), read_only=True) as connection:
        holder.hold(connection, scopes.Scope(models=["narrow"], hardware=["tpu_v4", "kpu_t64"]))
        assert {m for m, _ in keys(connection, "shape_step")} == {"narrow"}
        for table in ("hardware", "part", "arithmetic_tile", "part_backend"):
            found = connection.execute(f"SELECT DISTINCT hardware FROM {table} ORDER BY hardware").fetchall()
            assert found == [("kpu_t64",), ("tpu_v4",)], table


@pytest.mark.default
def test_a_backend_of_a_part_outside_the_targets_is_hidden(small: Path) -> None:
    """A part that a question asks under one backend has no tiles under another backend of the question."""
    targets = [("tpu_v4", "xla", "bf16"), ("kpu_t64", "kpu", "int8")]
    with duckdb.connect(str(small), read_only=True) as connection:
        holder.hold(connection, scopes.Scope(targets=targets))
        found = connection.execute("SELECT hardware, backend FROM part_backend ORDER BY ALL").fetchall()
        assert found == [("kpu_t64", "kpu"), ("tpu_v4", "xla")]
