"""`charz sql`: the same rows as every other client, and no way out of the sandbox."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest

from charz.cli.dispatch import run
from charz.schema.errors import CharzError
from charz.session import Session

from .conftest import Charz, assert_one_line_error, same

QUERIES = (
    "SELECT * FROM model_report ORDER BY hardware, scenario_id",
    "SELECT * FROM operator_work WHERE batch = 8 AND precision = 'fp32' ORDER BY ALL",
    "SELECT * FROM hardware ORDER BY hardware",
    "SELECT * FROM view_column ORDER BY ALL",
)


def assert_same_rows(left: pl.DataFrame, right: pl.DataFrame) -> None:
    assert left.columns == right.columns
    assert len(left) == len(right) > 0
    for name in left.columns:
        unequal = [(a, b) for a, b in zip(left[name], right[name], strict=True) if not same(a, b)]
        assert not unequal, (name, unequal[:3])


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES)
def test_every_client_sees_the_same_rows(resnet18: Path, charz: Charz, tmp_path: Path, query: str) -> None:
    with duckdb.connect(str(resnet18), read_only=True) as connection:
        plain = connection.sql(query).pl()
        fetched = pl.DataFrame(connection.execute(query).fetchall(), schema=plain.schema, orient="row")
    assert_same_rows(plain, fetched)
    out = tmp_path / "rows.parquet"
    done = charz("sql", query, "--db", str(resnet18), "--format", "parquet", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert_same_rows(plain, pl.read_parquet(out))
    done = charz("sql", query, "--db", str(resnet18), "--format", "csv")
    text = pl.read_csv(io.StringIO(done.stdout), schema=plain.schema)
    # CSV has one form for an empty and a missing text.
    filled = pl.selectors.string().fill_null("")
    assert_same_rows(plain.with_columns(filled), text.with_columns(filled))


def test_formats(resnet18: Path, charz: Charz) -> None:
    query = "SELECT 'a' AS name, 1.5::DOUBLE AS value, NULL::INT AS nothing"
    outputs = {
        f: charz("sql", query, "--db", str(resnet18), "--format", f).stdout
        for f in ("table", "json", "markdown", "csv")
    }
    assert outputs["table"].splitlines()[0].split() == ["name", "value", "nothing"]
    assert outputs["json"] == '[{"name":"a","value":1.5,"nothing":null}]\n'
    assert outputs["markdown"].splitlines()[2] == "| a | 1.50 | - |"
    assert outputs["csv"] == "name,value,nothing\na,1.5,\n"


@pytest.mark.parametrize("format", ["table", "json", "markdown", "csv"])
def test_values_of_every_kind_are_written(resnet18: Path, charz: Charz, format: str) -> None:
    query = (
        "SELECT INTERVAL 1 DAY AS i, [1, 2] AS l, {'a': DATE '2026-03-15'} AS s, DATE '0044-03-15 (BC)' AS c, 'x'::BLOB AS b, MAP {1: 'k'} AS m,"
        " 1.5::DECIMAL(9, 2) AS d, 170141183460469231731687303715884105727::HUGEINT AS h, '=1+1' AS f, 'nan'::DOUBLE AS n,"
        " TIMESTAMP 'infinity' AS t"
    )
    done = charz("sql", query, "--db", str(resnet18), "--format", format)
    assert done.returncode == 0, done.stderr
    assert "170141183460469231731687303715884105727" in done.stdout
    if format == "csv":
        assert ",'=1+1," in done.stdout


ATTACKS = (
    "COPY (SELECT 1) TO '{db}.wal'",
    "WITH x AS (COPY (SELECT 1) TO '{db}.wal') SELECT * FROM x",
    "COPY (SELECT 1) TO '/tmp/charz_attack.csv'",
    "ATTACH '{folder}/other.duckdb'",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('{db}')",
    "SELECT * FROM '/etc/passwd'",
    "EXPORT DATABASE '{folder}/dump'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET disabled_filesystems = ''",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "INSERT INTO source VALUES ('a', 'b', 'c', NULL, 'd')",
    "DROP TABLE source",
    "CREATE TABLE mine (a INT)",
    "SELECT * FROM resnet18",
    "SELECT 1; SELECT 2",
    "",
)


@pytest.fixture(scope="module")
def alone(resnet18: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copy is in a folder of its own, where no file may appear."""
    return Path(shutil.copy(resnet18, tmp_path_factory.mktemp("alone") / resnet18.name))


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_sandbox_holds(alone: Path, charz: Charz, attack: str) -> None:
    before = alone.read_bytes()
    done = charz("sql", attack.format(db=alone, folder=alone.parent), "--db", str(alone))
    assert_one_line_error(done)
    assert [p.name for p in alone.parent.iterdir()] == [alone.name]
    assert alone.read_bytes() == before


@pytest.mark.slow
def test_the_sandbox_holds_for_a_scratch_scenario(alone: Path, charz: Charz) -> None:
    for attack in ATTACKS[:8]:
        text = attack.format(db=alone, folder=alone.parent)
        assert_one_line_error(charz("sql", text, "--db", str(alone), "--batch", "3"))
    assert [p.name for p in alone.parent.iterdir()] == [alone.name]


