"""`export` writes the answers of the views, in any cut, for other tools to read."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import polars as pl
import polars.testing
import pytest
from oracle.database import ingested
from whole.generated import graph

import charz
from charz.ingest import write
from charz.schema import unfinished
from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.engine import rows
from charz.session.file import export
from charz.session.messages import Messages
from charz.sql import evaluate, maintain, spark

PARTS = ["t4", "i7_13700k", "tpu_v4"]
"""Parts of three families."""

SCENARIOS = [1, 2, 17, 18, 25]

SUM = "SELECT count(*), sum(latency_s), sum(energy_j), sum(peak_memory_byte) FROM {}"


@pytest.fixture(scope="module")
def db(file: Path) -> Iterator[Session]:
    with charz.open(file).scope(scenarios=SCENARIOS) as session:
        yield session


@pytest.fixture(scope="module")
def whole(db: Session) -> duckdb.DuckDBPyConnection:
    """Return every view for the parts."""
    return db.scope(hardware=PARTS).whole().connection


@pytest.fixture(scope="module")
def expected(whole: duckdb.DuckDBPyConnection) -> tuple[float, ...]:
    """Return sums over the runs of all models on the parts."""
    ((*sums,),) = whole.execute(SUM.format("model_report")).fetchall()
    assert sums[0] > 0
    return tuple(sums)


def reports(session: Session) -> list[str]:
    query = "SELECT view FROM view_catalog WHERE layer = '6_report' ORDER BY view"
    return [name for (name,) in session.connection().execute(query).fetchall()]


def test_every_report_is_what_its_view_answers(db: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A portion with room for one kernel contains one model and one part."""
    monkeypatch.setattr(evaluate, "KERNELS_AT_ONCE", 1)
    asked = {"models": ["small", "decoder"], "hardware": PARTS[:2]}
    written = db.export(tmp_path / "out", models=asked["models"], on=asked["hardware"], tiles=True, full=True)
    whole = db.scope(**asked).whole().connection
    listed = db.connection().sql("SELECT view, column_name FROM view_column").pl()
    for name in reports(db):
        names = pl.read_parquet_schema(tmp_path / f"out/view/{name}.parquet")
        assert set(names) == set(listed.filter(view=name)["column_name"])
        columns = ", ".join(f'"{column}"' for column in names)
        expected = whole.sql(f"SELECT {columns} FROM {name} ORDER BY ALL").pl()
        found = duckdb.sql(f"SELECT {columns} FROM '{tmp_path}/out/view/{name}.parquet' ORDER BY ALL").pl()
        pl.testing.assert_frame_equal(found, expected, rel_tol=1e-9)
        assert written.filter(pl.col("name") == name)["row_count"].to_list() == [len(expected)]
    assert len(pl.read_parquet(tmp_path / "out/view/kernel_latency.parquet")) > 100


@pytest.mark.parametrize("format", ["parquet", "duckdb"])
def test_what_a_killed_export_left_is_removed_and_nothing_else(db: Session, tmp_path: Path, format: str) -> None:
    left, edited = tmp_path / ".old.abc.charz-unfinished", tmp_path / ".mine.part"
    for place in (left, edited):
        (place / "table").mkdir(parents=True)
        (place / "table" / "run.parquet").write_bytes(b"half")
    (tmp_path / ".link.charz-unfinished").symlink_to(edited)
    with unfinished.folder(tmp_path / "other") as held:
        (held / "rows").write_text("at work")
        db.export(tmp_path / "out", models="small", on="t4", views="model_report", format=format)
        assert (held / "rows").read_text() == "at work"
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"out", ".mine.part", ".link.charz-unfinished"} and (edited / "table/run.parquet").exists()


_KILLED = """
import os, signal, sys, charz
from charz.session.file import export_files
def killed(self, name, reader):
    os.kill(os.getpid(), signal.SIGKILL)
export_files.Folder.append = killed
charz.open(sys.argv[1]).export(sys.argv[2], models="small", on="t4", views="model_report")
"""


def test_an_export_that_is_killed_is_cleaned_up_by_the_next(db: Session, tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(db.path), str(tmp_path / "out")], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [path.suffix for path in tmp_path.iterdir()] == [".charz-unfinished"]
    db.export(tmp_path / "second", models="small", on="t4", views="model_report")
    assert [path.name for path in tmp_path.iterdir()] == ["second"]


