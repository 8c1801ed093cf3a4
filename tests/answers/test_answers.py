"""Answers at hand equal the live views, or are absent."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import polars as pl
import polars.testing
import pytest

import charz
from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.messages import Messages
from charz.sql import answers, evaluate, maintain, scopes, seals, triggers
from charz.sql.installed import Relation, catalog

Rows = set[tuple[object, ...]]


def _order(relation: Relation) -> list[str]:
    """Return the keys, and further columns that distinguish rows with equal keys."""
    return [
        name for name in (*relation.grain, "kind", "change", "other_backend", "saved_s") if name in relation.columns
    ]


def kept(connection: duckdb.DuckDBPyConnection) -> Rows:
    return set(connection.execute("SELECT model, hardware, scenario_id FROM answer.stored").fetchall())


@pytest.mark.costly("evaluates each of some twenty reports alone, as a client would")
def test_every_relation_at_hand_is_the_live_one(connection: duckdb.DuckDBPyConnection) -> None:
    assert answers.is_complete(connection)
    assert answers.differences(connection) == {}
    at_hand = [relation for relation in catalog(connection).relations.values() if relation.at_hand]
    assert {"model_report", "recommendation", "target_cost", "batch_sweep"} <= {relation.name for relation in at_hand}
    for relation in at_hand:
        live, now = (
            connection.sql(f"SELECT * FROM {schema}.{relation.name} ORDER BY {', '.join(_order(relation))}").pl()
            for schema in ("main", "answer")
        )
        marks = ["is_at_hand"] if relation.name in MARKED else []
        assert now.columns == [*relation.columns, *marks]
        assert all(now[mark].all() for mark in marks)
        pl.testing.assert_frame_equal(live, now.drop(marks), rel_tol=1e-12, abs_tol=1e-15)


MARKED = ("model_report", "model_latency", "model_energy", "model_memory", "largest_batch")
"""Reports whose rows mark numbers that are at hand."""


@pytest.mark.parametrize("name", MARKED)
def test_a_report_at_hand_names_the_runs_that_it_lacks(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """A changed part keeps its rows in every report, with the mark false and its numbers null."""
    count = f"SELECT hardware, COUNT(*), COUNT(*) FILTER (is_at_hand) FROM answer.{name} GROUP BY ALL ORDER BY ALL"
    before = connection.execute(count).fetchall()
    connection.execute("UPDATE hardware_cluster SET clock_boost_hz = clock_boost_hz * 1.01 WHERE hardware = 't4'")
    after = connection.execute(count).fetchall()
    assert after == [(part, rows, 0 if part == "t4" else there) for part, rows, there in before]
    assert {there for part, _, there in before if part == "t4"} == {dict(p[:2] for p in before)["t4"]}
    numbers = connection.sql(f"SELECT * EXCLUDE (batch, sequence, scenario_id) FROM answer.{name} WHERE hardware = 't4'").pl()
    keys = ["model", "hardware", "backend", "precision", "is_at_hand"]
    assert numbers.drop(keys).null_count().row(0) == (len(numbers),) * (numbers.width - len(keys))


def test_a_row_that_is_wrong_is_found(copied: duckdb.DuckDBPyConnection) -> None:
    """Each of these is found: a number, a text, a count, a row of a deleted part."""
    connection = copied
    for change, relation in (
        ("SET latency_s = latency_s * (1 + 1e-11)", "model_cost"),
        ("SET bottleneck = 'gravity'", "model_cost"),
        ("SET kernel_count = kernel_count + 1", "model_cost"),
        ("SET hardware = 'gone'", "stored"),
    ):
        connection.begin()
        connection.execute(f"UPDATE answer.stored {change} WHERE model = 'small' AND hardware = 't4'")
        assert answers.differences(connection)[relation] > 0, change
        connection.rollback()


CHANGES = {
    "a number of a part": (
        "UPDATE hardware_memory SET bandwidth_byte_per_s = bandwidth_byte_per_s * 2 WHERE hardware = 't4' AND level = 'dram'",
        "hardware = 't4'",
    ),
    "the price of a part": ("UPDATE price SET price_usd_per_hour = 9 WHERE hardware = 'a10'", "hardware = 'a10'"),
    "a power mode": ("UPDATE hardware_power SET tdp_w = 40 WHERE hardware = 't4' AND is_default", "hardware = 't4'"),
    "a part that goes": ("DELETE FROM hardware WHERE hardware = 'kpu_t64'", "hardware = 'kpu_t64'"),
    "a scenario": ("UPDATE scenario SET batch = 5 WHERE scenario_id = 1", "scenario_id = 1"),
    "a scenario that goes": ("DELETE FROM scenario WHERE scenario_id = 2", "scenario_id = 2"),
    "a model that goes": ("DELETE FROM model WHERE model = 'other'", "model = 'other'"),
    "the names of operators": ("UPDATE operator SET operator = 'renamed' WHERE model = 'small'", "model = 'small'"),
    "the modules that operators stand in": (
        "UPDATE module SET path = 'moved' WHERE model = 'other'",
        "model = 'other'",
    ),
    "kernels that go": ("DELETE FROM kernel WHERE model = 'small' AND kernel_id > 3", "model = 'small'"),
    "a rule of parts": ("UPDATE library_constant SET value = value * 2", "TRUE"),
    "an efficiency of one part": (
        "UPDATE efficiency SET maximum_fraction = maximum_fraction * 0.9 WHERE scope = 'hardware:t4'",
        "hardware = 't4'",
    ),
}
"""Statements of a client, and the answers that each deletes; all other answers must stay."""


@pytest.mark.costly("evaluates all answers three times and the maintained tables once")
@pytest.mark.parametrize(
    "change", [pytest.param(c, marks=pytest.mark.default) if c == "a number of a part" else c for c in CHANGES]
)
def test_a_change_deletes_what_it_touches_and_no_more(connection: duckdb.DuckDBPyConnection, change: str) -> None:
    statement, touched = CHANGES[change]
    before = kept(connection)
    query = f"SELECT model, hardware, scenario_id FROM answer.stored WHERE {touched}"
    gone = set(connection.execute(query).fetchall())
    assert gone
    connection.execute(statement)
    assert kept(connection) == before - gone
    assert answers.differences(connection) == {}
    answers.fill(connection, answers.missing(connection))
    assert answers.is_complete(connection) and answers.differences(connection) == {}


def test_the_state_counts_what_is_missing(connection: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT hardware, SUM(run_count), SUM(missing_count) FROM answer_state GROUP BY hardware ORDER BY hardware"
    full = connection.execute(query).fetchall()
    assert all(missing == 0 < runs for _, runs, missing in full)
    connection.execute("UPDATE hardware_cluster SET clock_boost_hz = clock_boost_hz * 1.01 WHERE hardware = 't4'")
    assert connection.execute(query).fetchall() == [
        (part, runs, runs if part == "t4" else missing) for part, runs, missing in full
    ]
    lacking = answers.missing(connection)
    (scope,) = lacking.scopes
    assert list(scope.hardware) == ["t4"] and lacking.count == {p: r for p, r, _ in full}["t4"] and lacking.work > 0


def test_a_change_that_is_undone_leaves_the_answers(copied: duckdb.DuckDBPyConnection) -> None:
    connection, before = copied, kept(copied)
    connection.begin()
    connection.execute("UPDATE hardware_cluster SET clock_boost_hz = 1e9")
    assert not kept(connection)
    connection.rollback()
    assert kept(connection) == before


def test_facts_written_in_bulk_leave_the_answers_that_do_not_rest_on_them(copied: duckdb.DuckDBPyConnection) -> None:
    connection, before = copied, kept(copied)
    connection.begin()
    with maintain.bulk(connection):
        connection.execute("UPDATE hardware_cluster SET clock_boost_hz = clock_boost_hz * 1.5 WHERE hardware = 't4'")
    connection.commit()
    assert kept(connection) == {row for row in before if row[1] != "t4"}
    connection.begin()
    with maintain.bulk(connection):
        connection.execute("DELETE FROM scenario WHERE scenario_id = 3")
    connection.commit()
    assert kept(connection) == {row for row in before if row[1] != "t4" and row[2] != 3}
    assert answers.differences(connection) == {}


@pytest.fixture
def path(answered: Path, tmp_path: Path) -> Path:
    made = tmp_path / "session.duckdb"
    shutil.copy(answered, made)
    made.chmod(0o600)
    return made


QUESTIONS = {
    "compare": lambda db: db.compare("small,other", on="t4,kpu_t64", precision="fp16,int8"),
    "recommend": lambda db: db.recommend("small"),
    "saturation": lambda db: db.compare("small", on="t4", batch="1,8", precision="fp32", section="saturation"),
    "report": lambda db: db.report("small", on="t4", precision="fp16"),
    "price": lambda db: db.compare("small", on="t4,a10", co2=400.0, section="price"),
    "opportunities": lambda db: db.opportunities("small", on="t4"),
    "sql": lambda db: db.sql("SELECT * FROM model_report ORDER BY ALL"),
    "scope": lambda db: db.scope(models="other", hardware="t4").sql("SELECT * FROM model_report ORDER BY ALL"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_alike_from_rows_at_hand_and_live(path: Path, question: str) -> None:
    with charz.open(path) as db:
        found = QUESTIONS[question](db)
    with charz.open(path, is_live=True) as db:
        pl.testing.assert_frame_equal(found, QUESTIONS[question](db), rel_tol=1e-12, abs_tol=1e-15)
    assert len(found)


def test_a_row_at_hand_is_taken_and_a_live_session_takes_none(path: Path) -> None:
    """A row with a value that no view gives shows that an answer was taken from it."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE answer.stored SET latency_s = 7, seal = NULL WHERE model = 'small' AND hardware = 't4'")
        seals.settle(connection)
    with charz.open(path) as db:
        assert db.compare("small", on="t4", precision="fp16", batch=1)["latency_s"].to_list() == [7.0]
        assert db.compare("small", on="t4", precision="fp16", batch=3)["latency_s"][0] < 1  # no stored scenario
        altered = db.what_if({"t4.sm.unit_count": 80}, "compare", "small", on="t4", precision="fp16")
        assert altered["latency_s"][0] == 7.0 and altered["latency_s"][1] < 1
    with charz.open(path, is_live=True) as db:
        assert db.compare("small", on="t4", precision="fp16", batch=1)["latency_s"][0] < 1


