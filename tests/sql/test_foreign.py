"""Foreign objects of a file are found by name and by text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest

from charz.schema import file
from charz.sql import foreign, views


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory, kept_layers: Path) -> Mapping[str, str]:
    """The objects of a newly made file of charz."""
    path = tmp_path_factory.mktemp("known") / "known.duckdb"
    with file.replace(path, create=True) as connection:
        views.install(connection, kept_layers)
    with duckdb.connect(str(path), read_only=True) as connection:
        return foreign.objects(connection)


def test_a_file_that_charz_made_holds_nothing_foreign(small: Path, known: Mapping[str, str]) -> None:
    with duckdb.connect(str(small), read_only=True) as connection:
        assert foreign.foreign_objects(connection, known) == []
        ((triggers,),) = connection.execute("SELECT count(*) FROM duckdb_triggers()").fetchall()
    assert sum(name.startswith("trigger ") for name in known) == triggers > 50
    assert sum(name.startswith("view rebuild.") for name in known) > 5


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE VIEW mine AS SELECT * FROM read_text('/etc/hostname')", "view main.mine"),
        ("CREATE OR REPLACE VIEW rebuild.part AS SELECT 1 AS i", "view rebuild.part"),
        (
            "CREATE TRIGGER charz_mine AFTER INSERT ON price FOR EACH STATEMENT DELETE FROM source",
            "trigger charz_mine on main.price",
        ),
        ("CREATE MACRO coalesce(a, b) AS 42", "macro main.coalesce"),
        ("CREATE MACRO read_csv(a) AS TABLE SELECT 1", "macro main.read_csv"),
        ("CREATE SCHEMA other; CREATE VIEW other.part AS SELECT 1 AS i", "view other.part"),
    ],
)
def test_what_another_client_made_is_named(small: Path, known: Mapping[str, str], statement: str, name: str) -> None:
    with duckdb.connect(str(small)) as connection:
        connection.execute(statement)
        assert foreign.foreign_objects(connection, known) == [name]


def test_a_trigger_of_charz_with_another_body_is_named(small: Path, known: Mapping[str, str]) -> None:
    with duckdb.connect(str(small)) as connection:
        query = (
            "SELECT trigger_name FROM duckdb_triggers() WHERE table_name = 'price' AND event_manipulation = 'INSERT'"
        )
        ((trigger,),) = connection.execute(query).fetchall()
        connection.execute(f"DROP TRIGGER {trigger} ON price")
        connection.execute(f"CREATE TRIGGER {trigger} AFTER INSERT ON price FOR EACH STATEMENT DELETE FROM source")
        name = f"trigger {trigger} on main.price"
        assert foreign.foreign_objects(connection, known) == [name]
        assert foreign.foreign_objects(connection, known, compare_texts=False) == []


def test_tables_of_the_user_are_no_concern(small: Path, known: Mapping[str, str]) -> None:
    with duckdb.connect(str(small)) as connection:
        connection.execute("CREATE TABLE mine AS SELECT 1 AS i")
        assert foreign.foreign_objects(connection, known) == []