@pytest.mark.default
def test_files_hold_the_models_and_parts_asked_for(db: Session, tmp_path: Path) -> None:
    db.export(tmp_path / "out", models="small,other", on="t4", batch=3, precision="fp16", views="model_report")
    assert [path.name for path in (tmp_path / "out/view").iterdir()] == ["model_report.parquet"]
    report = pl.read_parquet(tmp_path / "out/view/model_report.parquet")
    assert set(report["model"]) == {"small", "other"} and set(report["hardware"]) == {"t4"}
    assert set(report["batch"]) == {3} and set(report["precision"]) == {"fp16"}
    for table, column, values in (
        ("operator", "model", {"small", "other"}),
        ("run_kernel", "model", {"small", "other"}),
        ("hardware_memory", "hardware", {"t4"}),
        ("arithmetic_rate", "hardware", {"t4"}),
        ("scenario", "batch", {3}),
    ):
        frame = pl.read_parquet(tmp_path / f"out/table/{table}.parquet")
        assert set((frame.unnest("run") if "run" in frame.columns else frame)[column]) == values, table
    asked = db.compare(["small", "other"], on="t4", batch=3, precision="fp16", backend="eager")
    same = report.filter(pl.col("backend") == "eager")
    assert sorted(same["latency_s"]) == pytest.approx(sorted(asked["latency_s"]), rel=1e-9)


def test_a_folder_loads_as_a_copy_that_answers(
    db: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: tuple[float, ...]
) -> None:
    """Tables and statements of the views are the same in every format."""
    tables, views = {}, {}
    for format in ("parquet", "csv"):
        db.export(tmp_path / format, format=format, on=PARTS, views="model_report")
        monkeypatch.chdir(tmp_path / format)
        made, begin, views[format] = Path("load.sql").read_text().partition("CREATE VIEW")
        with duckdb.connect() as loaded:
            loaded.execute(made)
            names = loaded.execute("SELECT CONCAT(schema_name, '.', table_name) FROM duckdb_tables() ORDER BY 1").fetchall()
            tables[format] = {
                name: loaded.execute(f"SELECT count(*), sum(hash(t)) FROM {name} AS t").fetchall() for (name,) in names
            }
            (stored,) = loaded.execute(SUM.format(f"'view/model_report.{format}'")).fetchall()
            assert stored == pytest.approx(expected, rel=1e-9)
            if format == "csv":
                loaded.execute(begin + views[format])
                (found,) = loaded.execute(SUM.format("model_report")).fetchall()
                assert found == pytest.approx(expected, rel=1e-9)
    # A text of the mart that a spreadsheet would run as a formula is quoted in CSV alone.
    sources = [tables[format].pop("mart.sources")[0][0] for format in ("csv", "parquet")]
    assert sources[0] == sources[1] > 0
    assert tables["csv"] == tables["parquet"] and len(tables["csv"]) > 50
    mart = {f"mart.{path.stem}" for path in (tmp_path / "csv/mart").iterdir()}
    assert mart - {"mart.sources"} == {name for name in tables["csv"] if name.startswith("mart.")}
    ((count, _),) = tables["csv"]["mart.runs"]
    assert count == len(pl.read_parquet(tmp_path / "parquet/mart/runs.parquet")) > 0
    assert views["csv"] == views["parquet"]