def test_a_runaway_query_is_stopped(resnet18: Path, charz: Charz) -> None:
    query = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range = b.range + 1"
    assert_one_line_error(charz("sql", query, "--db", str(resnet18), "--timeout", "1"), "longer than 1 s")


def test_a_greedy_query_is_stopped(resnet18: Path, charz: Charz) -> None:
    query = "SELECT list(range) FROM range(100000000)"
    assert_one_line_error(charz("sql", query, "--db", str(resnet18), "--memory", "200MB"), "needs more memory")


def test_a_scratch_scenario_changes_the_answer_and_not_the_file(resnet18: Path, charz: Charz) -> None:
    before = resnet18.read_bytes()
    query = "SELECT DISTINCT batch, precision FROM operator_work"
    done = charz("sql", query, "--db", str(resnet18), "--batch", "13", "--precision", "fp16", "--format", "csv")
    assert done.stdout == "batch,precision\n13,fp16\n"
    assert resnet18.read_bytes() == before


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("SELEC 1", ["Parser Error"]),
        ("SELECT latencys FROM model_report", ["latency_s", "charz schema"]),
        ("SELECT * FROM model_reprt", ["model_report", "charz schema"]),
    ],
)
def test_broken_sql_gets_one_line(resnet18: Path, charz: Charz, query: str, parts: list[str]) -> None:
    assert_one_line_error(charz("sql", query, "--db", str(resnet18)), *parts)


@pytest.mark.parametrize("scratch", [[], ["--batch", "3"]])
def test_no_progress_bar_gets_into_the_output(resnet18: Path, charz: Charz, scratch: list[str]) -> None:
    query = "SELECT current_setting('enable_progress_bar') AS bar"
    assert charz("sql", query, "--db", str(resnet18), "--format", "csv", *scratch).stdout == "bar\nfalse\n"


def test_a_query_comes_from_standard_input_and_leaves_to_a_file(resnet18: Path, charz: Charz, tmp_path: Path) -> None:
    assert_one_line_error(charz("sql", "SELECT 1", "--db", str(resnet18), "--out", "/nowhere/x.csv"), "cannot write")
    out = tmp_path / "x.csv"
    charz("sql", "SELECT 1 AS a", "--db", str(resnet18), "--format", "csv", "--out", str(out))
    assert out.read_text() == "a\n1\n"


def test_models_and_parts_named(resnet18: Path, charz: Charz) -> None:
    query = "SELECT DISTINCT model, hardware FROM model_report"
    done = charz("sql", query, "--db", str(resnet18), "--model", "resnet18", "--on", "rtx4090", "--format", "csv")
    assert done.stdout.split() == ["model,hardware", "resnet18,rtx4090"]
    several = ["--model", "resnet18,", "--on", "rtx4090,t4", "--format", "csv"]
    done = charz("sql", query + " ORDER BY ALL", "--db", str(resnet18), *several)
    assert done.stdout.split() == ["model,hardware", "resnet18,rtx4090", "resnet18,t4"]
    done = charz("sql", query, "--db", str(resnet18), "--model", "resnet19")
    assert_one_line_error(done, "resnet19", "resnet18")


def test_what_a_query_leaves_out_is_said(charz: Charz, file: Path) -> None:
    query = "SELECT DISTINCT hardware FROM model_report"
    done = charz("sql", query, "--db", str(file), "--on", "rtx4090,t4", "--precision", "bf16", "--format", "csv")
    assert done.stdout.split() == ["hardware", "rtx4090"]
    assert done.stderr.startswith("left out: bf16 on t4, it computes in ")


def test_a_file_of_another_charz_is_brought_up_to_this_one_first(charz: Charz, file: Path, tmp_path: Path) -> None:
    path = tmp_path / "older.duckdb"
    path.write_bytes(file.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE charz_meta SET value = 'other' WHERE key = 'views_fingerprint'")
    done = charz("sql", "SELECT count(*) AS n FROM model_report", "--db", str(path), "--on", "t4", "--format", "csv")
    assert done.returncode == 0 and done.stdout.startswith("n\n"), done.stderr


@pytest.mark.parametrize("timeout", ["inf", "nan", "-1", "1e400", "1e300", "-inf"])
def test_a_time_that_is_none_gets_one_line(resnet18: Path, timeout: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--db", str(resnet18), "sql", "SELECT 1", "--timeout", timeout]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "timeout" in line and not re.search(r"[A-Za-z]+Error", line)


@pytest.mark.parametrize("timeout", [float("inf"), float("nan"), -1.0])
def test_a_time_that_is_none_is_refused_in_python(resnet18: Path, timeout: float) -> None:
    with pytest.raises(CharzError, match="not a time"):
        Session(resnet18).sql("SELECT 1", timeout=timeout)


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be", "latin-1"])
def test_a_query_in_another_code_gets_one_line(resnet18: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    typed = io.TextIOWrapper(io.BytesIO("SELECT 'é'".encode(code)), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", typed)
    with pytest.raises(CharzError, match="standard input is not text in UTF-8") as caught:
        Session(resnet18).sql("-")
    assert ("UTF-16" in caught.value.line) is code.startswith("utf-16")


def test_a_query_may_begin_with_the_mark_of_utf_8(resnet18: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfSELECT 2 AS a"), encoding="utf-8"))
    assert Session(resnet18).sql("-")["a"].to_list() == [2]
