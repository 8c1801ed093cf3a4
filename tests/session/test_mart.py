"""The schema `mart`: one row a key, the run that people would ask, two prices in two columns; its export, and rows of plain clients."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import duckdb
import polars as pl
import pytest

import charz
from charz.cli import dispatch
from charz.schema.errors import CharzError
from charz.session import Session

KEYS = {
    "models": "model", "parts": "hardware", "prices": "hardware", "sources": "source_id", "runs": "model, hardware, scenario_id",
    "measurements": "measurement_id", "predictions": "measurement_id, scenario_id",
    "kernels": "model, hardware, scenario_id, kernel_id", "modules": "model, hardware, scenario_id, module_id",
    "operators": "model, hardware, scenario_id, kernel_id, operator_id, step",
}  # fmt: skip
LIVE = ("kernels", "modules", "operators")


@pytest.fixture
def path(file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(file, tmp_path / "c.duckdb"))


@pytest.fixture
def plain(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A client that has only the file."""
    with duckdb.connect(str(file), read_only=True) as connection:
        yield connection


@pytest.mark.default
def test_every_relation_has_one_row_a_key_and_names_it(plain: duckdb.DuckDBPyConnection) -> None:
    told = dict(plain.sql("SELECT view_name, comment FROM duckdb_views() WHERE schema_name = 'mart'").fetchall())
    assert told.keys() == KEYS.keys()
    for name, key in KEYS.items():
        where = "WHERE model = 'small' AND hardware = 't4' AND batch = 1" if name in LIVE else ""
        nulls = " OR ".join(f"{column} IS NULL" for column in key.split(", "))
        query = f"SELECT COUNT(*), COUNT(DISTINCT ({key})), COUNT(*) FILTER ({nulls}) FROM mart.{name} {where}"
        ((rows, keys, empty),) = plain.sql(query).fetchall()
        assert rows == keys and not empty and f"Key: {key}" in told[name], name
        assert rows or name in ("measurements", "predictions")
    query = "SELECT column_name FROM duckdb_columns() WHERE schema_name = 'mart' AND comment IS NULL"
    assert plain.sql(query).fetchall() == []


@pytest.mark.default
def test_the_usual_run_is_the_one_that_a_report_answers(file: Path) -> None:
    with charz.open(file) as db:
        usual = db.sql("SELECT * FROM mart.runs WHERE is_default")
        counts = db.sql("SELECT model, hardware, SUM(is_default::INTEGER) AS n FROM mart.runs GROUP BY ALL")
        assert counts["n"].unique().to_list() == [1]
        for part in ("t4", "kpu_t64", "i7_13700k", "tpu_v4", "epyc_9654"):
            ((backend, precision, batch, latency),) = usual.filter(model="small", hardware=part)[
                "backend", "precision", "batch", "latency_s"
            ].rows()
            row = db.report("small", on=part).row(0, named=True)
            assert (backend, precision, batch) == (row["backend"], row["precision"], row["batch"])
            assert latency == pytest.approx(row["latency_s"])