def test_one_file_holds_tables_and_answers(db: Session, tmp_path: Path, expected: tuple[float, ...]) -> None:
    db.export(tmp_path / "out.duckdb", format="duckdb", storage="v1.5.0", on=PARTS, views="model_report,kernel_term")
    with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as connection:
        (found,) = connection.execute(SUM.format("model_report")).fetchall()
        assert connection.execute("SELECT count(*) FROM operator").fetchall() == [(len(db.sql("FROM operator")),)]
        assert connection.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]
        bare = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND comment IS NULL"
        assert connection.execute(bare).fetchall() == []
        bare = "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND comment IS NULL"
        assert connection.execute(bare).fetchall() == []
        inner = "SELECT comment FROM duckdb_tables() WHERE comment LIKE '%answer.%' OR comment LIKE '%do not write%'"
        assert connection.execute(inner).fetchall() == []
        query = "SELECT table_name, constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
        keys = dict(connection.execute(query).fetchall())
        assert keys["operator"] == ["model", "operator_id"] and keys["hardware"] == ["hardware"]
        assert "hardware" in keys["model_report"] and "kernel_term" in keys
    assert found == pytest.approx(expected, rel=1e-9)
    assert [path.name for path in tmp_path.iterdir()] == ["out.duckdb"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "script"),
    [
        ("duckdb==1.5.*", "import duckdb; print(*duckdb.connect('out.duckdb').execute({sum!r}).fetchall()[0])"),
        (
            "pandas pyarrow",
            "import pandas as pd; f = pd.read_parquet('out/view/model_report.parquet');"
            "print(len(f), f.latency_s.sum(), f.energy_j.sum(), f.peak_memory_byte.sum())",
        ),
        (
            "polars",
            "import polars as pl; f = pl.read_parquet('out/view/model_report.parquet');"
            "print(len(f), f['latency_s'].sum(), f['energy_j'].sum(), f['peak_memory_byte'].sum())",
        ),
    ],
    ids=["duckdb 1.5", "pandas", "polars"],
)
def test_other_tools_get_the_same_sums(
    db: Session, tmp_path: Path, package: str, script: str, expected: tuple[float, ...]
) -> None:
    """Each package is installed by pip in an environment of its own."""
    python = tmp_path / "venv/bin/python"
    venv.create(tmp_path / "venv", with_pip=True)
    installed = subprocess.run(
        [python, "-m", "pip", "install", "-q", *package.split()], capture_output=True, check=False
    )
    if installed.returncode:
        pytest.skip(f"pip cannot install {package}")
    db.export(tmp_path / "out.duckdb", format="duckdb", storage="v1.5.0", on=PARTS, views="model_report")
    db.export(tmp_path / "out", on=PARTS, views="model_report")
    text = script.replace("{sum!r}", repr(SUM.format("model_report")))
    done = subprocess.run([python, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False, env={})
    assert done.returncode == 0, done.stderr
    assert [float(word) for word in done.stdout.split()] == pytest.approx(expected, rel=1e-9)


@pytest.fixture(scope="module")
def grown(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy of the file that a test may extend."""
    return Path(shutil.copy(file, tmp_path_factory.mktemp("grown") / "grown.duckdb"))


def test_spark_gets_what_the_models_read(db: Session, grown: Path, tmp_path: Path, expected: tuple[float, ...]) -> None:
    place = tmp_path / "out"
    with charz.open(grown) as session:
        written = session.export(place, for_="spark")
        assert set(written["name"]) == set(spark.sources(session.connection()))
        assert (written["row_count"] == written["added_count"]).all()
        found = spark.statements(session.connection())
    text = (place / "load.sql").read_text()
    made = [line.split()[5] for line in text.splitlines() if line.startswith("CREATE OR REPLACE TEMPORARY VIEW")]
    assert made == [statement.name for statement in found]
    assert str(tmp_path) not in text
    # DuckDB evaluates its own text over the rows.
    with duckdb.connect() as other:
        for name in sorted(set(written["name"])):
            other.execute(f"CREATE TABLE {name} AS FROM '{place}/{name}/*.parquet'")
        other.execute(f"DELETE FROM run WHERE run.scenario_id NOT IN {tuple(SCENARIOS)}")
        other.execute(f"DELETE FROM part_support WHERE hardware NOT IN {tuple(PARTS)}")
        for model in spark.models(db.connection()):
            other.execute(f"CREATE VIEW {model.name} AS {model.body}")
        (sums,) = other.execute(SUM.format("model_report")).fetchall()
    assert sums == pytest.approx(expected, rel=1e-9)


def test_the_manifest_says_what_each_file_holds(grown: Path, tmp_path: Path) -> None:
    with charz.open(grown) as session:
        session.export(tmp_path, for_="spark")
        versions = rows.versions(session.connection())
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert {name: manifest[name] for name in versions} == versions
    assert set(manifest["models"]) == {"small", "other", "decoder"}
    listed = [file for files in manifest["files"].values() for file in files]
    for file in listed:
        path = tmp_path / file["file"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == file["sha256"]
        assert pl.scan_parquet(path).select(pl.len()).collect().item() == file["rows"]
    there = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert there == {file["file"] for file in listed} | {"manifest.json", "load.sql", "probe.parquet"}


def test_a_new_model_costs_its_own_rows(grown: Path, tmp_path: Path) -> None:
    """Existing files are not written again, and the leftovers of a killed export are deleted."""
    with charz.open(shutil.copy(grown, tmp_path / "other.duckdb")) as session:
        session.export(tmp_path / "out", for_="spark")
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*-*.parquet")}
        assert session.export(tmp_path / "out", for_="spark")["added_count"].sum() == 0
        left = tmp_path / "out/kernel/lost-0123456789ab.parquet"
        left.write_bytes(b"half")
        with session.changing() as connection:
            write.write(connection, [ingested(graph(9), "fourth")], maintain.add_runs)
        written = session.export(tmp_path / "out", for_="spark")
        added = dict(written.filter(pl.col("added_count") > 0)["name", "added_count"].iter_rows())
        count = "SELECT count(*) FROM kernel WHERE model = 'fourth'"
        assert added["kernel"] == session.sql(count).item() > 0
        assert "part" not in added
        assert "arithmetic_tile" not in added
    assert not left.exists()
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*-*.parquet")}
    kept = {path for path in before if path.parent.name not in ("model", *added)}
    assert {path: before[path] for path in kept} == {path: after[path] for path in kept}


def test_a_changed_part_costs_the_rows_of_parts(grown: Path, tmp_path: Path) -> None:
    path = shutil.copy(grown, tmp_path / "other.duckdb")
    with charz.open(path) as session:
        session.export(tmp_path / "out", for_="spark")
    with duckdb.connect(path) as connection:
        connection.execute(
            "UPDATE hardware_memory SET bandwidth_byte_per_s = 1e12 WHERE hardware = 't4' AND level = 'dram'"
        )
    with charz.open(path) as session:
        written = session.export(tmp_path / "out", for_="spark").filter(pl.col("added_count") > 0)
    assert "hardware_memory" in set(written["name"])
    assert not {"kernel", "run_kernel", "tensor"} & set(written["name"])


def test_a_large_answer_set_is_asked_for_first(db: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "ASKS_FIRST_BYTE", 1)
    with pytest.raises(CharzError, match=r"a large export: about .* kernels on parts.*--force"):
        db.export(tmp_path / "out", on="t4", full=True)
    assert list(tmp_path.iterdir()) == []
    db.export(tmp_path / "out", on="t4", models="small", views="kernel_energy", force=True)
    assert (tmp_path / "out/view/kernel_energy.parquet").exists()


def test_what_is_at_hand_is_written_and_kernels_are_not_evaluated(
    db: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default export is small for any number of kernels: it contains no report of kernels, pairs or changes."""
    monkeypatch.setattr(export, "ASKS_FIRST_BYTE", 1)
    steps: list[str] = []
    counts: list[int] = []

    @contextlib.contextmanager
    def progress(title: str, total: int) -> Iterator[Callable[[str], None]]:
        counts.append(total)
        yield steps.append

    session = db.scope(hardware=PARTS)
    said: list[str] = []
    session.messages = dataclasses.replace(session.messages, progress=progress, remark=said.append)
    written = session.export(tmp_path / "out").filter(kind="view")
    names = set(written["name"])
    assert {"model_report", "model_energy", "recommendation", "model_list", "inference_cost", "operator_work"} <= names
    assert not names & {
        "kernel_latency",
        "kernel_term",
        "module_edp",
        "opportunity",
        "architecture_comparison",
        "part_difference",
    }
    assert counts == [len(steps)]
    (line,) = (line for line in said if line.startswith("begin with mart.runs;"))
    assert "large reports, of kernels (kernel_latency, kernel_energy)" in line and "--views names some, --full writes all" in line
    assert all(step.startswith("mart.") for step in steps[:7]) and steps[7] == "facts"


def test_full_writes_every_report(db: Session, tmp_path: Path) -> None:
    written = db.export(tmp_path / "out", models="small", on="t4", full=True).filter(kind="view")
    assert set(written["name"]) == set(reports(db)) - {"kernel_tile"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"views": "model_reprt"}, "unknown report.*model_report"),
        ({"models": "smal"}, "unknown model.*small"),
        ({"on": "t44"}, "unknown part"),
        ({"precision": "fp61"}, "unknown precision"),
        ({"format": "duckdb", "storage": "v0"}, "unknown storage: v0.*v1.5.0"),
        ({"for_": "spark", "format": "csv"}, "not for Spark"),
        ({"for_": "spark"}, "not for Spark"),
    ],
)
def test_what_is_wrong_leaves_nothing(db: Session, tmp_path: Path, options: dict[str, str], says: str) -> None:
    with pytest.raises(CharzError, match=says):
        db.export(tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_stays(db: Session, tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("kept")
    with pytest.raises(CharzError, match="not empty"):
        db.export(tmp_path, on="t4")
    with pytest.raises(CharzError, match="exists already"):
        db.export(tmp_path / "kept.txt", on="t4", format="duckdb")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("kept.txt", "kept")]


def test_what_cannot_be_written_is_one_line(db: Session, tmp_path: Path) -> None:
    """A folder cannot be made within a file."""
    (tmp_path / "file").write_text("kept")
    for format in ("parquet", "duckdb"):
        with pytest.raises(CharzError, match="cannot write the export"):
            db.export(tmp_path / "file" / "out", on="t4", format=format, views="model_report")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "kept")]


