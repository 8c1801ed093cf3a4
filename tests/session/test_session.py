"""The public interface: opening, scopes and SQL of a session, which follows changes of its file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import charz
from charz.schema.errors import CharzError
from charz.session.axes import amount, names, sizes

TARGET = "model = 'small' AND hardware = 't4' AND backend = 'inductor' AND precision = 'fp16' AND batch = 8"


def test_a_report_is_the_row_that_plain_sql_gives(file: Path) -> None:
    with charz.open(file) as db:
        report = db.report("small", on="Tesla T4", batch=8, precision="fp16", backend="inductor")
    with duckdb.connect(str(file), read_only=True) as connection:
        plain = connection.sql(f"SELECT * FROM model_report WHERE {TARGET}").pl()
    assert len(report) == len(plain) == 1
    for column in set(report.columns) & set(plain.columns):
        expected = plain[column][0]
        assert report[column][0] == (pytest.approx(expected, rel=1e-12) if isinstance(expected, float) else expected), (
            column
        )


@pytest.mark.slow("evaluates whole reports two ways")
def test_what_is_not_in_the_file_is_evaluated_as_what_is(file: Path, tmp_path: Path) -> None:
    """A batch without a scenario has the answer that the file gives after the scenario is added."""
    path = tmp_path / "copy.duckdb"
    path.write_bytes(file.read_bytes())
    with charz.open(path) as db:
        asked = db.compare(["small", "other"], on=["t4", "kpu_t64"], batch=[5, 8])
        db.scenario.add(batch=5)
        with duckdb.connect(str(path), read_only=True) as connection:
            assert connection.execute("SELECT count(*) > 0 FROM run WHERE run.batch = 5").fetchall() == [(True,)]
        stored = db.compare(["small", "other"], on=["t4", "kpu_t64"], batch=[5, 8])
    assert len(asked) == 8
    assert_frame_equal(asked, stored, rel_tol=1e-12)


def test_a_session_sees_what_others_write(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.duckdb"
    path.write_bytes(file.read_bytes())
    with charz.open(path) as db, charz.open(path) as other:
        before = db.report("small", on="t4")["latency_s"][0]
        with other.changing() as connection:
            connection.execute(
                "UPDATE hardware_memory SET bandwidth_byte_per_s = bandwidth_byte_per_s / 100 WHERE hardware = 't4'"
            )
        assert db.report("small", on="t4")["latency_s"][0] > before


def test_a_scope_knows_nothing_else(file: Path) -> None:
    with charz.open(file) as db:
        scoped = db.scope(models=["small", "other"], hardware="Tesla T4", scenarios=[1, 2])
        found = scoped.sql("SELECT DISTINCT model, hardware, scenario_id FROM model_report")
        assert set(found["model"]) == {"small", "other"} and set(found["hardware"]) == {"t4"}
        assert set(found["scenario_id"]) == {1, 2}
        assert set(scoped.compare("small")["hardware"]) == {"t4"}
        with pytest.raises(CharzError, match="unknown model: decoder"):
            scoped.compare("decoder")
        with pytest.raises(CharzError, match="unknown part: l4"):
            scoped.report("small", on="l4")
        assert set(scoped.scope(models="other").sql("SELECT DISTINCT run.model FROM run")["model"]) == {"other"}
        with pytest.raises(CharzError, match="unknown scenario: 999"):
            db.scope(scenarios=[999])
        assert db.sql("SELECT count(DISTINCT run.model) AS n FROM run")["n"][0] == 3


@pytest.mark.slow("evaluates whole reports two ways")
def test_sql_answers_as_a_plain_client(file: Path) -> None:
    query = f"SELECT kernel_id, latency_s FROM kernel_latency WHERE {TARGET} ORDER BY kernel_id"
    with charz.open(file) as db, duckdb.connect(str(file), read_only=True) as connection:
        plain = connection.sql(query).pl()
        assert_frame_equal(db.sql(query), plain)
        assert_frame_equal(db.lazy(query).collect(), plain)
        assert isinstance(db.lazy(query), pl.LazyFrame)


def test_each_column_of_a_query_is_described(file: Path) -> None:
    with charz.open(file) as db:
        found = db.schema("SELECT model, latency_s, energy_j AS spent_j, 2 * batch AS twice FROM model_report")
        rows = {row["column"]: row for row in found.iter_rows(named=True)}
        assert [rows[name]["unit"] for name in ("model", "latency_s", "spent_j", "twice")] == [None, "s", "J", None]
        assert rows["latency_s"]["meaning"].startswith("Time of one run")
        assert rows["spent_j"]["meaning"].startswith("Total energy")
        assert rows["twice"]["meaning"] is None
        view = db.schema("model_report")
        assert view["column"].to_list() == db.sql("SELECT * FROM model_report LIMIT 0").columns
        assert view["meaning"].null_count() == 0
        with pytest.raises(CharzError, match="the query failed"):
            db.schema("SELECT nothing FROM model_report")


def test_a_guarded_session_reads_the_database_and_nothing_else(file: Path, tmp_path: Path) -> None:
    with charz.open(file, is_guarded=True) as db:
        for attack in (f"COPY (SELECT 1) TO '{tmp_path}/out.csv'", f"SELECT * FROM read_text('{file}')"):
            with pytest.raises(CharzError, match="the query failed|the statement returns no rows"):
                db.sql(attack)
    assert not list(tmp_path.iterdir())


def test_no_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CharzError, match="no such database"), charz.open(tmp_path / "none.duckdb") as db:
        db.report("small", on="t4")


def test_to_report_imports_no_torch_no_polars_and_no_pydantic(file: Path) -> None:
    script = (
        "import sys, charz; db = charz.open(sys.argv[1]); type(db).report.asked.rows(db, 'small', on='t4').fetch();"
        "print(sorted({'torch', 'polars', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_names_as_people_write_them() -> None:
    assert names("resnet50, hf:gpt2,n_layer=2,vocab_size=9,t4") == ["resnet50", "hf:gpt2,n_layer=2,vocab_size=9", "t4"]
    assert names(["resnet18,train", "t4,"]) == ["resnet18,train", "t4"]
    assert names(None) == names("") == []


def test_sizes_as_people_write_them() -> None:
    assert sizes("1:8") == [1, 2, 4, 8]
    assert sizes("64:192:64,5") == [5, 64, 128, 192]
    assert sizes(7) == sizes([7, 7]) == [7]
    assert sizes(None) == []


def test_amounts_have_units() -> None:
    assert amount("5ms", "s", "--latency") == 0.005
    assert amount("8GiB", "byte", "--memory") == 8 * 2**30
    assert amount(0.5, "s", "--latency") == 0.5
    assert amount("2Wh", "J", "--energy") == 7200
