"""The stored description of an installed cost model, and the replacement of earlier objects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from folders import GOOD, folder, item, with_body

from charz.schema import file
from charz.schema.errors import CharzError
from charz.sql import maintain, triggers, views


def install(path: Path, root: Path) -> None:
    with file.replace(path, create=True) as connection:
        views.install(connection, root)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A database with the good folder, two levels of confidence and a user's view."""
    path = tmp_path / "file.duckdb"
    root = folder(tmp_path / "sql", GOOD)
    with file.replace(path, create=True) as connection:
        connection.execute("INSERT INTO confidence VALUES ('paper', 1, false, 'x'), ('assumed', 2, true, 'y')")
        views.install(connection, root)
        connection.execute("CREATE VIEW mine AS SELECT * FROM rank_total")
    return path


def test_what_is_installed_answers_and_carries_its_documentation(installed: Path) -> None:
    with file.connect(installed) as connection:
        assert connection.execute("SELECT * FROM rank_report").fetchall() == [(2, 4.0, 4.0, 2.0)]
        query = "SELECT view, kind, layer, grain, reads FROM view_catalog ORDER BY position"
        assert connection.execute(query).fetchall() == [
            ("rank_count", "table", "1_hardware", "is_guess", "confidence"),
            ("rank_total", "view", "3_mapping", "total", "rank_count"),
            ("rank_report", "view", "6_report", "total", "rank_total"),
        ]
        query = (
            "SELECT column_name, type, unit, description FROM view_column WHERE view = 'rank_report' ORDER BY position"
        )
        assert connection.execute(query).fetchall() == [
            ("total", "BIGINT", None, "All levels."),
            ("size_byte", "DOUBLE", "byte", "Made up."),
            ("same_byte", "DOUBLE", "byte", "Made up."),
            ("half_byte", "DOUBLE", "byte", "Half of it."),
        ]
        query = "SELECT comment FROM duckdb_columns() WHERE table_name = 'rank_report' ORDER BY column_index"
        comments = [comment for (comment,) in connection.execute(query).fetchall()]
        assert comments == ["All levels.", "Made up. [byte]", "Made up. [byte]", "Half of it. [byte]"]
        ((table,),) = connection.execute(
            "SELECT comment FROM duckdb_tables() WHERE table_name = 'rank_count'"
        ).fetchall()
        assert table.startswith(
            "Levels of confidence by whether they are guesses. One row for each is_guess. Kept equal"
        )
        query = "SELECT description FROM view_column WHERE view = 'rank_count' AND column_name = 'is_guess'"
        assert connection.execute(query).fetchall() == [
            ("True for `assumed`: reports count the numbers of this level that they use.",)
        ]


def test_a_maintained_table_follows_its_facts(installed: Path) -> None:
    with duckdb.connect(str(installed)) as connection:
        connection.execute("INSERT INTO confidence VALUES ('rumour', 3, true, 'z')")
        assert connection.execute("SELECT * FROM mine").fetchall() == [(3, 6.0)]
        assert connection.execute("SELECT * FROM rebuild.rank_count ORDER BY ALL").fetchall() == [(False, 1), (True, 2)]
        assert maintain.differences(connection) == {}


def test_another_version_takes_the_place_of_what_was_installed(installed: Path, tmp_path: Path) -> None:
    root = tmp_path / "sql"
    (root / "6_report/rank_report.sql").unlink()
    (root / "1_hardware/rank_count.sql").unlink()
    folder(root, {"1_hardware/rank_count.sql": GOOD["1_hardware/rank_count.sql"].replace("TABLE", "VIEW")})
    install(installed, root)
    with file.connect(installed) as connection:
        assert connection.execute("SELECT * FROM mine").fetchall() == [(2, 4.0)]
        query = "SELECT view_name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' ORDER BY view_name"
        assert connection.execute(query).fetchall() == [("mine",), ("rank_count",), ("rank_total",)]
        assert triggers.expected(connection) == []
        assert connection.execute("SELECT count(*) FROM duckdb_triggers()").fetchall() == [(0,)]


def test_a_failed_install_leaves_what_was_there(installed: Path, tmp_path: Path) -> None:
    folder(tmp_path / "sql", {"6_report/v.sql": with_body(item("kin AS a", "confidence"))})
    with pytest.raises(CharzError, match=r"a view does not bind.*v\.sql.*kin"):
        install(installed, tmp_path / "sql")
    with duckdb.connect(str(installed)) as connection:
        assert triggers.missing(connection) == []
        connection.execute("DELETE FROM confidence")
        assert connection.execute("SELECT total FROM rank_report").fetchall() == [(None,)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("SELECT\n    -- A.\n    rank AS a,\n    meaning\nFROM (SELECT 1 AS rank, 'x' AS meaning, 2 AS b)", None),
        ("SELECT\n    -- A.\n    rank AS a,\n    *\nFROM confidence", None),
    ],
)
def test_items_are_those_of_the_body(tmp_path: Path, body: str, message: str | None) -> None:
    install(tmp_path / "f.duckdb", folder(tmp_path / "sql", {"6_report/v.sql": with_body(body)}))


def test_the_fingerprint_changes_with_a_file(tmp_path: Path) -> None:
    root = folder(tmp_path, GOOD)
    before = views.fingerprint(root)
    assert views.fingerprint(root) == before
    folder(root, {"6_report/rank_report.sql": GOOD["6_report/rank_report.sql"].replace("Half", "One half")})
    assert views.fingerprint(root) != before


def test_opening_and_asking_imports_no_sqlglot(installed: Path) -> None:
    code = (
        "import sys, duckdb; from charz.sql import holder, maintain, scopes, triggers, views\n"
        f"connection = duckdb.connect({str(installed)!r})\n"
        "views.fingerprint(); connection.begin(); maintain.refresh(connection); connection.commit()\n"
        "maintain.differences(connection), triggers.missing(connection); holder.hold(connection, scopes.Scope(hardware=[]))\n"
        "sys.exit('sqlglot' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