def test_a_name_leads_to_no_other_folder(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "odd.duckdb"
    path.parent.mkdir()
    path.write_bytes(file.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute('CREATE TABLE "../../../planted" AS SELECT 1 AS i')
    with charz.open(path) as session, pytest.raises(CharzError, match="not a valid file name"):
        session.export(path.parent / "out", models="small", on="t4")
    assert [p.name for p in tmp_path.iterdir()] == ["deep"] and [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_link_to_an_empty_folder_leads_there(db: Session, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    db.export(tmp_path / "link", models="small", on="t4", views="model_report")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "view" / "model_report.parquet").exists()


def test_no_spreadsheet_runs_a_report(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "formula.duckdb"
    path.write_bytes(file.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE source SET licence = '=1+1'")
        connection.execute("CREATE VIEW mine AS SELECT '=1+1' AS a, '-5' AS b, 'x' AS c, NULL::VARCHAR AS d")
    with charz.open(path, trust=True) as session:
        session.export(tmp_path / "out", models="small", on="t4", views="mine", format="csv")
    assert (tmp_path / "out/view/mine.csv").read_text() == '"a","b","c","d"\n"\'=1+1","-5","x",\n'
    assert '"=1+1"' in (tmp_path / "out/table/source.csv").read_text(), "the tables are read back"


def test_what_cannot_run_is_said(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "fixed.duckdb"
    path.write_bytes(file.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE model SET is_batch_symbolic = false, default_batch = 3 WHERE model = 'other'")
    said: list[str] = []
    with Session(path, messages=Messages(warn=said.append)) as session:
        session.export(tmp_path / "out", on="t4,rtx4090", precision="bf16", batch=8, views="model_report")
        with pytest.raises(CharzError, match="does not compute in this precision: bf16 on t4"):
            session.export(tmp_path / "none", on="t4", precision="bf16")
    assert said == [
        "left out: bf16 on t4, it computes in fp16, fp32, fp64, int4, int8",
        "left out: other, its batch is fixed at 3",
    ]
    report = pl.read_parquet(tmp_path / "out/view/model_report.parquet")
    assert set(report["model"]) == {"small", "decoder"} and set(report["hardware"]) == {"rtx4090"}


def test_a_full_disk_is_named_with_its_folder(db: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'Failed to commit: Could not write file "x": No space left on device'

    def full(*_: object) -> int:
        raise duckdb.TransactionException(text)

    monkeypatch.setattr("charz.session.file.export_files._count", full)
    with pytest.raises(CharzError, match=f"the disk is full: {tmp_path}"):
        db.export(tmp_path / "out.duckdb", models="small", on="t4", views="model_report", format="duckdb")
    assert list(tmp_path.iterdir()) == []