def test_a_large_question_is_evaluated_in_portions(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from charz.session import core

    with charz.open(path, is_live=True) as db:
        whole = db.compare("small,other", batch="1,3,5", precision="fp16,fp32", top=1000)
    monkeypatch.setattr(core, "COSTED_TARGETS", 0)
    monkeypatch.setattr(evaluate, "KERNELS_AT_ONCE", 1)
    monkeypatch.setattr(evaluate, "RUN_KERNELS_AT_ONCE", 1)
    with charz.open(path, is_live=True) as db:
        found = db.compare("small,other", batch="1,3,5", precision="fp16,fp32", top=1000)
    pl.testing.assert_frame_equal(found, whole, rel_tol=1e-12, abs_tol=1e-15)


def test_a_portion_computes_the_tiles_of_its_own_parts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A portion contains one part, and each part is in one portion."""
    monkeypatch.setattr(evaluate, "KERNELS_AT_ONCE", 1)
    found = []
    with duckdb.connect(str(path)) as connection:
        for portion in evaluate.evaluated(connection, scopes.Scope(models=["small"]), ["model_cost"]):
            parts = connection.execute("SELECT DISTINCT hardware FROM tile_step").fetchall()
            assert {part for (part,) in parts} <= set(portion.scope.hardware or ())
            found += parts
    assert len(found) == len(set(found)) > 1


def test_what_is_not_at_hand_is_evaluated_beside_what_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch 1 has a stored scenario and batch 3 does not; the rows of one part at batch 1 are deleted."""
    from charz.session import core

    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM answer.stored WHERE hardware = 'a10'")
    asked = {"batch": "1,3", "precision": "fp16,int8", "top": 1000}
    monkeypatch.setattr(core, "COSTED_TARGETS", 0)
    with charz.open(path, is_live=True) as db:
        live = db.compare("small,other", **asked)
    with charz.open(path) as db:
        mixed = db.compare("small,other", **asked)
    pl.testing.assert_frame_equal(mixed, live, rel_tol=1e-12, abs_tol=1e-15)
    assert {"a10", "t4"} <= set(mixed["hardware"]) and set(mixed["batch"]) == {1, 3}
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE answer.stored SET latency_s = 7, seal = NULL WHERE hardware = 't4'")
        seals.settle(connection)
    with charz.open(path) as db:
        found = db.compare("small,other", **asked).filter(latency_s=7.0)
    assert set(found["hardware"]) == {"t4"} and set(found["batch"]) == {1}


SCOPED = {
    "at hand": (
        "SELECT * FROM model_report",
        {"taken_answer"},
        {"part", "arithmetic_tile", "shape", "run_kernel", "shape_cost"},
    ),
    "at hand, capitals": ("select * from Model_Report", {"taken_answer"}, {"arithmetic_tile", "shape_cost"}),
    "the whole file's": ("SELECT * FROM answer.model_report LIMIT 1", {"run"}, {"taken_answer", "arithmetic_tile"}),
    "runs": ("SELECT run.model, * FROM run_memory", {"run_memory"}, {"taken_answer", "arithmetic_tile", "shape_step"}),
    "kernels": ("SELECT * FROM kernel_latency", {"shape_cost", "arithmetic_tile"}, {"taken_answer", "held_term"}),
    "a view of the user": ("SELECT * FROM mine", {"taken_answer"}, {"arithmetic_tile", "shape_cost"}),
    "a macro of the user": ("SELECT * FROM ours()", {"run_memory"}, {"taken_answer", "arithmetic_tile"}),
    "a name that is made": (
        "FROM query_table('model_' || 'report')",
        {"shape_cost", "held_term", "taken_answer"},
        set(),
    ),
}
"""Statements with temporary tables that they need, and some that they do not need."""


@pytest.mark.parametrize("name", SCOPED)
def test_a_statement_scopes_what_it_names_and_no_more(path: Path, name: str) -> None:
    statement, needed, spared = SCOPED[name]
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE VIEW mine AS SELECT * FROM model_report")
        connection.execute("CREATE MACRO ours() AS TABLE SELECT run.model, * FROM run_memory")
    with charz.open(path) as db:
        rows = db.sql(statement, model="small", on="t4", batch=1, precision="fp16", backend="inductor")
        (scoped,) = db._scoped.values()
        query = "SELECT table_name FROM duckdb_tables() WHERE temporary"
        made = {table for (table,) in scoped.execute(query).fetchall()}
    assert needed <= made and not spared & made
    assert len(rows) and (name == "the whole file's" or set(rows["model"]) == {"small"})
    if "hardware" in rows.columns and name != "the whole file's":
        assert set(rows["hardware"]) == {"t4"} and set(rows["batch"]) == {1}


def test_what_is_scoped_twice_is_scoped_alike(path: Path) -> None:
    """One run is in the file and one is not; their tables are scoped when a statement first names them."""
    first, second = "SELECT * FROM run_memory ORDER BY ALL", "SELECT * FROM run_kernel ORDER BY ALL"
    asked = {"on": "t4", "batch": "1,3", "precision": "fp16", "backend": "inductor"}
    from charz.session.question import of_axes

    question = of_axes("small", asked["on"], asked["batch"], None, asked["precision"], asked["backend"], None)
    with charz.open(path) as db:
        scoped = db.asked(question)
        one_by_one = [scoped.execute(query).fetchall() for query in (first, second)]
    with charz.open(path) as db:
        connection = db.asked(question).connection
        at_once = [connection.execute(query).fetchall() for query in (first, second)]
    assert one_by_one == at_once and all(one_by_one)


def test_the_engine_plans_as_before_once_a_question_is_answered(path: Path) -> None:
    with charz.open(path, is_live=True) as db:
        db.report("small", on="t4", precision="fp16")
        query = "SELECT current_setting('disabled_optimizers')"
        assert db.sql(query).item() == ""


def test_changed_parts_are_let_go(path: Path) -> None:
    with charz.open(path) as db:
        found = db.what_if({"t4.sm.unit_count": [20, 80]}, "report", "small", on="t4", precision="fp16")
        assert found["latency_s"].n_unique() == 3
        assert db.sql("SELECT database_name FROM duckdb_databases() WHERE database_name LIKE 'changed%'").is_empty()


def test_a_command_that_writes_fills_what_is_missing(path: Path) -> None:
    said: list[str] = []
    with Session(path, messages=Messages(remark=said.append)) as db:
        before = db.sql("SELECT COUNT(*) FROM answer.stored").item()
        db.scenario.add(batch=7, precision="fp16", backend="inductor")
        assert db.sql("SELECT SUM(missing_count) FROM answer_state").item() == 0
        # The counts are three models on the two parts on which inductor runs fp16, and on the processor.
        added = db.sql("SELECT COUNT(*) FROM answer.stored WHERE batch = 7").item()
        assert added > 3 and db.sql("SELECT COUNT(*) FROM answer.stored").item() == before + added
    assert any(text == f"{added} answers at hand filled" for text in said)


def test_memory_of_a_portion_is_free_after_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of any number of models need as much memory as a few: dropped tables and inserted rows are freed by portion."""
    monkeypatch.setattr(evaluate, "KERNELS_AT_ONCE", 1)
    used: list[int] = []
    with Session(path) as db, db.changing(create=False, fills=False) as connection:
        connection.execute("DELETE FROM answer.stored")
        query = "SELECT memory_usage_bytes FROM duckdb_memory() WHERE tag = 'IN_MEMORY_TABLE'"
        answers.fill(connection, answers.missing(connection), lambda _: used.append(connection.execute(query).fetchall()[0][0]), commits=True)
        assert answers.missing(connection).count == 0
    assert len(used) > 2 and used[-1] < 1.2 * used[0]


def test_much_work_is_left_to_refresh(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from charz.session import opened

    monkeypatch.setattr(opened, "FILLED_U", 0.0)
    said: list[str] = []
    with Session(path, messages=Messages(remark=said.append)) as db:
        db.scenario.add(batch=7, precision="fp16", backend="inductor")
        missing = db.sql("SELECT SUM(missing_count) FROM answer_state").item()
        assert missing > 3 and any("`charz refresh` fills them" in text for text in said)
        changed = db.refresh()
        assert changed.rows() == [("answer.stored", missing)]
        assert db.sql("SELECT SUM(missing_count) FROM answer_state").item() == 0
        assert db.refresh().is_empty()


def test_a_model_without_answers_leaves_the_others_theirs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work of 2 U for a model without any answers and 2 U for a deleted part exceed 3 U together: only the part is filled."""
    from charz.session import opened

    said: list[str] = []
    with Session(path, messages=Messages(remark=said.append)) as db:
        with db.changing(create=False, fills=False) as connection:
            connection.execute("DELETE FROM answer.stored WHERE model = 'other' OR (model = 'small' AND hardware = 't4')")
        lacking = answers.missing(db.connection(), ["small"]).count
        left = answers.missing(db.connection(), ["other"]).count
        monkeypatch.setattr(opened, "FILLED_U", 3.0)
        with db.changing(create=False):
            pass
        assert lacking > 0 and left > 0 and answers.answered(db.connection()) == ["decoder", "small"]
        assert answers.missing(db.connection()).count == left
    assert f"{lacking:,} answers at hand filled" in said
    assert f"{left:,} answers at hand are missing: `charz refresh` fills them" in said


def test_a_portion_of_sums_has_room_by_distinct_shapes(connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten equal kernels take as much memory as a shape of 1 + 9 * 0.2 kernels in sums over runs, and as ten where each kernel has a row."""
    monkeypatch.setattr(evaluate, "KERNELS_AT_ONCE", 100)
    monkeypatch.setattr(evaluate, "_weights", lambda *_: {"m": [(1, {"backend": "eager"}, dict.fromkeys(range(60), 10), 10)]})
    monkeypatch.setattr(evaluate, "_shape_shares", lambda _: {("m", "eager"): 0.1})
    monkeypatch.setattr(evaluate, "KERNELS_PER_SUM", 0)
    scope = scopes.Scope(models=["m"])
    # ceil(10 * (0.2 + 0.8 * 0.1)) = 3 for each of 60 parts: 33 fit; 10 parts fit with a row for each kernel.
    assert evaluate.portion_count(connection, scope, ["model_cost"]) == 2
    assert evaluate.portion_count(connection, scope, ["kernel_cost"]) == 6


def test_shares_of_shapes_are_those_of_stored_runs(connection: duckdb.DuckDBPyConnection) -> None:
    for (model, backend), share in evaluate._shape_shares(connection).items():
        query = "SELECT COUNT(DISTINCT (run, shape_id)) / COUNT(*) FROM run_kernel WHERE run.model = ? AND run.backend = ?"
        assert connection.execute(query, [model, backend]).fetchall() == [(pytest.approx(share),)]


def test_a_relation_and_the_one_at_hand_say_which_they_are(path: Path) -> None:
    """A client that lists relations can tell the stored relation from the evaluated one of the same name."""
    query = "SELECT schema_name, comment FROM duckdb_views() WHERE view_name = 'model_report' ORDER BY schema_name"
    with duckdb.connect(str(path), read_only=True) as connection:
        told = dict(connection.execute(query).fetchall())
    assert "At hand for stored scenarios; model_report evaluates it" in told["answer"]
    assert "Evaluated when it is asked; answer.model_report has it" in told["main"]


def test_a_refresh_names_models_of_other_rules(path: Path) -> None:
    """A rule of precision is compiled into every model. `refresh` names the models that a changed rule affects, until the change
    is reverted."""
    said: list[str] = []
    rule = "WHERE policy = 'fp16' AND operator_class = '*'"
    with duckdb.connect(str(path)) as connection:
        ((before,),) = connection.execute(f"SELECT compute_precision FROM precision_policy {rule}").fetchall()
        connection.execute(f"UPDATE precision_policy SET compute_precision = 'bf16' {rule}")
    with Session(path, messages=Messages(warn=said.append)) as db:
        db.refresh()
        models = db.sql("SELECT model FROM model ORDER BY model")["model"].to_list()
    assert any(line.startswith("compiled by rules") and ", ".join(models) in line for line in said)
    said.clear()
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"UPDATE precision_policy SET compute_precision = ? {rule}", [before])
    with Session(path, messages=Messages(warn=said.append)) as db:
        db.refresh()
    assert not any(line.startswith("compiled by rules") for line in said)


def test_one_column_at_hand_has_one_meaning(tmp_path: Path) -> None:
    """Two relations stored in one row may not use one name for different columns."""
    from charz.sql import views

    root = tmp_path / "sql"
    shutil.copytree(views.ROOT, root)
    report = root / "6_report" / "model_latency.sql"
    report.write_text(
        report.read_text().replace("c.roofline_s,", "-- Something else. [s]\n    c.roofline_s + 0e0 AS energy_j,")
    )
    with duckdb.connect() as connection, pytest.raises(CharzError, match="energy_j of model_cost and of model_latency"):
        from charz.schema import database, ddl

        for row_type in database.TABLES:
            connection.execute(ddl.create_table(row_type))
        views.create(connection, views.load(root))


def test_which_facts_clear_which_answers(connection: duckdb.DuckDBPyConnection) -> None:
    """`CHANGES` tries some facts; here all are listed. Facts that no answer reads are absent."""
    found = triggers.clears(connection)
    assert {
        "hardware_cluster": "hardware", "hardware_power": "hardware", "price": "hardware", "hardware": "hardware",
        "scenario": "scenario_id", "model": "model", "library_constant": "", "fusion_rule": "", "efficiency": "scope",
        "tiling_strategy": "family", "cuda_limit": "compute_capability",
    }.items() <= found.items()  # fmt: skip
    assert not {"source", "hardware_alias", "hardware_conflict", "energy_fact", "measurement"} & found.keys()
    queued = {trigger.table.removeprefix("main.") for trigger in triggers.expected(connection)}
    assert found.keys() <= queued
