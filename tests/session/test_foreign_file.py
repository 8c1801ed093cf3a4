"""A file with objects that charz did not create is read safely, and written only if it is trusted."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import charz
from charz.cli.dispatch import run
from charz.schema.errors import CharzError
from charz.session import workspace

VIEW = "CREATE VIEW mine AS SELECT content FROM read_text('{secret}')"
TRIGGER = "CREATE TRIGGER mine AFTER INSERT ON scenario FOR EACH STATEMENT DELETE FROM source"
OLDER = "UPDATE charz_meta SET value = 'other' WHERE key = 'views_fingerprint'"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARZ_DB", "")  # the value that a run sets is removed after the test


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text("canary")
    return path


def with_theirs(file: Path, path: Path, secret: Path) -> Path:
    """Copy of a file with a view and a trigger of another client."""
    path.write_bytes(file.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute(VIEW.format(secret=secret))
        connection.execute(TRIGGER)
    return path


@pytest.fixture
def theirs(few_parts: Path, tmp_path: Path, secret: Path) -> Path:
    """File without models."""
    return with_theirs(few_parts, tmp_path / "theirs.duckdb", secret)


def test_it_is_not_written_unless_it_is_trusted(theirs: Path) -> None:
    before = theirs.read_bytes()
    with charz.open(theirs) as db:
        for change in (lambda: db.scenario.add(batch=77), db.refresh, lambda: db.doctor(repair=True)):
            with pytest.raises(CharzError, match="rigger mine on main.scenario, view main.mine.*--trust"):
                change()
    assert theirs.read_bytes() == before
    with charz.open(theirs, trust=True) as db:
        assert 77 in db.scenario.add(batch=77)["batch"]


def test_it_is_read_and_leads_nowhere(
    file: Path, secret: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--db", str(with_theirs(file, tmp_path / "theirs.duckdb", secret))]
    assert run([*asked, "models"]) == 0
    for command in (
        ["sql", "FROM mine"],
        ["schema", "FROM mine"],
        ["export", str(tmp_path / "out"), "--views", "mine", "--models", "small", "--on", "t4"],
    ):
        capsys.readouterr()
        code = run([*asked, *command])
        said = capsys.readouterr()
        assert "canary" not in said.out + said.err
        assert code == 2 and ("may only read the database" in said.err or "--trust" in said.err), said
    assert not (tmp_path / "out").exists()


def test_an_older_one_is_not_brought_up_to_date(theirs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with duckdb.connect(str(theirs)) as connection:
        connection.execute(OLDER)
    before = theirs.read_bytes()
    for command in (["models"], ["sql", "SELECT 1"], ["doctor"]):
        assert run(["--db", str(theirs), *command]) == 2
        assert "Trigger mine on main.scenario, view main.mine" in capsys.readouterr().err
    assert theirs.read_bytes() == before


def test_a_trigger_with_a_name_of_charz_does_not_run_while_a_catalog_is_filled(
    few_parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only names of triggers are compared in a file of another charz, so triggers must be gone before the catalog fires them."""
    filled = []

    def fill(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("INSERT INTO hardware SELECT * REPLACE ('mine' AS hardware) FROM hardware WHERE hardware = 't4'")
        filled.extend(connection.execute("SELECT count(*) FROM ran").fetchall())

    monkeypatch.setattr(workspace, "_fill_catalog", fill)
    monkeypatch.setattr(workspace.views, "install", lambda connection, commits: None)
    path = tmp_path / "emptied.duckdb"
    path.write_bytes(few_parts.read_bytes())
    with duckdb.connect(str(path)) as connection:
        query = "SELECT schema_name, table_name, trigger_name FROM duckdb_triggers() WHERE trigger_name LIKE 'charz\\_%' ESCAPE '\\'"
        for schema, table, name in connection.execute(f"{query} AND table_name IN ('hardware', 'part')").fetchall():
            connection.execute(f'DROP TRIGGER "{name}" ON "{schema}"."{table}"')
        connection.execute("CREATE TABLE ran (i INTEGER)")
        connection.execute(
            "CREATE TRIGGER charz_insert_hardware AFTER INSERT ON hardware FOR EACH STATEMENT INSERT INTO ran VALUES (1)"
        )
        connection.execute("DELETE FROM charz_meta WHERE key = 'catalog_version'")
        connection.execute(OLDER)
        workspace._complete(connection)
    assert filled == [(0,)]