def test_a_part_whose_usual_run_is_not_stored_shows_another_of_its_backend(path: Path) -> None:
    """Without its scenario the T4's run in `torch-fp32` is absent; of inductor's others the widest numbers are exact fp32."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "DELETE FROM scenario WHERE scenario_id IN (SELECT run.scenario_id FROM run WHERE run.backend = 'inductor' AND run.precision = 'torch-fp32')"
        )
        query = "SELECT DISTINCT backend, precision, is_fallback FROM mart.runs WHERE is_default AND hardware = 't4'"
        assert connection.execute(query).fetchall() == [("inductor", "fp32", True)]
        asked = "JOIN mart.parts USING (hardware) WHERE is_default AND (backend, precision) IS DISTINCT FROM (default_backend, default_precision)"
        marked = connection.execute(f"SELECT model, hardware FROM mart.runs {asked} ORDER BY ALL").fetchall()
        assert connection.execute("SELECT model, hardware FROM mart.runs WHERE is_fallback ORDER BY ALL").fetchall() == marked
        connection.execute("INSERT INTO scenario (batch, precision, backend) VALUES (1, 'torch-fp32', 'inductor')")
        assert ("inductor", "torch-fp32", False) in connection.execute(query).fetchall()


def test_the_usual_run_is_known_without_answers_at_hand(path: Path) -> None:
    """A changed power limit drops the answers of the T4; its default run keeps the mark, without numbers."""
    query = "SELECT model, scenario_id FROM mart.runs WHERE is_default AND hardware = 't4' ORDER BY ALL"
    with duckdb.connect(str(path)) as connection:
        before = connection.execute(query).fetchall()
        connection.execute("UPDATE hardware_power SET tdp_w = tdp_w - 1 WHERE hardware = 't4'")
        assert connection.execute("SELECT BOOL_OR(is_at_hand) FROM mart.runs WHERE hardware = 't4'").fetchall() == [(False,)]
        assert connection.execute(query).fetchall() == before != []


def test_rent_and_purchase_are_two_columns(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO list_price VALUES ('t4', 'card', 2000, '2025-01', 'assumption', 'assumed')")
        connection.execute("INSERT INTO list_price VALUES ('kpu_t64', 'module', 90, '2025-02', 'assumption', 'assumed')")
        query = "SELECT rent_usd_per_hour, rent_dated, purchase_usd, purchase_dated, price_kind FROM mart.prices WHERE hardware = ?"
        assert connection.execute(query, ["t4"]).fetchall() == [(0.35, "2025-06", 2000.0, "2025-01", "rent")]
        assert connection.execute(query, ["kpu_t64"]).fetchall() == [(None, None, 90.0, "2025-02", "owned")]


def test_times_of_a_run_sum_to_its_time_and_power_to_its_energy(plain: duckdb.DuckDBPyConnection) -> None:
    """Runs of each kind are among them: some wait for power, some for the threads of a team."""
    query = "SELECT latency_s, compute_s + memory_s + power_s + team_s + overhead_s, energy_j, average_power_w * latency_s FROM mart.runs WHERE is_at_hand"
    whole, parts, energy, power = zip(*plain.sql(query).fetchall(), strict=True)
    assert parts == pytest.approx(whole) and power == pytest.approx(energy)
    for column in ("compute_s", "memory_s", "power_s", "team_s", "overhead_s"):
        assert plain.sql(f"SELECT BOOL_OR({column} > 0e0) FROM mart.runs").fetchall() == [(True,)], column


def test_kernels_modules_and_operators_sum_to_the_run(plain: duckdb.DuckDBPyConnection) -> None:
    which = "model = 'small' AND hardware = 't4' AND batch = 1 AND backend = 'inductor' AND precision = 'fp16'"
    query = f"SELECT latency_s - run_call_s FROM answer.model_latency WHERE {which}"
    (whole,) = plain.sql(query).fetchall()[0]
    sums = {
        "kernels": f"SELECT SUM(latency_s) FROM mart.kernels WHERE {which}",
        "operators": f"SELECT SUM(latency_s) FROM mart.operators WHERE {which}",
        "modules": f"SELECT latency_s FROM mart.modules WHERE {which} AND module = ''",
    }
    assert {name: plain.sql(query).fetchall()[0][0] for name, query in sums.items()} == pytest.approx(dict.fromkeys(sums, whole))


@pytest.mark.default
def test_a_question_of_some_parts_limits_the_mart(file: Path) -> None:
    with charz.open(file) as db:
        found = db.sql("SELECT DISTINCT model, hardware FROM mart.kernels WHERE batch = 1", model="small", on="t4,l4")
        assert sorted(found.rows()) == [("small", "l4"), ("small", "t4")]
        assert "mart.kernels" in db.schema()["name"].to_list()
        listed = db.schema("mart.runs")
        assert "names no condition" in listed.filter(column="is_default")["meaning"][0]


def test_a_client_adds_a_scenario_by_three_columns(path: Path) -> None:
    """All else has defaults, and the number comes from a sequence that never meets the numbers of `charz scenario add`."""
    insert = "INSERT INTO scenario (batch, precision, backend) VALUES (?, 'fp16', 'inductor')"
    with duckdb.connect(str(path)) as connection:
        highest = connection.sql("SELECT MAX(scenario_id) FROM scenario").fetchall()[0][0]
        connection.execute(insert, [7])
        ((number, *rest),) = connection.sql(
            "SELECT scenario_id, sequence, context, phase, memory_format, host_factor, cache_state, power, origin FROM scenario WHERE batch = 7"
        ).fetchall()
        assert (number, *rest) == (1_000_000, None, None, "forward", "nchw", 1.0, "warm", None, "user")
        answered = "SELECT COUNT(*), MIN(batch) FROM model_report WHERE model = 'small' AND hardware = 't4' AND scenario_id = 1000000"
        assert connection.sql(answered).fetchall() == [(1, 7)]
    with Session(path) as db:
        assert db.scenario.add(batch=9, precision="fp16", backend="inductor")["scenario_id"].to_list() == [highest + 1]
    with duckdb.connect(str(path)) as connection:
        connection.execute(insert, [11])
        assert connection.sql("SELECT MAX(scenario_id) FROM scenario").fetchall() == [(1_000_001,)]


def test_an_impossible_number_is_named(path: Path) -> None:
    with duckdb.connect(path) as plain:
        assert plain.execute("SELECT COUNT(*) FROM mart.parts WHERE fault IS NOT NULL").fetchall() == [(0,)]
        plain.execute("UPDATE hardware_memory SET bandwidth_byte_per_s = -1 WHERE hardware = 't4' AND level = 'dram'")
        found = plain.execute("SELECT hardware, fault FROM mart.parts WHERE fault IS NOT NULL").fetchall()
    assert found == [("t4", "memory.dram.bandwidth_byte_per_s")]


def test_a_refresh_evaluates_no_table_that_its_triggers_keep(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from charz.sql import maintain, triggers

    evaluated = []
    refreshed = maintain.refresh
    monkeypatch.setattr(maintain, "refresh", lambda connection: evaluated.append(1) or refreshed(connection))
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE hardware_memory SET bandwidth_byte_per_s = bandwidth_byte_per_s * 2 WHERE hardware = 't4' AND level = 'dram'")
        gone = connection.sql("SELECT SUM(missing_count)::BIGINT FROM answer_state").fetchall()[0][0]
    with Session(path) as db:
        assert db.refresh().rows() == [("answer.stored", gone)] and not evaluated
    with duckdb.connect(str(path)) as connection:
        assert triggers.are_kept(connection)
        ((table, name),) = connection.sql("SELECT table_name, trigger_name FROM duckdb_triggers() WHERE table_name = 'price' LIMIT 1").fetchall()
        connection.execute(f'DROP TRIGGER "{name}" ON "{table}"')
        assert not triggers.are_kept(connection)
    with Session(path) as db:
        db.refresh()
        assert evaluated and triggers.are_kept(db.connection())


def test_an_export_writes_the_mart_first(file: Path, tmp_path: Path) -> None:
    """The export has rows of the small model alone, evaluates a batch that is not stored, and adds kernels with `full`."""
    with charz.open(file) as db:
        rows = db.export(tmp_path / "out", models="small", on="t4,l4", batch=3, precision="fp16", backend="inductor", views="model_report")
        kinds = rows["kind"].to_list()
        assert kinds[:7] == ["mart"] * 7 and "mart" not in kinds[7:]
        runs = pl.read_parquet(tmp_path / "out/mart/runs.parquet")
        assert sorted(runs["model", "hardware", "batch"].rows()) == [("small", "l4", 3), ("small", "t4", 3)]
        expected = pl.read_parquet(tmp_path / "out/view/model_report.parquet").sort("hardware")["latency_s"]
        assert runs.sort("hardware")["latency_s"].to_list() == pytest.approx(expected.to_list())
        assert pl.read_parquet(tmp_path / "out/mart/parts.parquet")["hardware"].to_list() == ["l4", "t4"]
        whole = db.scope(scenarios=[1]).export(tmp_path / "whole", models="small", on="t4", full=True)
        assert whole["name"].to_list()[7:10] == [f"mart.{name}" for name in LIVE]
        kernels = pl.read_parquet(tmp_path / "whole/mart/kernels.parquet")
        reported = pl.read_parquet(tmp_path / "whole/view/kernel_latency.parquet")
        assert kernels["latency_s"].sum() == pytest.approx(reported["latency_s"].sum()) and len(kernels) == len(reported) > 3


def test_an_export_takes_no_answer_that_another_program_wrote(path: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE answer.stored SET latency_s = 7")
    with charz.open(path) as db:
        db.scope(scenarios=[1]).export(tmp_path / "out", models="small", on="t4", views="model_report")
    for place in ("mart/runs", "view/model_report"):
        assert 0 < pl.read_parquet(tmp_path / f"out/{place}.parquet")["latency_s"].max() < 1  # type: ignore[operator]


def test_a_database_of_an_export_is_small_and_has_keys(file: Path, tmp_path: Path) -> None:
    with charz.open(file) as db:
        db.export(tmp_path / "out.duckdb", format="duckdb", storage="v1.5.0")
        db.export(tmp_path / "out")
    written = sum(path.stat().st_size for path in (tmp_path / "out").rglob("*.parquet"))
    assert (tmp_path / "out.duckdb").stat().st_size < 10 * written
    with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as connection:
        query = "SELECT table_name, constraint_column_names FROM duckdb_constraints() WHERE schema_name = 'mart' AND constraint_type = 'PRIMARY KEY'"
        keys = dict(connection.sql(query).fetchall())
        filled = KEYS.keys() - {*LIVE, "measurements", "predictions"}
        assert {name: ", ".join(columns) for name, columns in keys.items()} == {name: KEYS[name] for name in filled}
        told = connection.sql("SELECT comment FROM duckdb_columns() WHERE schema_name = 'mart' AND column_name = 'is_default'").fetchall()
        assert "names no condition" in told[0][0]


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the script of the page")
def test_all_in_a_filter_of_a_dashboard_means_all_runs() -> None:
    """Row 0 is the default run. Row 1 differs from it in precision, row 2 in batch, row 3 in both, row 4 in all; row 5 has its conditions
    and another memory format, and row 6 no default run. The widened filter is that of the precision after another backend is chosen."""
    script = resources.files("charz.session.page").joinpath("dashboard.js").read_text(encoding="utf-8")
    functions = script[script.index("const conditions") : script.index("let order")]
    functions += script[script.index("const usual") : script.index("function counted")]
    columns = ["model", "hardware", "backend", "precision", "batch", "is_default"]
    rows = [
        ["m", "p", "inductor", "fp32", 1, True], ["m", "p", "inductor", "fp16", 1, False], ["m", "p", "inductor", "fp32", 8, False],
        ["m", "p", "inductor", "fp16", 8, False], ["m", "p", "eager", "bf16", 4, False], ["m", "p", "inductor", "fp32", 1, False],
        ["m", "q", "inductor", "fp16", 1, False],
    ]  # fmt: skip
    expected = {
        ("usual", "usual", "usual"): [0], ("usual", "fp16", "usual"): [1], ("usual", "", "usual"): [0, 1, 5], ("usual", "", "8"): [2, 3],
        ("usual", "usual", ""): [0, 2, 5], ("usual", "", ""): [0, 1, 2, 3, 5], ("", "", ""): [0, 1, 2, 3, 4, 5, 6],
        ("eager", "", ""): [4], ("inductor", "", "usual"): [0, 1, 5],
    }  # fmt: skip
    asked = [dict(zip(("backend", "precision", "batch"), one, strict=True)) | {"family": "", "part": ""} for one in expected]
    before = f"const data = {json.dumps({'rows': rows})}; const get = (row, name) => row[{json.dumps(columns)}.indexOf(name)];"
    before += "let boxes; const document = { getElementById: (name) => boxes[name] };"
    after = f"""console.log(JSON.stringify({json.dumps(asked)}.map((values) => {{
        boxes = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, {{ value }}]));
        return chosen().map((row) => data.rows.indexOf(row));
    }})));
    console.log(JSON.stringify([["eager", "usual"], ["", "usual"], ["eager", "fp16"], ["usual", "usual"]].map(([backend, precision]) => {{
        boxes = {{ backend: {{ value: backend }}, precision: {{ value: precision }} }};
        widen();
        return boxes.precision.value;
    }})));"""
    done = subprocess.run(["node", "-e", before + functions + after], capture_output=True, text=True, check=True)
    found, widened = map(json.loads, done.stdout.splitlines())
    assert dict(zip(expected, found, strict=True)) == expected
    assert widened == ["", "", "fp16", "usual"]


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the script of the page")
def test_a_dashboard_marks_the_host_and_shows_the_energy_of_a_run() -> None:
    """A run of batch 8 at 2 mJ a sample takes 16 mJ next to its time, and none next to other numbers or without coefficients."""
    script = resources.files("charz.session.page").joinpath("dashboard.js").read_text(encoding="utf-8")
    functions = script[script.index("function shown") : script.index("function option")]
    functions += script[script.index("function isHost") : script.index("function mixed")]
    columns = ["bottleneck", "energy_per_sample_j", "batch"]
    rows = [["overhead", 2e-3, 8], ["compute", None, 8]]
    before = f"const rows = {json.dumps(rows)}; const get = (row, name) => row[{json.dumps(columns)}.indexOf(name)];"
    metrics = json.dumps([{"column": "latency_s"}, {"column": "peak_memory_byte"}])
    after = f"console.log(JSON.stringify(rows.map((row) => [isHost(row), ...{metrics}.map((metric) => energy(row, metric))])));"
    done = subprocess.run(["node", "-e", before + functions + after], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[True, "16 mJ", ""], [False, "", ""]]


@pytest.mark.default
def test_a_dashboard_is_one_page_with_every_stored_run(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "board.html"
    with charz.open(file) as db:
        written = db.export(page, dashboard=True)
        count = db.sql("SELECT COUNT(*) FROM mart.runs WHERE latency_s IS NOT NULL").item()
        ((latency,),) = db.sql(
            "SELECT latency_s FROM mart.runs WHERE is_default AND model = 'small' AND hardware = 't4'"
        ).rows()
        one = db.export(tmp_path / "one.html", dashboard=True, models="small", on="t4")
        with pytest.raises(CharzError, match="was not written by charz|did not write"):
            (tmp_path / "mine.html").write_text("mine")
            db.export(tmp_path / "mine.html", dashboard=True)
    assert written["row_count"].to_list() == [count] and one["row_count"][0] < count
    text = page.read_text()
    assert not re.search(r"https?://", text) and "<link" not in text and " src=" not in text
    assert "<noscript><p>This page needs JavaScript" in text
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert found
    data = json.loads(found.group(1))
    place = {name: i for i, name in enumerate(data["columns"])}
    words = {name: data["words"][name] for name in ("model", "hardware")}
    assert len(data["rows"]) == count
    shown = [
        row[place["latency_s"]] for row in data["rows"]
        if words["model"][row[place["model"]]] == "small" and words["hardware"][row[place["hardware"]]] == "t4" and row[place["is_default"]]
    ]  # fmt: skip
    assert shown == [pytest.approx(latency, rel=5e-4)]


TOOLS = Path(__file__).parents[2] / "docs" / "tools.md"


def test_every_statement_of_the_page_runs_in_a_plain_client(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page names the model `resnet18`, the file has `small`; a change is followed by the same question as before. The measurements of the page
    are imported first, and its changes are undone but for prices."""
    page = TOOLS.read_text().replace("resnet18", "small")
    statements = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    ((rows, command),) = re.findall(r"```csv\n(.*?)```\n+```sh\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("runs.csv").write_text(rows)
    assert dispatch.run([*shlex.split(command)[1:], "--db", str(path)]) == 0
    assert len(statements) >= 7
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            found = connection.execute(statement).fetchall()
            # A change returns the number of its rows.
            assert found and found != [(0,)], statement
        query = "SELECT COUNT(*) FROM hardware_value WHERE hardware = 't4' AND field LIKE 'memory.%' AND is_edited"
        assert connection.execute(query).fetchall() == [(0,)]
        query = "SELECT rent_usd_per_hour, purchase_usd FROM mart.prices WHERE hardware = 't4'"
        assert connection.execute(query).fetchall() == [(0.4, 1500.0)]
