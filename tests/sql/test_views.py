"""The view loader, on small view folders of its own."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from charz.schema import database
from charz.schema.errors import CharzError
from charz.sql import lint, views

GOOD = {
    "1_workload/source_count.sql": """
-- How many sources of each kind
-- there are.
-- Grain: kind
CREATE VIEW source_count (
    -- Kind of source.
    kind,
    -- Sources of that kind,
    -- all of them.
    source_count
) AS
SELECT kind, COUNT(*) AS source_count FROM source GROUP BY kind
""",
    "2_mapping/source_total.sql": """
-- Sources in all, and a made-up size.
-- Grain: total
CREATE VIEW source_total (
    -- All sources.
    total,
    -- Made up. [byte]
    size_byte
) AS
WITH counted AS (SELECT SUM(source_count) AS total FROM source_count)
SELECT CAST(total AS BIGINT) AS total, CAST(total AS DOUBLE) * 2e0 AS size_byte FROM counted
""",
    "5_report/source_report.sql": """
-- The same, reported.
-- Grain: total
CREATE VIEW source_report (
    -- All sources.
    total
) AS
SELECT total FROM source_total
""",
}


def folder(tmp_path: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip())
    return tmp_path


def with_body(body: str, columns: str = "-- What.\n    a", name: str = "v") -> str:
    return f"-- What it says.\n-- Grain: a\nCREATE VIEW {name} (\n    {columns}\n) AS\n{body}\n"


def test_views_come_in_an_order_in_which_they_can_be_made(tmp_path: Path) -> None:
    loaded = views.load(folder(tmp_path, GOOD))
    assert [v.name for v in loaded] == ["source_count", "source_total", "source_report"]
    first, second, _ = loaded
    assert first.description == "How many sources of each kind there are."
    assert first.grain == ("kind",)
    assert first.columns[1].description == "Sources of that kind, all of them."
    assert second.columns[1].unit == "byte"
    assert second.relations == {"source_count"}


def test_installed_views_carry_their_documentation(tmp_path: Path) -> None:
    root = folder(tmp_path / "sql", GOOD)
    path = tmp_path / "file.duckdb"
    with database.replace(path, create=True) as connection:
        connection.execute("INSERT INTO source VALUES ('a', 'paper', 'x', NULL, 'y'), ('b', 'paper', 'x', NULL, 'y')")
        views.install(connection, root)
        connection.execute("CREATE VIEW mine AS SELECT * FROM source_total")
    (root / "5_report/source_report.sql").unlink()
    with database.replace(path) as connection:
        views.install(connection, root)
    with database.connect(path) as connection:
        assert connection.execute("SELECT * FROM mine").fetchall() == [(2, 4.0)]
        comments = dict(
            connection.execute("SELECT view_name, comment FROM duckdb_views() WHERE NOT internal").fetchall()
        )
        column = connection.execute(
            "SELECT comment FROM duckdb_columns() WHERE table_name = 'source_total' AND column_name = 'size_byte'"
        ).fetchall()
        catalog = connection.execute("SELECT view, layer, grain, reads FROM view_catalog ORDER BY position").fetchall()
        columns = connection.execute("SELECT column_name, type, unit FROM view_column WHERE view = 'source_total'")
        assert columns.fetchall() == [("total", "BIGINT", None), ("size_byte", "DOUBLE", "byte")]
        assert [name for name, _ in views.installed(connection, ["source_count"])] == ["source_count"]
        assert [name for name, _ in views.installed(connection, ["source_total"])] == ["source_count", "source_total"]
    assert comments["source_count"] == "How many sources of each kind there are. One row for each kind."
    assert "source_report" not in comments
    assert column == [("Made up. [byte]",)]
    assert catalog == [
        ("source_count", "1_workload", "kind", "source"),
        ("source_total", "2_mapping", "total", "source_count"),
    ]


def test_a_circle_is_printed(tmp_path: Path) -> None:
    root = folder(
        tmp_path,
        {
            f"1_workload/{a}.sql": with_body(f"SELECT a FROM {b}", name=a)
            for a, b in (("x", "y"), ("y", "z"), ("z", "x"))
        },
    )
    with pytest.raises(CharzError, match="in a circle: x -> z -> y -> x"):
        views.load(root)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1", "no `CREATE VIEW name"),
        (with_body("SELECT 1 AS a, FROM WHERE"), "does not parse"),
        (with_body("SELECT 1 AS a; SELECT 2"), "holds one statement"),
        (with_body("SELECT 1 AS a", columns="a, b"), r"v.sql:4: found 'a, b'|v.sql:4. Found 'a, b'"),
        ("-- D.\nCREATE VIEW v (\n    a\n", "does not end in"),
    ],
)
def test_a_file_that_does_not_parse_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CharzError, match=message) as caught:
        views.load(folder(tmp_path, {"1_workload/v.sql": text}))
    assert "v.sql" in caught.value.line


def test_a_name_is_used_once(tmp_path: Path) -> None:
    text = with_body("SELECT 1 AS a")
    with pytest.raises(CharzError, match="two views have the same name"):
        views.load(folder(tmp_path, {"1_workload/v.sql": text, "3_cost/v.sql": text}))


def test_sql_that_does_not_bind_names_its_file(tmp_path: Path) -> None:
    root = folder(tmp_path, {"5_report/v.sql": with_body("SELECT kin AS a FROM source")})
    with (
        pytest.raises(CharzError, match=r"a view does not bind.*v\.sql.*kin"),
        database.replace(tmp_path / "f.duckdb", create=True) as connection,
    ):
        views.install(connection, root)
    assert not (tmp_path / "f.duckdb").exists()


def test_good_views_have_no_problems(tmp_path: Path) -> None:
    assert lint.check(folder(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("SELECT rank / rank AS a FROM confidence", "a division needs NULLIF"),
        ("SELECT rank / 0 AS a FROM confidence", "a division needs NULLIF"),
        ("SELECT LOG(2e0) AS a", "LOG() does not port"),
        ("SELECT 1.5 * CAST(1 AS DOUBLE) AS a", "1.5 is a DECIMAL; write 1.5e0"),
        ("SELECT SUM(rank) AS a FROM confidence", "column a is HUGEINT; cast it"),
        ("SELECT 1e0 * rank AS a, rank AS b FROM confidence", "1 columns are listed, the body gives 2"),
        ("SELECT rank AS b FROM confidence", "column 1 is listed as a, the body calls it b"),
        ("SELECT kind AS a FROM source GROUP BY ALL", "GROUP BY ALL does not port"),
        (
            "SELECT kind AS a FROM source QUALIFY ROW_NUMBER() OVER (PARTITION BY kind ORDER BY source_id) = 1",
            "QUALIFY does not port",
        ),
        ("WITH RECURSIVE t AS (SELECT 1 AS a) SELECT CAST(a AS BIGINT) AS a FROM t", "RECURSIVE does not port"),
        ("SELECT LIST_SUM([1, 2]) AS a", "LIST_SUM() does not port"),
        ("SELECT CAST(rank * 0.5e0 AS BIGINT) AS a FROM confidence", "FLOOR or ROUND first"),
        ("SELECT UPPER(kind) FROM source", "an output needs AS name"),
        ("WITH source AS (SELECT 'x' AS a) SELECT a FROM source", "WITH source hides the table"),
        ("SELECT a FROM nowhere", "neither a view nor a table"),
        ("SELECT LAG(rank, 1, 0) OVER (ORDER BY rank) AS a FROM confidence", "write COALESCE(LAG(x)"),
        ("SELECT rank // 2 AS a FROM confidence", "// does not port"),
    ],
)
def test_each_rule_has_its_message(tmp_path: Path, body: str, message: str) -> None:
    problems = lint.check(folder(tmp_path, {"5_report/v.sql": with_body(body)}))
    assert any(message in problem for problem in problems), problems


@pytest.mark.parametrize(
    "body",
    [
        "SELECT rank / NULLIF(rank, 0) AS a FROM confidence",
        "SELECT rank / 2e0 AS a FROM confidence",
        "SELECT rank / (8e0 * 2e0) AS a FROM confidence",
        "SELECT rank / GREATEST(1e0, rank) AS a FROM confidence",
        "SELECT CAST(FLOOR(rank * 0.5e0) AS BIGINT) AS a FROM confidence",
        "SELECT LN(2e0) AS a",
        "SELECT meaning AS a FROM confidence WHERE meaning = 'GROUP BY ALL 1.5 QUALIFY'",
    ],
)
def test_what_ports_is_let_through(tmp_path: Path, body: str) -> None:
    assert lint.check(folder(tmp_path, {"5_report/v.sql": with_body(body)})) == []


def test_layers_point_backwards(tmp_path: Path) -> None:
    files = {
        "1_workload/v.sql": with_body("SELECT a FROM w"),
        "3_cost/w.sql": with_body("SELECT kind AS a FROM source", name="w"),
    }
    problems = lint.check(folder(tmp_path, files))
    assert problems == [
        "1_workload/v.sql: no view reads it; a report stands in 5_report",
        "1_workload/v.sql: reads w of the later layer 3_cost",
    ]


def test_a_missing_comment_grain_or_name_is_reported(tmp_path: Path) -> None:
    text = "CREATE VIEW v (\n    a\n) AS SELECT kind AS a FROM source"
    problems = lint.check(folder(tmp_path, {"5_report/other.sql": text}))
    assert problems == [
        "5_report/other.sql: column a has no comment above it",
        "5_report/other.sql: no `-- Grain:` line with the columns that tell its rows apart",
        "5_report/other.sql: no description above CREATE VIEW",
        "5_report/other.sql: the file is named other, the view v",
    ]


@pytest.mark.parametrize(
    ("name", "unit", "is_right"),
    [
        ("latency_s", "s", True),
        ("latency_s", None, False),
        ("dram_byte_per_s", "byte/s", True),
        ("dram_byte_per_s", "byte", False),
        ("peak_ops_per_s", "ops/s", True),
        ("throughput_per_s", "1/s", True),
        ("edp_js", "J s", True),
        ("utilization_fraction", None, True),
        ("utilization", "s", False),
        ("batch", None, True),
    ],
)
def test_a_unit_is_what_the_name_promises(name: str, unit: str | None, is_right: bool) -> None:
    assert (lint.unit_problem(name, unit) is None) is is_right


@pytest.mark.slow
def test_the_shipped_views_keep_to_the_contract() -> None:
    assert lint.check() == []


@pytest.mark.slow
def test_every_installed_view_has_a_comment_on_every_column() -> None:
    loaded = views.load()
    with duckdb.connect() as connection:
        from charz.schema import ddl

        for row_type in database.TABLES:
            connection.execute(ddl.create_table(row_type))
        views.install(connection)
        bare = connection.execute(
            "SELECT table_name, column_name FROM duckdb_columns() JOIN duckdb_views() ON view_name = table_name"
            " WHERE NOT duckdb_views.internal AND duckdb_columns.comment IS NULL"
        ).fetchall()
        count = connection.execute("SELECT count(*) FROM view_catalog").fetchall()
    assert bare == []
    assert count == [(len(loaded),)]
